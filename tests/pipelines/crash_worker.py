"""Runs `augment` commands in a process of their own, over the shim; as a program it is that process."""

import base64
import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crash_model import Operation
from crash_shim import Failure, install, shim

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """A command that ended: its exit code, what it said, its recorded operations, and the calls that it made."""

    code: int
    out: str
    err: str
    log: tuple[Operation, ...]
    calls: int
    reads: int


class Worker:
    """A process that runs commands; a command can be held up before one of its operations, while another one runs."""

    def __init__(self, spool: Path) -> None:
        spool.mkdir()
        environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(spool), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.pid = self._process.pid
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked, self._answers = self._process.stdin, self._process.stdout

    def run(self, folder: Path, *arguments: object, record: bool = False, failure: Failure | None = None) -> Done:
        """Run a command in `folder`; its operations are recorded, or one of them fails."""
        self._send(folder, arguments, record=record, failure=None if failure is None else asdict(failure))
        return self._done(self._receive())

    def start(self, folder: Path, *arguments: object, pause: int) -> Done | None:
        """Run a command until it is about to do the operation numbered `pause`; None if it is held up there now."""
        self._send(folder, arguments, pause=pause)
        answer = self._receive()
        return self._done(answer) if answer else None

    def go_on(self) -> Done:
        """Let the command that is held up go on to its end."""
        self._write("go on")
        return self._done(self._receive())

    def close(self) -> None:
        """End the process."""
        self._asked.close()
        self._process.wait(timeout=60)
        self._answers.close()

    def _send(self, folder: Path, arguments: tuple[object, ...], **options: Any) -> None:  # noqa: ANN401
        self._write(json.dumps({"folder": str(folder), "arguments": [*map(str, arguments)], **options}))

    def _write(self, line: str) -> None:
        self._asked.write(f"{line}\n")
        self._asked.flush()

    def _receive(self) -> dict[str, Any]:
        line = self._answers.readline()
        assert line, "the worker died"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _done(self, answer: dict[str, Any]) -> Done:
        log = tuple(Operation(*names, base64.b64decode(data)) for *names, data in answer.pop("log"))
        return Done(**answer, log=log)


def serve() -> None:
    """Run commands as they come on stdin, until it ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints past Python's streams
    install()
    run = _runner()

    def answer(value: dict[str, Any]) -> None:
        answers.write(f"{json.dumps(value)}\n")
        answers.flush()

    def hold() -> None:
        answer({})
        sys.stdin.readline()

    for line in sys.stdin:
        asked = json.loads(line)
        answer(run(asked, hold))


def _runner() -> Callable[[dict[str, Any], Callable[[], None]], dict[str, Any]]:
    import importlib.metadata
    import logging

    import typer

    from pipelines.cli import build_app
    from pipelines.console import call

    # What does not change between two commands, and takes longer than they do.
    importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)
    typer.main.get_command = functools.cache(typer.main.get_command)
    logging.getLogger().addHandler(logging._StderrHandler(logging.WARNING))  # type: ignore[attr-defined]
    app = build_app()
    spool = Path(tempfile.gettempdir())

    def run(asked: dict[str, Any], hold: Callable[[], None]) -> dict[str, Any]:
        folder, arguments = Path(asked["folder"]), asked["arguments"]
        failure = Failure(**asked["failure"]) if asked.get("failure") else None
        pause = (asked["pause"], hold) if asked.get("pause") is not None else None
        os.chdir(folder)
        sys.argv = ["augment", *arguments]
        out, err = io.StringIO(), io.StringIO()
        shim.begin(folder, spool, record=bool(asked.get("record")), failure=failure, pause=pause)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = call(app, arguments)
        finally:
            log, calls, reads = shim.end()
        recorded = [[each.kind, each.path, each.target, base64.b64encode(each.data).decode()] for each in log]
        return asdict(Done(code, out.getvalue(), err.getvalue(), (), calls, reads)) | {"log": recorded}

    return run


if __name__ == "__main__":
    serve()
