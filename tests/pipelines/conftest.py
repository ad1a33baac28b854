"""A command line in an empty folder, and small inputs."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.cli import build_app
from pipelines.console import call

ROOT = Path(__file__).parents[2]
SLOW_VIEW = '''"""Reverse the words, slowly."""

import time
from typing import ClassVar

from pydantic import BaseModel

from augment.view import Viewed, ViewSpec


class PARAMS(BaseModel):
    named_by: ClassVar[str] = "pivot"
    nap: float = 0.01
    sizes: list[int] = [1, 2]
    pivot: str | None = None


class Slow:
    def __init__(self, params):
        self.spec = ViewSpec("slow", params.model_dump())

    def __call__(self, texts, seeds):
        return [self.view(text, seed) for text, seed in zip(texts, seeds)]

    def view(self, text, seed):
        time.sleep(self.spec.params["nap"])
        if "fail" in text:
            return Viewed(None, "failed", "asked-to")
        words = text.split()
        if len(words) == 1:
            return Viewed(text, "unchanged", "one-word")
        return Viewed(" ".join([*reversed(words), str(seed % 10), self.spec.params["pivot"] or ""]).strip())


def build(params, runtime):
    return Slow(params)
'''


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def augment(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """`augment` with its arguments, in this process."""

    def run(*arguments: object) -> Outcome:
        code = call(build_app(), [str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return run


@pytest.fixture
def slow_view(tmp_path: Path) -> Path:
    """A folder that brings a third-party view `slow` when it is on the path of a new process."""
    site = tmp_path / "site"
    info = site / "slow_view-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "slow_view.py").write_text(SLOW_VIEW)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-view\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[twinviews.views]\nslow = slow_view\n")
    return site


# A background job starts with Ctrl-C ignored, and so would the processes that these tests interrupt.
COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from pipelines.cli import main; main()"
)


@pytest.fixture
def start(folder: Path, slow_view: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """`augment` as a process of its own, which knows the view `slow`."""

    def run(*arguments: object) -> "subprocess.Popen[str]":
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{slow_view}", "HF_HUB_OFFLINE": "1"}
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )

    return run


@pytest.fixture
def lines(folder: Path) -> Path:
    """Sixty sentences of one to six words, two of which the slow view fails on."""
    path = folder / "lines.txt"
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    texts = [f"{number} {' '.join(words[: number % 6])}".strip() for number in range(58)]
    path.write_text("\n".join([*texts, "please fail here", "fail again"]) + "\n", encoding="utf-8")
    return path
