"""Lines and rows of a benchmark's file, and a graded pair checked, with errors that name the file and the line."""

from __future__ import annotations

import csv
import gzip
import math
import sys
import zlib
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.graded import Graded

# Typographic marks that were written in one encoding and read in another, as debate texts often have them.
MANGLED = {
    "\x89\xdb\xcf": "\u201c", "\x89\xdb\x9d": "\u201d", "\x89\xdb\xaa": "\u2019", "\x89\xdb\xd2": "\u2013",
    "\x89\xdb\xd3": "\u2014", "\x89\xdb_": "\u2026", "\x89\xdb\xa2": "\u2022",
}  # fmt: skip


def file_lines(path: Path, *, bytewise: bool = False) -> list[str]:
    """Return the lines of a UTF-8 file, gzipped where its name ends so.

    Args:
        path: The file.
        bytewise: What is no UTF-8 is latin-1, one byte a character, and no error.

    Raises:
        InputError: It is no such file.
    """
    return _lines(_decoded(path, bytewise=bytewise))


def csv_rows(path: Path, *, delimiter: str = ",", mangled: bool = False) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file, each with the line that it begins in; a line end between quotes is kept.

    Args:
        path: The file, gzipped or not.
        delimiter: What stands between two cells.
        mangled: It is UTF-8 or one byte a character, with mangled quotes and dashes, which are mended.

    Raises:
        InputError: A quote is not closed, or something stands behind a closing one, or it is no such file.
    """
    text = _decoded(path, bytewise=mangled)
    for found, meant in MANGLED.items() if mangled else ():
        text = text.replace(found, meant)
    # No length is wrong: a quote that is not closed is found at the end of the file.
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader((f"{line}\n" for line in _lines(text)), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    number = 1
    try:
        for fields in reader:
            rows.append((number, fields))
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path} line {number}: broken quotes ({error}): get the original file again") from None
    return rows


def csv_columns(
    path: Path, names: tuple[str, ...], *, delimiter: str = ",", mangled: bool = False
) -> list[tuple[int, list[str]]]:
    """Return the cells of the columns `names` of a CSV file with a header, each row with the line that it begins in.

    Args:
        path: As in `csv_rows`.
        names: As in the header.
        delimiter: As in `csv_rows`.
        mangled: As in `csv_rows`.

    Raises:
        InputError: A column is missing, a row has another number of cells than the header, or as in `csv_rows`.
    """
    (_, header), *rows = csv_rows(path, delimiter=delimiter, mangled=mangled) or [(1, [])]
    columns = columns_of(path, header, names)
    for number, fields in rows:
        check_width(path, number, fields, header)
    return [(number, [fields[column] for column in columns]) for number, fields in rows]


def checked_pair(path: Path, number: int, texts: list[str], grade: str) -> Graded:
    """Return a pair of texts with its grade; raises InputError unless there are two, and a number."""
    if len(texts) != 2 or not all(text.strip() for text in texts):
        raise InputError(f"{path} line {number}: expected two sentences, got {texts!r}")
    try:
        gold = float(grade)
    except ValueError:
        gold = math.nan
    if not math.isfinite(gold):
        raise InputError(f"{path} line {number}: the score {grade!r} is no number")
    return Graded(texts[0].strip(), texts[1].strip(), gold)


def columns_of(path: Path, header: list[str], names: tuple[str, ...]) -> list[int]:
    """Return where the columns `names` stand in a header; raises InputError where one is missing."""
    absent = [name for name in names if name not in header]
    if absent:
        raise InputError(f"{path} has no column {', '.join(absent)}: its first line is {','.join(header)[:80]!r}")
    return [header.index(name) for name in names]


def check_width(path: Path, number: int, fields: list[str], header: list[str]) -> None:
    """Raise InputError unless a line has as many columns as the header."""
    if len(fields) != len(header):
        raise InputError(f"{path} line {number}: {len(fields)} columns, its header has {len(header)}")


def _decoded(path: Path, *, bytewise: bool) -> str:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is no whole gzip file ({error}): get the original file again") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if bytewise:
            return raw.decode("latin-1")
        raise InputError(f"{path} is no UTF-8 (byte {error.start}): get the original file again") from None


def _lines(text: str) -> list[str]:
    # Not splitlines: some sentences hold characters that it takes for the end of a line.
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines
