"""A command line in an empty folder, and small inputs."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from foreigners import add_package, start_beside, start_with_foreigners

from pipelines.cli import build_app
from pipelines.console import call

SLOW_VIEW = '''"""Reverse the words, slowly."""

import time

from augment.view import View, Viewed


class Slow(View):
    name = "slow"
    named_by = "pivot"
    nap: float = 0.01
    sizes: list[int] = [1, 2]
    pivot: str | None = None

    def __call__(self, texts, seeds):
        return [self.view(text, seed) for text, seed in zip(texts, seeds)]

    def view(self, text, seed):
        time.sleep(self.nap)
        if "fail" in text:
            return Viewed(None, "failed", "asked-to")
        words = text.split()
        if len(words) == 1:
            return Viewed(text, "unchanged", "one-word")
        return Viewed(" ".join([*reversed(words), str(seed % 10), self.pivot or ""]).strip())
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
    return add_package(tmp_path / "site", {"slow_view": SLOW_VIEW}, views="slow = slow_view")


@pytest.fixture
def start(folder: Path, slow_view: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """`augment` as a process of its own, which knows the view `slow`."""
    return partial(start_beside, slow_view, folder)


@pytest.fixture
def twins(folder: Path, tmp_path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """`augment` as a process that knows a view and a filter of another package."""
    return partial(start_with_foreigners, folder, tmp_path / "site")


@pytest.fixture
def made(augment: Callable[..., Outcome], lines: Path) -> Callable[..., Outcome]:
    """`augment` where there are sentences, a view of them, and pairs of both."""
    augment("span-mask", lines, "--shard-size", 16)
    augment("build-pairs", "--pairs", "original", "--view", "span-mask")
    return augment


@pytest.fixture
def lines(folder: Path) -> Path:
    """Sixty sentences of one to six words, two of which the slow view fails on."""
    path = folder / "lines.txt"
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    texts = [f"{number} {' '.join(words[: number % 6])}".strip() for number in range(58)]
    path.write_text("\n".join([*texts, "please fail here", "fail again"]) + "\n", encoding="utf-8")
    return path
