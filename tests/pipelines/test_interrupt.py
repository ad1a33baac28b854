"""Ctrl-C at any moment is one line and exit code 130, is never lost, and spoils nothing."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from foreigners import content

from pipelines import interrupt
from pipelines.console import call, progress

ROOT = Path(__file__).parents[2]
LINE = "interrupted; run the same command again to resume\n"
# A background job starts with Ctrl-C ignored, and so would the processes that these tests interrupt.
COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from pipelines.__main__ import main; "
    "from pipelines.interrupt import end_at_once; end_at_once(); print('here', flush=True); main()"
)


def span_mask(lines: Path, folder: Path, seconds: float | None = None) -> tuple[int, str, float]:
    """Run it in a folder, with Ctrl-C after so many seconds; exit code, stderr and how long it took."""
    folder.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "span-mask", str(lines), "--shard-size", "10"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    started = time.monotonic()
    if seconds is not None:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    return process.returncode, said, time.monotonic() - started


def test_interrupted_at_any_moment_it_is_one_line_and_goes_on_to_the_same(lines: Path, tmp_path: Path) -> None:
    code, _, seconds = span_mask(lines, tmp_path / "whole")
    assert code == 0
    draw = random.Random(3)
    codes = []
    for number, share in enumerate([0, *(draw.random() for _ in range(5))]):
        folder = tmp_path / str(number)
        code, said, _ = span_mask(lines, folder, share * seconds)
        codes.append(code)
        assert code == 130 or (code == 0 and (folder / "data/views/span-mask/state.json").exists())
        assert said.removeprefix("60 sentences ingested to data/sentences/\n") == (LINE if code == 130 else "")
        assert span_mask(lines, folder)[0] == 0
        assert content(folder) == content(tmp_path / "whole")
    assert codes.count(130) > 3


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("loss", ["finaliser", "library", "other error"])
def test_an_interrupt_that_a_library_loses_still_ends_the_command(
    loss: str, ctrl_c: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    class Finalised:
        def __del__(self) -> None:
            ctrl_c()

    went_on = []

    def work() -> None:
        if loss == "finaliser":
            Finalised()
        else:
            try:
                ctrl_c()
            except BaseException as error:
                if loss == "other error":
                    raise RuntimeError("the import failed") from error
        with progress("rows", 2) as advance:
            advance(1)
            went_on.append(1)

    app = typer.Typer()
    app.command()(work)
    assert call(app, ["--"]) == 130
    assert (capsys.readouterr().err, went_on) == (LINE, [])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert call(app, ["--help"]) == 0
    assert not interrupt.came()
