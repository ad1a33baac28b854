"""Files as the trainers read and write them: lines, arrays, checksums, and files that appear whole or not at all."""

from __future__ import annotations

import gzip
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pipelines import files
from pipelines.console import InputError
from pipelines.files import sha256_of as file_sha256

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["file_lines", "file_sha256", "read_arrays", "remove_stale", "whole_file"]
STALE = 24 * 3600
"""Seconds after which a temporary file must be a killed process's."""


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open `pipelines.files.whole_file`, and delete what killed processes left in the folder."""
    remove_stale(path.parent)
    with files.whole_file(path) as stream:
        yield stream


def remove_stale(folder: Path) -> None:
    """Delete the temporary files in a folder that killed processes left."""
    with suppress(OSError):  # they do no harm
        for draft, _ in files.temporaries(folder):
            if draft.is_file() and time.time() - draft.stat().st_mtime > STALE:
                draft.unlink()


def file_lines(path: Path, *, bytewise: bool = False) -> list[str]:
    """Return the lines of a UTF-8 text file (also gzipped), without their ends.

    With `bytewise`, a file that is not UTF-8 is read as latin-1, one byte a character. Raises InputError if the file
    cannot be read as text.
    """
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        text = raw.decode("utf-8-sig")
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError as error:
        if not bytewise:
            said = f"{path} is not UTF-8 text: byte {error.start} is {raw[error.start]:#04x}"
            raise InputError(f"{said}; convert it, or get the original file again") from None
        text = raw.decode("latin-1")
    if "\0" in text:
        raise InputError(f"{path} is binary, not text: it holds NUL bytes")
    # Not splitlines: some sentences hold characters that it takes for the end of a line.
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an `.npz` file by name.

    Raises FileNotFoundError if there is none, ValueError for one that is damaged or holds something else.
    """
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise
    # A bit that flipped in the archive's own records can be taken for an unknown compression or for encryption.
    except (OSError, LookupError, EOFError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error) or type(error).__name__) from error
