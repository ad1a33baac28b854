"""Writing that is whole or not there: temporary files, fsync, rename, and one writer at a time for an output."""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import BinaryIO

from augment.errors import InputError

TEMPORARY = ".tmp"


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that appears at `path` only when the block ends well, complete and on the disk."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_whole(path: Path, content: bytes | str) -> None:
    """Write `content` to `path` at once; a file that already holds it is left alone."""
    data = content.encode() if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data:
        return
    with whole_file(path) as stream:
        stream.write(data)


def remove_temporaries(folder: Path, name: str = "") -> None:
    """Remove what an interrupted run left in `folder`: temporary files, and with `name` only those of that output."""
    for leftover in folder.glob(f".{escape(name)}*{TEMPORARY}"):
        if leftover.is_file():
            leftover.unlink()


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold an output for this process; the lock is a file beside it that a killed process leaves open to the next.

    The folders above `out` are made, and removed again where nothing came to lie in them.

    Raises:
        InputError: Another process holds it, or something on the way to `out` is no folder.
    """
    made = _make_folders(out.parent)
    lock = out.parent / f".{out.name}.lock"
    try:
        with _lock_file(lock, out):
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
    finally:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and those above it; return the new ones, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder} cannot be made, a file is in the way: choose another --out") from None
    return missing


@contextmanager
def _lock_file(lock: Path, out: Path) -> Iterator[None]:
    while True:
        with lock.open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"{out} is being written by another process: wait for it, or choose another --out"
                ) from None
            # The holder before us may have removed the file between our opening and locking it.
            if _is_open_file(stream.fileno(), lock):
                yield
                return


def _is_open_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
