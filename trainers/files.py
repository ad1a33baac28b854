"""Files that evaluations leave: written whole or not at all, read back or refused, and their checksums."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DRAFTS = f".*.{'[0-9a-f]' * 32}.tmp"
STALE = 24 * 3600
"""Seconds after which a draft that nobody put in its place is a killed process's."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a draft to write that is put at `path` when the block ends well; raises OSError where it cannot be written.

    So a reader finds the old file or the new one.
    """
    clear_drafts(path.parent)
    draft = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        with draft.open("wb") as stream:
            yield stream
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def clear_drafts(folder: Path) -> None:
    """Delete the drafts that killed processes left in a folder, which need not exist."""
    with suppress(OSError):  # what cannot be listed or deleted is in nobody's way
        for path in folder.glob(_DRAFTS):
            if time.time() - path.stat().st_mtime > STALE:
                path.unlink(missing_ok=True)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an `.npz` file by name.

    Raises FileNotFoundError where there is none, ValueError for one that is damaged or holds something else.
    """
    import zipfile
    import zlib

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise
    # A bit that flipped in the archive's own records can be taken for an unknown compression or for encryption.
    except (OSError, LookupError, EOFError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error) or type(error).__name__) from error


def file_sha256(path: Path) -> str:
    """Return a file's sha256 in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
