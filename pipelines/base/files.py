"""Files and objects that appear whole or not at all, with one writer at a time.

A path may be an address such as s3://.

A lock is a file that names its holder, and is free once that process has ended.
"""

import errno
import hashlib
import json
import logging
import os
import re
import secrets
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import xxhash
from filelock import FileLock, Timeout

from augment.errors import InputError, MissingExtraError, TwinviewsError
from augment.files import RECORD, is_remote, sha256_of

__all__ = ["RECORD", "is_remote", "sha256_of"]
logger = logging.getLogger(__name__)
TEMPORARY = re.compile(r"\.(.+)\.\d+\.augment\.tmp", re.DOTALL)
"""Names of our temporary files: the output's name, a number, and our mark."""
WRONG_PATH = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EEXIST,
        errno.EISDIR,
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ELOOP,
        errno.ENAMETOOLONG,
    }
)
"""System errors of a wrong path, which is a user's mistake."""
ADDRESS = re.compile(r"([a-z][a-z0-9+]+):/+(.+)", re.DOTALL)
"""`s3://bucket/folder`, or `s3:/bucket/folder`, which `Path` makes of it."""
MACHINE_PATH = re.compile(
    r"""(?<![\w.:/\\<])(?:~|\.{0,2}|[A-Za-z]:)[/\\](?:[^\s/\\"',|`<]+[/\\])*([^\s/\\"',|`<]+)"""
)
"""A path inside a longer text: a signature, a filter, a sentence."""
LOCK = ".augment.lock"
"""The name of a folder's lock, which is inside the folder. A file's lock is next to it and begins with its
name."""
MAX_TRIES = 100
WAIT_SECONDS = 0.1
"""A holder that is just removing its lock needs less."""
NO_LOCKS_WARNING = (
    "warning: the file system of %s has no locks: make sure that no other machine or process writes there"
)


def resolve_path(name: str | Path) -> Path:
    """A local path as a `Path`; an address that fsspec knows (`s3://`) as an object much like one, if it answers."""
    match = ADDRESS.fullmatch(str(name))
    if match is None:
        return Path(name)
    address = f"{match[1]}://{match[2]}"
    try:
        from fsspec.asyn import get_loop
        from upath import UPath

        # It would print a traceback of every request that a lost connection ends, beside the error that is
        # raised.
        get_loop().set_exception_handler(lambda loop, context: None)
        # Other processes write there too, so listings must not be cached.
        path = UPath(address, use_listings_cache=False)
        path.exists()
    except ImportError:
        raise MissingExtraError(f"{match[1]}://", "s3") from None
    except Exception as error:  # whatever a store's library raises without credentials or a network
        raise InputError(
            f"{address} cannot be reached ({type(error).__name__}: {' '.join(str(error).split())[:200]}): "
            "check the address and your credentials"
        ) from None
    return cast(Path, path)


def make_folder(path: Path) -> None:
    """Make a folder and its parents where missing, so that they survive a power cut."""
    missing = [] if is_remote(path) else [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder, if it exists, survive a power cut."""
    if is_remote(folder) or not folder.exists():
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def temporaries(folder: Path) -> Iterator[tuple[Path, str]]:
    """Our temporary files in a folder, each with the name of its output."""
    for entry in folder.iterdir() if not is_remote(folder) and folder.is_dir() else ():
        match = TEMPORARY.fullmatch(entry.name)
        if match is not None and not entry.is_dir():
            yield entry, match[1]


@contextmanager
def atomic_write(path: Path, *, lasting: bool = True) -> Iterator[BinaryIO]:
    """A file to write that appears at `path` only when the block ends well, complete and on the disk.

    If it is not `lasting`, a power cut may lose its name until the caller syncs the folder. Raises InputError
    if `path` is a wrong place to write, TwinviewsError for any other reason, such as a full disk.
    """
    # The number differs from that of any other process, also on another machine.
    name = f".{path.name}.{os.getpid()}{secrets.randbelow(10**9):09d}.augment.tmp"
    # A store's own files are committed when they are closed, even after an error.
    temporary = Path(tempfile.gettempdir(), name) if is_remote(path) else path.with_name(name)
    try:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            if not is_remote(path):
                os.fsync(stream.fileno())
        if is_remote(path):
            cast(Any, path).fs.put_file(str(temporary), cast(Any, path).path)
        else:
            os.replace(temporary, path)
        if lasting:
            sync_folder(path.parent)
    except OSError as error:
        if error.filename not in (None, str(temporary)):
            raise
        kind = InputError if error.errno in WRONG_PATH else TwinviewsError
        raise kind(
            f"{path} cannot be written ({error.strerror or error}): fix that, then run the same command again"
        ) from None
    finally:
        with suppress(OSError):  # the folder is missing, which was reported above
            temporary.unlink()


def write_if_changed(path: Path, content: bytes | str, *, lasting: bool = True) -> None:
    """Write `content` to `path` as `atomic_write` does, unless the file already holds it."""
    data = content.encode() if isinstance(content, str) else content
    if not path.is_file() or sha256_of(path) != hashlib.sha256(data).hexdigest():
        with atomic_write(path, lasting=lasting) as stream:
            stream.write(data)


def sibling_path(out: Path, ending: str) -> Path:
    """The file beside `out` with another ending: `data/pairs.arrow`, `card.md` -> `data/pairs.card.md`."""
    out = out if out.name else out.resolve()
    return out.with_name(f"{out.name.removesuffix('.arrow')}.{ending}")


def read_json(path: Path) -> Any:  # noqa: ANN401 - whatever JSON can say
    """What a JSON file holds; None if it is missing or cannot be read."""
    with suppress(OSError, ValueError, RecursionError):
        return json.loads(path.read_bytes())
    return None


def without_paths(text: str) -> str:
    """A text for others to read: of each path in it that is absolute, or begins with a dot, only the last name."""
    return MACHINE_PATH.sub(r"\1", text)


@contextmanager
def locked_folder(out: Path) -> Iterator[None]:
    """Hold a folder, made if missing and removed if it stays empty.

    Raises InputError if another process holds it.
    """
    with _locked(out, out / LOCK):
        yield


@contextmanager
def locked_file(out: Path, *others: Path) -> Iterator[None]:
    """Hold an output that is one file, as `locked_folder` does, and remove what killed runs left of it and `others`."""
    with _locked(out, out.with_name(f".{out.name}{LOCK}")):
        endings = ("card.md", "recipe.json", "rejects.arrow", RECORD)
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
    if is_remote(out):
        logger.warning(NO_LOCKS_WARNING, out)
        lock = Path(tempfile.gettempdir()) / f".{xxhash.xxh64_hexdigest(str(out).encode())}{LOCK}"
    elif ADDRESS.fullmatch(str(out)):
        raise InputError(f"{out}: only sentences and views can be written to an address: give a local path")
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
