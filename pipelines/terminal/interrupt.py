"""Ctrl-C at any moment gives one line at most and is never lost. Imports nothing slow."""

import atexit
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

EXIT_CODE = 130
MESSAGE = "stopping; run the same command again to resume"
_state = {"came": False, "told": False}


def came() -> bool:
    """Whether Ctrl-C came in the running command."""
    return _state["came"]


def tell() -> None:
    """Print the line, unless this command has printed it."""
    if not _state["told"]:
        sys.stderr.write(f"{MESSAGE}\n")
        sys.stderr.flush()
        _state["told"] = True


def end_at_once() -> None:
    """Let Ctrl-C end the process on the spot while it starts or exits, when there is nothing to clean up."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
        # Registered first, it runs last: after it the interpreter shuts down and would ignore our handler.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


@contextmanager
def raised() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt in the block, once; a second one kills the process, even if it hangs.

    Background jobs still ignore it, and only the main thread can handle it.
    """
    import threading

    _state.update(came=False, told=False)
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    try:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and before in (signal.default_int_handler, _end):
            sys.unraisablehook = lambda lost: None if lost.exc_type is KeyboardInterrupt else hook(lost)
            signal.signal(signal.SIGINT, _raise)
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _raise or came():
            signal.signal(signal.SIGINT, before)
        sys.unraisablehook = hook


def _raise(_signal: int, _frame: object) -> None:
    _state["came"] = True
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # At once: a step of a model may take a minute to end.
    with suppress(OSError, RuntimeError, ValueError):  # stderr is closed, or this interrupts a write to it
        tell()
    raise KeyboardInterrupt


def _end(_signal: int, _frame: object) -> None:
    try:
        if not came():
            os.write(2, f"{MESSAGE}\n".encode())
    finally:  # also if stderr is closed
        os._exit(EXIT_CODE)
