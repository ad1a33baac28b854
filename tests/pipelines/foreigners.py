"""Views and a filter of another package, processes that know them, and what tests of commands share."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.base.console import call
from pipelines.cli.app import build_app
from pipelines.storage.pair_files import PAIR_COLUMNS

Augment = Callable[..., Any]
"""`augment` in this process: its arguments in, an Outcome out."""
Start = Callable[..., "subprocess.Popen[str]"]
ROOT = Path(__file__).parents[2]
# A background job starts with Ctrl-C ignored, and so would the processes that tests interrupt.
CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
COMMAND = f"{CTRL_C}from pipelines.cli.app import main; main()"
SLOW = '''"""Reverse the words, slowly."""

import os
import signal
import time

from augment.view import View, ViewResult


class Slow(View):
    name = "slow"
    folder_option = "pivot"
    nap: float = 0.01
    sizes: tuple[int, ...] = (1, 2)
    pivot: str | None = None

    def __call__(self, texts, seeds):
        return [self.view(text, seed) for text, seed in zip(texts, seeds)]

    def view(self, text, seed):
        time.sleep(self.nap)
        if "fail" in text:
            return ViewResult(None, "failed", "asked-to")
        if "kill" in text:
            os.kill(os.getpid(), signal.SIGKILL)
        words = text.split()
        if len(words) == 1:
            return ViewResult(text, "unchanged", "one-word")
        return ViewResult(" ".join([*reversed(words), str(seed % 10), self.pivot or ""]).strip())
'''
SPEAK = '''"""Say the words backwards, as translations to other languages do."""

from augment.view import View, ViewResult


class Speak(View):
    name = "speak"
    folder_option = language_option = "to"
    to: str
    source: str = "xx"

    def __call__(self, texts, seeds):
        return [self.view(text) for text in texts]

    def view(self, text):
        if "fail" in text:
            return ViewResult(None, "failed", "asked-to")
        return ViewResult(f"{text[::-1]} {self.to}")
'''
ROTATE = '''"""Move the first letters to the end."""

from augment.view import View, ViewResult


class Rotate(View):
    name = "rotate"
    folder_option = "shift"
    uses_seed = False
    shift: int = 13

    def __call__(self, texts, seeds):
        return [ViewResult(text[self.shift :] + text[: self.shift]) for text in texts]
'''
PICKY = '''"""Drop pairs with a number in the forties, slowly, and score the rest."""

import time

from pipelines.pairs.filter import Filter, Verdicts


class Picky(Filter):
    nap: float = 0.0
    column: str = "luck"

    @property
    def score(self):
        return self.column

    def __call__(self, pairs):
        time.sleep(self.nap)
        texts = pairs.strings("text")
        return Verdicts(["in the forties" if text[0] == "4" else None for text in texts], [len(t) / 4 for t in texts])
'''


def add_package(site: Path, modules: Mapping[str, str], **points: str) -> Path:
    """Lay a package into `site` as if it were installed: its modules, and its entry points as `NAME = MODULE` lines."""
    info = site / "foreign-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "".join(f"[twinviews.{group}]\n{each}\n" for group, each in points.items())
    )
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text)
    return site


def start_beside(
    site: Path, folder: Path, *arguments: object, program: str = COMMAND, **environment: str
) -> "subprocess.Popen[str]":
    """`augment` as a process in `folder` that knows the packages of `site`; it leads a process group."""
    known = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "HF_HUB_OFFLINE": "1", **environment}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.Popen(command, **streams, text=True, cwd=folder, env=known, start_new_session=True)


def make(folder: Path, *commands: Sequence[object]) -> None:
    """Run `augment` with these arguments, one after the other, in a folder."""
    with contextlib.chdir(folder):
        for command in commands:
            assert call(build_app(), [*map(str, command)]) == 0, command


def write_lines(folder: Path) -> Path:
    """A file of sixty sentences of one to six words, two of which the slow view fails on."""
    path = folder / "lines.txt"
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    texts = [f"{number} {' '.join(words[: number % 6])}".strip() for number in range(58)]
    path.write_text("\n".join([*texts, "please fail here", "fail again"]) + "\n", encoding="utf-8")
    return path


def content(folder: Path) -> dict[str, bytes]:
    """Every file by its path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until it is true, a minute at most."""
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "it did not happen within a minute"
        time.sleep(0.01)


def done(process: "subprocess.Popen[str]", code: int = 0) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    return err if code else out


def write_stream(path: Path, table: pa.Table, chunk: int | None = None) -> Path:
    """Write a table as an IPC stream, as somebody else might."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=chunk)
    return path


def write_pairs(rows: list[tuple[str, str | None]], **columns: list[Any]) -> Path:
    """Pairs of a sentence with one view of it, as somebody else might write them."""
    texts = [text for text, _ in rows]
    names = (["original"] * len(rows), ["other"] * len(rows))
    values = (
        [f"{number:016x}" for number in range(len(rows))],
        texts,
        texts,
        [view for _, view in rows],
        *names,
    )
    strings = [pa.array(each, pa.string()) for each in values]
    return write_stream(
        Path("other.arrow"), pa.table({**dict(zip(PAIR_COLUMNS, strings, strict=True)), **columns})
    )


def rows_of(path: str) -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = pa.ipc.open_stream(Path(path).read_bytes()).read_all().to_pylist()
    return table


def is_refused(done: Any, *expected: str, code: int = 2) -> None:  # noqa: ANN401 - an Outcome
    """Hold a command to an exit code and an error whose one line has what is expected in it."""
    assert done.code == code, done.err
    last = done.err.splitlines()[-1]
    assert last.startswith("error: ")
    for each in expected:
        assert each in last
