"""Runs `augment` commands in a process of their own, over the shim; as a program it is that process."""

import contextlib
import functools
import io
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crash_shim import Done, Failure, install, shim

ROOT = Path(__file__).parents[2]
SENTENCES = "One two three.\nA bird sings\n\nLong is art, short is life\nA bird sings\nThe big cat runs fast\n42 days\n"
"""The input of the commands in the tests."""


class Worker:
    """A process that runs commands; a command can be paused before one of its operations, while another one runs."""

    def __init__(self, spool: Path) -> None:
        spool.mkdir()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environment, "TMPDIR": str(spool)},
        )
        self.pid = self._process.pid

    def run(
        self, folder: Path, *arguments: object, record: bool = False, failure: Failure | None = None
    ) -> Done:
        """Run a command in `folder`; its operations are recorded, or one of them fails."""
        done = self._ask((folder, [*map(str, arguments)], record, failure, None))
        assert done is not None
        return done

    def start(self, folder: Path, *arguments: object, pause: int) -> Done | None:
        """Run a command up to the operation numbered `pause`; None if it is paused there now."""
        return self._ask((folder, [*map(str, arguments)], False, None, pause))

    def resume(self) -> Done:
        """Let the paused command run to its end."""
        done = self._ask("resume")
        assert done is not None
        return done

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=60)

    def _ask(self, asked: object) -> Done | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(asked, self._process.stdin)
        self._process.stdin.flush()
        answer: Done | None = pickle.load(self._process.stdout)  # EOFError: the worker died
        return answer


def serve() -> None:
    """Run commands as they come on stdin, until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints past Python's streams
    install()
    run = _runner()

    def answer(value: Done | None) -> None:
        pickle.dump(value, answers)
        answers.flush()

    def hold() -> None:
        answer(None)
        pickle.load(sys.stdin.buffer)

    with contextlib.suppress(EOFError):
        while True:
            folder, arguments, record, failure, pause = pickle.load(sys.stdin.buffer)
            answer(run(folder, arguments, record, failure, None if pause is None else (pause, hold)))


def _runner() -> Callable[..., Done]:
    import importlib.metadata
    import logging

    import typer

    from pipelines.base.console import call
    from pipelines.cli.app import build_app

    # What does not change between two commands, and takes longer than they do.
    importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)
    typer.main.get_command = functools.cache(typer.main.get_command)
    logging.getLogger().addHandler(logging._StderrHandler(logging.WARNING))  # type: ignore[attr-defined]
    app = build_app()
    spool = Path(tempfile.gettempdir())

    def run(folder: Path, arguments: list[str], *disturbance: Any) -> Done:  # noqa: ANN401
        os.chdir(folder)
        sys.argv = ["augment", *arguments]
        out, err = io.StringIO(), io.StringIO()
        shim.begin(folder, spool, *disturbance)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = call(app, arguments)
        finally:
            recorded = shim.end()
        return Done(code, out.getvalue(), err.getvalue(), *recorded)

    return run


if __name__ == "__main__":
    serve()
