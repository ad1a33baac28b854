"""One writer at a time for an output: a lock file that names its holder, and is free once that process has ended."""

import errno
import logging
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import xxhash
from filelock import FileLock, Timeout

from augment.errors import InputError
from pipelines.storage.files import (
    ADDRESS,
    is_remote,
    make_folder,
    sibling_path,
    temporaries,
    write_if_changed,
)

logger = logging.getLogger(__name__)
LOCK = ".augment.lock"
"""The name of a folder's lock, which is inside the folder. A file's lock is next to it and begins with its
name."""
MAX_TRIES = 100
WAIT_SECONDS = 0.1
"""A holder that is just removing its lock needs less."""
NO_LOCKS_WARNING = (
    "warning: the file system of %s has no locks: make sure that no other machine or process writes there"
)


@contextmanager
def locked_folder(out: Path) -> Iterator[None]:
    """Hold a folder, made if missing and removed if it stays empty; raises InputError if another process holds it."""
    with _locked(out, out / LOCK):
        yield


@contextmanager
def locked_file(out: Path, *others: Path) -> Iterator[None]:
    """Hold an output that is one file, as `locked_folder` does, and remove what killed runs left of it and `others`."""
    with _locked(out, out.with_name(f".{out.name}{LOCK}")):
        endings = ("card.md", "recipe.json")
        names = {path.name for path in (out, *others, *(sibling_path(out, ending) for ending in endings))}
        for entry, name in temporaries(out.parent):
            if name in names:
                entry.unlink(missing_ok=True)
        yield


def write_page(path: Path, content: str) -> None:
    """Write a file that each run makes anew, and remove what killed runs left of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked_file(path):
        write_if_changed(path, content)


@contextmanager
def _locked(out: Path, lock: Path) -> Iterator[None]:
    if not is_remote(out) and ADDRESS.fullmatch(str(out)):
        raise InputError(f"{out}: only sentences and views can be written to an address: give a local path")
    if is_remote(out):
        logger.warning(NO_LOCKS_WARNING, out)
        lock = Path(tempfile.gettempdir()) / f".{xxhash.xxh64_hexdigest(str(out).encode())}{LOCK}"
    missing = [folder for folder in (lock.parent, *lock.parent.parents) if not folder.exists()]
    try:
        file_lock = _acquire(lock, out)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
            file_lock.release()
    finally:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()


def _acquire(lock: Path, out: Path) -> FileLock:
    """The lock, acquired, with our name in its file."""
    file_lock = FileLock(lock, timeout=WAIT_SECONDS, poll_interval=WAIT_SECONDS / 10, fallback_to_soft=False)
    for _ in range(MAX_TRIES):
        try:
            make_folder(lock.parent)
            file_lock.acquire()
        except FileNotFoundError:  # a previous holder has removed the folder since
            continue
        except (FileExistsError, NotADirectoryError):
            break
        except Timeout:
            owner = ""
            with suppress(OSError):
                owner = lock.read_text(errors="replace")[:220]
            holder = f"another process ({owner})" if owner else "another process"  # which is just starting
            raise InputError(
                f"{out} is being written by {holder}: wait for it, or choose another --out"
            ) from None
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):
                raise
            logger.warning(NO_LOCKS_WARNING, out)
        with suppress(OSError):  # on a full disk the lock still holds, but names no owner
            name = f"pid {os.getpid()}: {shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])}"
            lock.write_text(name, errors="replace")
        return file_lock
    raise InputError(f"{out} cannot be created: choose another --out")
