"""Ctrl-C: one line at most, whenever it comes, and never lost. Imports nothing that takes time."""

import atexit
import os
import signal
import sys

EXIT_CODE = 130
MESSAGE = "interrupted; run the same command again to go on"
_state = {"came": False}


def came() -> bool:
    """Whether Ctrl-C came in the running command."""
    return _state["came"]


def check() -> None:
    """Raise the KeyboardInterrupt again that came and was lost.

    Python drops one that is raised in a finaliser or a callback, and so do libraries that ask `hasattr` from C.
    """
    if came():
        raise KeyboardInterrupt


def end_at_once() -> None:
    """Let Ctrl-C end the process where it is, at its start and its end: there is nothing to put in order."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
        # The first one registered runs last: what is left then is the interpreter's own end, which hears no handler.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


class raised:
    """Let Ctrl-C raise KeyboardInterrupt in the block, once; a second one kills the process, whatever it hangs in."""

    def __enter__(self) -> None:
        _state["came"] = False
        self._before, self._hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
        if _is_free():
            sys.unraisablehook = self._report
            signal.signal(signal.SIGINT, _raise)

    def __exit__(self, *_: object) -> None:
        if signal.getsignal(signal.SIGINT) is _raise or came():
            signal.signal(signal.SIGINT, self._before)
        sys.unraisablehook = self._hook

    def _report(self, lost: "sys.UnraisableHookArgs") -> None:
        if lost.exc_type is not KeyboardInterrupt:
            self._hook(lost)


def _is_free() -> bool:
    """Whether nobody else took Ctrl-C: a job in the background ignores it, and only the main thread may ask for it."""
    import threading

    in_main = threading.current_thread() is threading.main_thread()
    return in_main and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _end)


def _raise(_signal: int, _frame: object) -> None:
    _state["came"] = True
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise KeyboardInterrupt


def _end(_signal: int, _frame: object) -> None:
    try:
        if not came():
            os.write(2, f"{MESSAGE}\n".encode())
    finally:  # also where stderr is closed
        os._exit(EXIT_CODE)
