"""One training at a time in a run's directory."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.console import InputError, harmless, note
from trainers.running.full_disk import FULL

LOCK = ".training.lock"


@contextmanager
def sole_use(out: Path) -> Iterator[None]:
    """Hold a run's directory for this process, and make it if it is missing; a process that is killed lets go of it.

    Raises:
        InputError: Another process holds it (the line says which), or it cannot be made or written.
    """
    from filelock import FileLock, Timeout

    def sign(file: int) -> None:
        os.truncate(file, 0)
        os.write(file, f"process {os.getpid()} on {socket.gethostname()}".encode())

    lock = FileLock(out / LOCK, blocking=False, on_acquired=sign)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise InputError(
            f"{out} is in use by another training ({_owner(out)}): wait for it, or give another --out"
        ) from None
    except OSError as error:
        if error.errno in FULL:
            raise
        if error.errno != errno.ENOSYS:
            raise InputError(f"cannot write to {str(out)[:200]!r} ({error.strerror}): give another --out") from None
        note(f"warning: the file system of {out} has no locks: see to it that no other training uses it")
    try:
        yield
    finally:
        # Held until it is gone: whoever opened it before finds out and makes a new one.
        with suppress(OSError):
            (out / LOCK).unlink()
        lock.release()


def _owner(out: Path) -> str:
    try:
        return harmless((out / LOCK).read_text(encoding="utf-8", errors="replace")[:100])
    except OSError:  # it has just let go
        return "which ends now"
