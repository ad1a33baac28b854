"""Ctrl-C: one line at most, whenever it comes, and never lost. Imports nothing that takes time."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

EXIT_CODE = 130
MESSAGE = "interrupted; run the same command again to go on"
_came = threading.Event()


def came() -> bool:
    """Whether Ctrl-C came in the running command."""
    return _came.is_set()


def check() -> None:
    """Raise the KeyboardInterrupt again that came and was lost.

    Python drops one that is raised in a finaliser or a callback, and so do libraries that ask `hasattr` from C.
    """
    if came():
        raise KeyboardInterrupt


def end_at_once() -> None:
    """Let Ctrl-C end the process where it is: for its start and its end, in which there is nothing to put in order."""
    if _is_ours():
        signal.signal(signal.SIGINT, _end)


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt in the block, once; a second one kills the process, whatever it hangs in."""
    _came.clear()
    if not _is_ours():
        yield
        return
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    sys.unraisablehook = lambda lost: None if lost.exc_type is KeyboardInterrupt else hook(lost)
    try:
        signal.signal(signal.SIGINT, _raise)
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = hook


def _is_ours() -> bool:
    """Whether nobody else took Ctrl-C: a job in the background ignores it, and only the main thread may ask for it."""
    handlers = (signal.default_int_handler, _end)
    return threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) in handlers


def _raise(_signal: int, _frame: FrameType | None) -> NoReturn:
    _came.set()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise KeyboardInterrupt


def _end(_signal: int, _frame: FrameType | None) -> NoReturn:
    if not came():
        with contextlib.suppress(OSError):
            os.write(2, f"{MESSAGE}\n".encode())
    os._exit(EXIT_CODE)
