"""Files as the trainers read them: found below a data folder, as lines, rows or columns."""

import csv
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from augment.files import MAX_LINE, MAX_TEXT, check_end, read_bounded
from pipelines.base.console import InputError

# cells of each row, with the number of the line that it begins in
Rows: TypeAlias = list[tuple[int, list[str]]]
# Folders below a data folder, ours or of the papers' code, that may hold the folders of benchmarks.
PARENTS = (
    "",
    "sts",
    "STS",
    "lexical",
    "senteval",
    "SentEval",
    "bel",
    "linking",
    "data",
    "datasets",
    "downstream",
    "downstream/STS",
    "data/downstream",
    "data/downstream/STS",
    "SentEval/data/downstream",
    "evaluation/data",
    "evaluation/xl_bel",
)


def file_lines(path: Path, *, bytewise: bool = False) -> list[str]:
    """A text file's lines (UTF-8, `bytewise` else latin-1, perhaps gzipped); InputError if it is none."""
    try:
        check_end(path)
        raw = read_bounded(path, MAX_TEXT, unpack=True)
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
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    if len(longest := max(lines, key=len, default="")) > MAX_LINE:
        raise InputError(
            f"{path} line {lines.index(longest) + 1} is longer than {MAX_LINE:,} characters: split it"
        )
    return lines


def tsv_rows(path: Path) -> Rows:
    """Return the lines of a tab-separated file; quotes are ordinary characters."""
    return [(number, line.split("\t")) for number, line in enumerate(file_lines(path), 1)]


def csv_rows(path: Path, *, delimiter: str = ",", bytewise: bool = False) -> Rows:
    """The rows of a file with quoted cells; raises InputError for broken quotes, and as `file_lines`."""
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(
        (f"{line}\n" for line in file_lines(path, bytewise=bytewise)), delimiter=delimiter, strict=True
    )
    rows: Rows = []
    number = 1
    try:
        for fields in reader:
            rows.append((number, fields))
            number = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"{path} line {number}: broken quotes ({error}): fix it, or get the file again"
        ) from None
    return rows


def usual_places(folders: Sequence[str], data: str | Path) -> list[Path]:
    """Return where folders of these names may be below `data`."""
    root = Path(data).expanduser()
    return [root / parent / folder for parent in PARENTS for folder in folders]


def find_file(name: str, places: Iterable[Path]) -> Path | None:
    """A file, plain or gzipped, in the first of the folders that has it; `name` may be a glob pattern."""
    paths = (path for place in places for ending in ("", ".gz") for path in sorted(place.glob(name + ending)))
    return next((path for path in paths if path.is_file()), None)


def find_files(
    names: Sequence[str], folders: Sequence[str], data: str | Path, beside: Sequence[str] = ()
) -> list[Path] | str:
    """The files of the first usual folder that has all `names`, itself or `beside` it, or what is missing."""
    reasons = []
    for place in filter(Path.is_dir, usual_places(folders, data)):
        paths = {name: find_file(name, (place, *(place / folder for folder in beside))) for name in names}
        absent = [name for name, path in paths.items() if path is None]
        if not absent:
            return [path for path in paths.values() if path]
        reasons.append(f"{place} lacks {', '.join(absent)}")
    return reasons[0] if reasons else f"no folder {' or '.join(folders)} below {data}"


def check_count(source: object, count: int, expected: int, unit: str) -> None:
    """Raise InputError, with both numbers, unless there are as many items as were published."""
    if count != expected:
        raise InputError(f"{source}: {count} {unit}, expected {expected}: get the original files again")


def bad_line(path: Path, number: int, expected: str, line: object) -> InputError:
    """Return the error for a line of another form than expected."""
    return InputError(f"{path} line {number}: expected {expected}, got {str(line)[:80]!r}")


def filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    return ((number, line) for number, line in enumerate(file_lines(path), 1) if line.strip())


def columns(path: Path, rows: Rows, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns `names` of rows, header first; raises InputError for another form."""
    (_, header), *body = rows or [(1, [])]
    if not set(names) <= set(header):
        raise bad_line(path, 1, f"the columns {', '.join(names)}", ",".join(header))
    for number, fields in body:
        if len(fields) != len(header):
            raise bad_line(path, number, f"{len(header)} columns as in the header", fields)
        yield number, [fields[header.index(name)] for name in names]


def located(directory: Path, name: str) -> str:
    """Return a path of a run's recipe, in a parent folder of the run or here; the name if it is in none."""
    paths = (place / name for place in (*directory.resolve().parents, Path()))
    return next((str(path) for path in paths if path.exists()), name)
