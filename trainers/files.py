"""Files as the trainers read and write them: lines, arrays, checksums, and drafts that killed processes left."""

import csv
import gzip
import sys
import time
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipelines.storage.files import sha256_of as file_sha256
from pipelines.storage.files import temporaries
from pipelines.terminal.console import InputError

__all__ = ["Rows", "csv_rows", "file_lines", "file_sha256", "read_arrays", "remove_stale", "tsv_rows"]
Rows: TypeAlias = list[tuple[int, list[str]]]  # cells of each row, with the number of the line that it begins in
STALE_SECONDS = 24 * 3600  # after which a temporary file must be a killed process's


def remove_stale(folder: Path) -> None:
    """Delete the temporary files in a folder that killed processes left."""
    with suppress(OSError):  # they do no harm
        for draft, _ in temporaries(folder):
            if draft.is_file() and time.time() - draft.stat().st_mtime > STALE_SECONDS:
                draft.unlink()


def file_lines(path: Path, *, bytewise: bool = False) -> list[str]:
    """Return the lines of a UTF-8 text file (also gzipped), without their ends.

    With `bytewise`, a file that is not UTF-8 is read as latin-1. Raises InputError if it cannot be read as text.
    """
    try:
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        text = raw.decode("utf-8-sig")
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    except UnicodeDecodeError as error:
        if not bytewise:
            problem = f"{path} is not UTF-8 text: byte {error.start} is {raw[error.start]:#04x}"
            raise InputError(f"{problem}; convert it, or get the original file again") from None
        text = raw.decode("latin-1")
    if "\0" in text:
        raise InputError(f"{path} is binary, not text: it holds NUL bytes")
    # Not splitlines, which also splits at characters that occur within sentences.
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def tsv_rows(path: Path) -> Rows:
    """Return the lines of a tab-separated file; quotes are ordinary characters."""
    return [(number, line.split("\t")) for number, line in enumerate(file_lines(path), 1)]


def csv_rows(path: Path, *, delimiter: str = ",", bytewise: bool = False) -> Rows:
    """Return the rows of a file with quoted cells; `bytewise` is as for `file_lines`.

    Raises InputError: a quote is not closed, something follows a closing one, or the file cannot be read.
    """
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader((f"{line}\n" for line in file_lines(path, bytewise=bytewise)), delimiter=delimiter, strict=True)
    rows: Rows = []
    number = 1
    try:
        for fields in reader:
            rows.append((number, fields))
            number = reader.line_num + 1
    except csv.Error as error:
        problem = f"broken quotes ({error}): fix the line, or get the original file again"
        raise InputError(f"{path} line {number}: {problem}") from None
    return rows


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an `.npz` file by name; raises ValueError if it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    # A bit that flipped in the archive's own records can be taken for an unknown compression or for encryption.
    except (OSError, LookupError, EOFError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error) or type(error).__name__) from error
