"""Files of benchmarks: found below a data folder or on the Hub, read as lines, tables or columns, errors by line."""

from __future__ import annotations

import csv
import gzip
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from pipelines.console import InputError

PARENTS = ("", "sts", "STS", "lexical", "downstream", "downstream/STS", "data/downstream", "data/downstream/STS")
"""Where graded sets stand below a data folder: in itself, in ours, in SentEval's archive, in SentEval's checkout."""

# Typographic marks that were written in one encoding and read in another, as debate texts often have them.
MANGLED = {
    "\x89\xdb\xcf": "\u201c", "\x89\xdb\x9d": "\u201d", "\x89\xdb\xaa": "\u2019", "\x89\xdb\xd2": "\u2013",
    "\x89\xdb\xd3": "\u2014", "\x89\xdb_": "\u2026", "\x89\xdb\xa2": "\u2022",
}  # fmt: skip


def usual_folders(folders: Sequence[str], data: Path, parents: Sequence[str] = PARENTS) -> list[Path]:
    """Return those of the folders that exist in the usual places below `data`."""
    places = (data / parent / folder for parent in parents for folder in folders)
    return [place for place in places if place.is_dir()]


def whole_folder(
    folders: Sequence[str], data: Path, absent: Callable[[Path], list[str]], parents: Sequence[str] = PARENTS
) -> Path | str:
    """Return the first of the usual folders that has all files of a set, or a line that says what is missing.

    Args:
        folders: The usual names.
        data: Below which.
        absent: From a folder to the names of the files that it lacks.
        parents: The usual places.
    """
    found = usual_folders(folders, data, parents)
    if not found:
        return f"no folder {' or '.join(folders)} below {data}"
    folder = next((place for place in found if not absent(place)), found[0])
    lacking = absent(folder)
    return f"{folder} lacks {', '.join(lacking)}" if lacking else folder


def plain_or_gzipped(name: str, folders: Iterable[Path]) -> Path | None:
    """Return the file in the first of the folders that has it, or has it gzipped."""
    candidates = (folder / found for folder in folders for found in (name, f"{name}.gz"))
    return next((path for path in candidates if path.is_file()), None)


def check_count(what: object, found: int, expected: int, unit: str, *, files: str = "original file") -> None:
    """Raise InputError, with both numbers, unless a file or folder holds as many items as were published."""
    if found != expected:
        raise InputError(f"{what}: {found} {unit}, expected {expected}: get the {files} again")


def file_lines(path: Path, *, bytewise: bool = False) -> list[str]:
    """Return the lines of a UTF-8 file, gzipped where its name ends so.

    Args:
        path: The file.
        bytewise: Where it is not UTF-8, read it as latin-1, one byte a character, instead of refusing it.

    Raises:
        InputError: It is not such a file.
    """
    return _lines(_decoded(path, bytewise=bytewise))


def csv_rows(path: Path, *, delimiter: str = ",", mangled: bool = False) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file, each with the line that it begins in; a line end between quotes is kept.

    Args:
        path: The file, gzipped or not.
        delimiter: What stands between two cells.
        mangled: It is UTF-8 or one byte a character, with mangled quotes and dashes, which are put right.

    Raises:
        InputError: A quote is not closed, or something follows a closing one, or the file cannot be read.
    """
    text = _decoded(path, bytewise=mangled)
    for found, meant in MANGLED.items() if mangled else ():
        text = text.replace(found, meant)
    # Cells may be of any length: a quote that is not closed is found at the end of the file.
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


def tsv_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the lines of a tab-separated file with their numbers; quotes are ordinary characters."""
    return [(number, line.split("\t")) for number, line in enumerate(file_lines(path), 1)]


def columns(path: Path, rows: Sequence[tuple[int, list[str]]], names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of the columns `names` of a table with a header, each row with its line.

    Args:
        path: For messages.
        rows: As `csv_rows` or `tsv_rows` gives them, the header first.
        names: As in the header.

    Raises:
        InputError: A column is missing, or a row has another number of cells than the header.
    """
    (_, header), *body = rows or [(1, [])]
    absent = [name for name in names if name not in header]
    if absent:
        raise InputError(f"{path} has no column {', '.join(absent)}: its first line is {','.join(header)[:80]!r}")
    places = [header.index(name) for name in names]
    for number, fields in body:
        if len(fields) != len(header):
            raise InputError(f"{path} line {number}: {len(fields)} columns, its header has {len(header)}")
        yield number, [fields[place] for place in places]


def hub_columns(
    source: str, config: str | None, split: str, names: Sequence[str | tuple[str, ...]]
) -> tuple[list[tuple[object, ...]], dict[str, str]]:
    """Return the rows of some columns of a data set on the Hub, and its revision as `{"revision": commit}`.

    Args:
        source: Its name, or a folder that holds such a data set.
        config: Its configuration, None for its only one.
        split: Of which split.
        names: The columns; of several names in a tuple, the first that is there.

    Raises:
        InputError: A column is missing.
        ValueError: There is no such data set, configuration or split.
        OSError: It cannot be reached.
    """
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    try:
        data = load_dataset(source, config, split=split)
    except DatasetsError as error:
        raise ValueError(str(error)) from error
    spellings = [(name,) if isinstance(name, str) else name for name in names]
    found = [next((name for name in each if name in data.column_names), each[0]) for each in spellings]
    absent = [name for name in found if name not in data.column_names]
    if absent:
        raise InputError(f"{source} has the columns {', '.join(data.column_names)}: no {', '.join(absent)}")
    rows = list(zip(*(data[name][:] for name in found), strict=True))
    # A Hub address ends in the commit: hf://datasets/<name>@<commit>/<file>.
    addresses = [address for address in data.info.download_checksums or {} if address.startswith("hf://")]
    commits = {address.split("@", 1)[1].split("/", 1)[0] for address in addresses if "@" in address}
    return rows, {"revision": ",".join(sorted(commits))} if commits else {}


def first_line(error: Exception) -> str:
    """Return the first line of an error's message that is not empty, cut to 200 characters."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:200]


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
