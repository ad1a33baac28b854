"""The command line as a whole: help, exit codes, streams."""

import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer

from augment.view import view_names
from pipelines.console import InputError, TwinviewsError, call, table

Augment = Callable[..., Any]
COMMANDS = ["ingest", "build-pairs", "inspect", "report", "export", "views", *view_names()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(augment: Augment, command: str) -> None:
    done = augment(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert f"Example: augment {command}" in " ".join(done.out.split())


@pytest.mark.parametrize("command", view_names())
def test_the_example_of_a_view_command_is_accepted(augment: Augment, command: str) -> None:
    line = augment(command, "--help").out.split("Example: augment ")[1].split()
    done = augment(*line, "--dry-run", "--limit", 3)
    # Models or WordNet may be missing here; what may not happen is a usage error.
    assert done.code in (0, 2)
    assert "--help`" not in done.err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("no file 'x':\n  check it"), 2, "error: no file 'x': check it\n"),
        (TwinviewsError("a view failed"), 1, "error: a view failed\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "error: [Errno 28] No space left on device\n"),
        (KeyboardInterrupt(), 130, "interrupted; run the same command again to resume\n"),
    ],
)
def test_errors_become_one_line_and_an_exit_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    app = typer.Typer()

    @app.command()
    def fail() -> None:
        raise error

    app.command("other")(lambda: None)
    assert call(app, ["fail"]) == code
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    "allocate",
    [lambda: bytearray(2**62), lambda: np.empty(2**62, np.int8), lambda: torch.empty(2**62, dtype=torch.int8)],
    ids=["python", "numpy", "torch"],
)
def test_lack_of_memory_is_one_line(allocate: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer()
    app.command()(allocate)
    assert call(app, ["--"]) == 1
    assert capsys.readouterr().err == "error: out of memory: use smaller batches or a machine with more memory\n"


def test_a_bug_keeps_its_traceback() -> None:
    app = typer.Typer()
    app.command()(lambda: torch.zeros(2) @ torch.zeros(3))
    with pytest.raises(RuntimeError, match="size"):
        call(app, ["--"])


def test_a_table_is_not_read_as_markup_nor_cut(capsys: pytest.CaptureFixture[str]) -> None:
    table(("word", "rows"), [("[MASK] " * 40, 3), ("[red]", 12)])
    said = capsys.readouterr().out
    assert ("[MASK] " * 40).strip() in said
    assert "[red]" in said


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["inspect", "data/sentences", "--json"], ["views"]])
def test_results_that_cannot_be_written_are_one_line(arguments: list[str], lines: Path, augment: Augment) -> None:
    augment("ingest", lines)
    command = [sys.executable, "-c", "from pipelines.cli import main; main()", *arguments]
    known = {"PYTHONPATH": str(Path(__file__).parents[2])}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=known, check=False)
    assert (done.returncode, done.stderr) == (1, "error: cannot write to stdout (No space left on device)\n")


def test_a_closed_pipe_is_silent(lines: Path, augment: Augment, start: Callable[..., "subprocess.Popen[str]"]) -> None:
    augment("ingest", lines)
    process = start("inspect", "data/sentences", "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(60) == 1
