"""Files that a user names, read up to a limit, and folders whose files are held to their hashes."""

import gzip
import hashlib
from contextlib import nullcontext
from pathlib import Path

from augment.errors import InputError

STARTER = Path(__file__).parent / "starter"
"""The models and lists that come with the package."""
MAX_BYTES = 16_000_000
"""More than any recipe or list of terms; an endless file such as /dev/zero has more than that too."""
RECORD = "record.json"
"""The record of an output, in its folder; the name of a file's record begins with the file's."""
MAX_TEXT = 4_000_000_000
"""Bytes of a text that is held in memory; a small archive can unpack to more."""
MAX_LINE = 1 << 23
"""Characters, or bytes, of a line; an archive can unpack to an endless one."""


def is_remote(path: Path) -> bool:
    """Whether a path is an address: objects there appear whole, and folders are only names."""
    return not isinstance(path, Path)


def check_end(path: Path) -> None:
    """Raise InputError for a device such as /dev/zero, from which reading may never end."""
    if path.is_char_device():
        raise InputError(f"{path} is a device, not a file: check the path")


def read_bounded(path: Path, limit: int = MAX_BYTES, *, unpack: bool = False) -> bytes:
    """The content of a file, gzipped or not if it is to `unpack`.

    Raises InputError if it is too large, and OSError.
    """
    with path.open("rb") as file:
        is_packed = unpack and file.peek(2)[:2] == b"\x1f\x8b"
        with gzip.GzipFile(fileobj=file) if is_packed else nullcontext(file) as stream:
            content = bytes(stream.read(limit + 1))
    if len(content) > limit:
        raise InputError(f"{path} has more than {limit / 1e6:,.0f} million bytes: give a smaller file")
    return content


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
