"""One writer at a time for an output: a lock file that says who holds it, and that dies with its process."""

import errno
import fcntl
import json
import logging
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import xxhash

from augment.errors import InputError
from pipelines.files import is_remote, make_folder

logger = logging.getLogger(__name__)
LOCK = ".augment.lock"
"""The lock of a folder lies in it under this name; that of a file lies beside it, its name being put before this."""
MARK = b'{"pid": '
"""The first bytes of every lock file of ours."""
TRIES = 100
"""How often a folder is made for the lock before it counts as one that cannot be made."""
NO_LOCKS = "warning: the file system of %s has no locks: make sure that no other machine or process writes there"


@contextmanager
def locked_folder(out: Path) -> Iterator[None]:
    """Hold a folder, of a dataset or a run, for this process.

    A missing folder is made, and removed again if it stays empty. The lock of a killed process holds nobody up.

    Raises:
        InputError: Another process holds it (the line says which), or something on the way to `out` is no folder.
    """
    with _held(out / LOCK, out):
        yield


@contextmanager
def locked_file(out: Path) -> Iterator[None]:
    """Hold an output that is one file, and make the folders above it, as `locked_folder` does."""
    with _held(out.with_name(f".{out.name}{LOCK}"), out):
        yield


@contextmanager
def _held(lock: Path, out: Path) -> Iterator[None]:
    if is_remote(out):
        logger.warning(NO_LOCKS, out)
        lock = Path(tempfile.gettempdir()) / f".{xxhash.xxh64_hexdigest(str(out).encode())}{LOCK}"
    made = [folder for folder in (lock.parent, *lock.parent.parents) if not folder.exists()]
    try:
        descriptor = _acquire(lock, out)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
            os.close(descriptor)
    finally:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()


def _acquire(lock: Path, out: Path) -> int:
    """The descriptor of the lock file, locked and with our name in it."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    while True:
        descriptor = _open(lock, out)
        try:
            _lock(descriptor, out)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), lock.stat()):
                    _check_ours(descriptor, lock)
                    os.ftruncate(descriptor, 0)
                    with suppress(OSError):  # on a full disk the lock still holds, but names no owner
                        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "command": command}).encode(), 0)
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder removed the file after we opened it


def _open(lock: Path, out: Path) -> int:
    for _ in range(TRIES):
        try:
            make_folder(lock.parent)
            # O_NOFOLLOW: through a link we would write into somebody else's file.
            return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:  # a holder before us may have taken the folder away after we made it
            continue
        except (FileExistsError, NotADirectoryError):
            break
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EISDIR):
                raise
            raise _not_ours(lock) from None
    raise InputError(f"{out} cannot be made, something is in the way: choose another --out")


def _check_ours(descriptor: int, lock: Path) -> None:
    content = os.pread(descriptor, len(MARK), 0)
    if not MARK.startswith(content):  # one that was killed as it began to write leaves less
        raise _not_ours(lock)


def _not_ours(lock: Path) -> InputError:
    return InputError(f"{lock} is not a lock file of ours: move it away")


def _lock(descriptor: int, out: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = ""
        with suppress(ValueError, KeyError, TypeError):  # it names none yet
            holder = json.loads(os.pread(descriptor, 1 << 20, 0))
            owner = f" (pid {int(holder['pid'])}: {str(holder['command'])[:200]})"
        raise InputError(
            f"{out} is being written by another process{owner}: wait for it, or choose another --out"
        ) from None
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):
            raise
        logger.warning(NO_LOCKS, out)
