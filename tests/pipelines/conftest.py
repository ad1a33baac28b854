"""A command line in an empty folder, and small inputs."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from foreigners import PICKY, ROTATE, SLOW, SPEAK, Start, add_package, make, start_beside, write_lines

from pipelines.base.console import call
from pipelines.cli.app import build_app


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
    """A folder that brings processes with it on their path some views and the filter `picky`."""
    modules = {"slow_view": SLOW, "speak": SPEAK, "rotate": ROTATE, "picky": PICKY}
    views = "slow = slow_view\nspeak = speak\nrotate = rotate"
    return add_package(tmp_path / "site", modules, views=views, filters="picky = picky")


@pytest.fixture
def start(folder: Path, site: Path) -> Start:
    """`augment` as a process of its own, which knows what `site` brings."""
    return partial(start_beside, site, folder)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sentences, a view of them, and pairs of both."""
    folder = tmp_path_factory.mktemp("made")
    write_lines(folder)
    make(folder, ["span-mask", "lines.txt"], ["build-pairs", "--pairs", "original", "--view", "span-mask"])
    return folder


@pytest.fixture
def made(augment: Callable[..., Outcome], folder: Path, made_once: Path) -> Callable[..., Outcome]:
    """`augment` where there are sentences, a view of them, and pairs of both."""
    shutil.copytree(made_once, folder, dirs_exist_ok=True)
    return augment


@pytest.fixture
def lines(folder: Path) -> Path:
    """Sixty sentences of one to six words, two of which the slow view fails on."""
    return write_lines(folder)
