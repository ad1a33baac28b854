"""Files and objects that appear whole or not at all, and their hashes; a path may be an address such as s3://."""

import errno
import hashlib
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import xxhash

from augment.errors import InputError, MissingExtraError, TwinviewsError
from augment.files import (
    MAX_LINE,
    MAX_TEXT,
    SUMS,
    check_end,
    check_sums,
    is_remote,
    read_bounded,
    recorded_files,
    sha256_of,
    write_sums,
)

__all__ = [
    "MAX_LINE",
    "MAX_TEXT",
    "SUMS",
    "check_end",
    "check_sums",
    "is_remote",
    "read_bounded",
    "recorded_files",
    "sha256_of",
    "write_sums",
]
TEMPORARY = re.compile(r"\.(.+)\.\d+\.augment\.tmp", re.DOTALL)
"""Names of our temporary files: the output's name, a number, and our mark."""
UNSEALED = "0" * 16
SEAL = re.compile(r"(checksum\W+)[0-9a-f]{16}(\W*)\Z")
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
        reason = f"({error.strerror or error}): fix that, then run the same command again"
        kind = InputError if error.errno in WRONG_PATH else TwinviewsError
        raise kind(f"{path} cannot be written {reason}") from None
    finally:
        with suppress(OSError):  # the folder is missing, which was reported above
            temporary.unlink()


def write_if_changed(path: Path, content: bytes | str, *, lasting: bool = True) -> None:
    """Write `content` to `path` as `atomic_write` does, unless the file already holds it."""
    data = content.encode() if isinstance(content, str) else content
    size = path.stat().st_size if path.is_file() else -1
    if size != len(data) or sha256_of(path) != hashlib.sha256(data).hexdigest():
        with atomic_write(path, lasting=lasting) as stream:
            stream.write(data)


def seal(text: str) -> str:
    """Replace the sixteen zeros of the checksum that ends a text by the text's xxh64."""
    return SEAL.sub(lambda match: match[1] + xxhash.xxh64_hexdigest(text.encode()) + match[2], text)


def is_sealed(content: bytes) -> bool:
    """Whether the content of a file is unchanged since it was sealed."""
    text = content.decode(errors="replace")
    blank = SEAL.sub(lambda match: match[1] + UNSEALED + match[2], text)
    return blank != text and seal(blank) == text


def is_written_by(path: Path, *marks: bytes) -> bool:
    """Whether a file contains one of these marks of ours; with two of them, one may be damaged."""
    with suppress(OSError):
        content = path.read_bytes()
        return any(mark in content for mark in marks)
    return False


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
