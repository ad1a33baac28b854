"""Files that evaluations leave: written whole or not at all, read back or refused, and their checksums."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DRAFT = re.compile(r"\.(?P<name>.+)\.(?P<process>\d+)(@(?P<host>.+))?\.tmp")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a draft to write that is put at `path` when the block ends well: a reader finds the old file or the new one.

    What killed processes left of drafts of the same file is deleted.

    Raises:
        OSError: It cannot be written there.
    """
    clear_drafts(path.parent, path.name)
    draft = path.with_name(f".{path.name}.{os.getpid()}@{platform.node()}.tmp")
    try:
        with draft.open("wb") as stream:
            yield stream
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def clear_drafts(folder: Path, name: str | None = None) -> None:
    """Delete the drafts that processes of this machine left in a folder when they were killed.

    Args:
        folder: Where they are; it need not exist.
        name: Of the file that they are drafts of; None is any.
    """
    with suppress(OSError):  # what cannot be listed or deleted is in nobody's way
        for path in folder.iterdir():
            found = _DRAFT.fullmatch(path.name)
            if found is None or name not in (None, found["name"]) or found["host"] not in (None, platform.node()):
                continue
            if not _runs(int(found["process"])):
                path.unlink(missing_ok=True)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an `.npz` file by name.

    Raises:
        FileNotFoundError: It is not there.
        ValueError: It is damaged, or holds something else than arrays.
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


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
