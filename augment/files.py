"""Files that a user names, read up to a limit."""

from pathlib import Path

from augment.errors import InputError

MAX_BYTES = 16_000_000
"""More than any recipe or list of terms; an endless file such as /dev/zero has more than that too."""


def read_bounded(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The content of a file; raises InputError for one of more than `limit` bytes, and OSError."""
    with path.open("rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise InputError(f"{path} has more than {limit / 1e6:,.0f} million bytes: give a smaller file")
    return content
