"""A command line in an empty folder, and small inputs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from foreigners import PICKY, SLOW, SPEAK, Start, add_package, start_beside

from pipelines.cli import build_app
from pipelines.console import call


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
def site(tmp_path: Path) -> Path:
    """A folder that brings processes with it on their path the views `slow` and `speak` and the filter `picky`."""
    modules = {"slow_view": SLOW, "speak": SPEAK, "picky": PICKY}
    return add_package(tmp_path / "site", modules, views="slow = slow_view\nspeak = speak", filters="picky = picky")


@pytest.fixture
def start(folder: Path, site: Path) -> Start:
    """`augment` as a process of its own, which knows what `site` brings."""
    return partial(start_beside, site, folder)


@pytest.fixture
def made(augment: Callable[..., Outcome], lines: Path) -> Callable[..., Outcome]:
    """`augment` where there are sentences, a view of them, and pairs of both."""
    augment("span-mask", lines)
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
