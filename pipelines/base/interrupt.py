"""Ctrl-C stops a command at any moment, with one line at most. Imports nothing slow."""

import atexit
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

EXIT_CODE = 130
MESSAGE = "stopping; run the same command again to resume"
_state = {"interrupted": False, "reported": False}


def is_interrupted() -> bool:
    """Whether Ctrl-C was pressed in the running command."""
    return _state["interrupted"]


def report() -> None:
    """Print the line, unless this command has printed it."""
    if not _state["reported"]:
        sys.stderr.write(f"{MESSAGE}\n")
        sys.stderr.flush()
        _state["reported"] = True


def end_at_once() -> None:
    """Let Ctrl-C end the process on the spot while it starts or exits, when there is nothing to clean up."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
        # Registered first, it runs last: after it the interpreter shuts down and would ignore our handler.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


@contextmanager
def raised() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt in the block, once; a second one kills.

    Background jobs still ignore it.
    """
    import threading

    _state.update(interrupted=False, reported=False)
    handler, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    try:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and handler in (signal.default_int_handler, _end):
            sys.unraisablehook = lambda error: None if error.exc_type is KeyboardInterrupt else hook(error)
            signal.signal(signal.SIGINT, _raise)
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _raise or is_interrupted():
            signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = hook


def _raise(_signal: int, _frame: object) -> None:
    _state["interrupted"] = True
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # At once: a step of a model may take a minute to end.
    with suppress(OSError, RuntimeError, ValueError):  # stderr is closed, or this interrupts a write to it
        report()
    raise KeyboardInterrupt


def _end(_signal: int, _frame: object) -> None:
    try:
        if not is_interrupted():
            os.write(2, f"{MESSAGE}\n".encode())
    finally:  # also if stderr is closed
        os._exit(EXIT_CODE)
