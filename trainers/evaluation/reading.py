"""Files of benchmarks: found below a data folder or on the Hub, and read as lines, rows or columns."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pipelines.terminal.console import InputError
from trainers.files import Rows, file_lines

# Folders below a data folder, ours or of the papers' code, that may hold the folders of benchmarks.
PARENTS = (
    "", "sts", "STS", "lexical", "senteval", "SentEval", "bel", "linking", "data", "datasets", "downstream",
    "downstream/STS", "data/downstream", "data/downstream/STS", "SentEval/data/downstream", "evaluation/data",
    "evaluation/xl_bel",
)  # fmt: skip


def usual_places(folders: Sequence[str], data: Path) -> list[Path]:
    """Return where folders of these names may be below `data`."""
    return [data / parent / folder for parent in PARENTS for folder in folders]


def find_file(name: str, places: Iterable[Path]) -> Path | None:
    """Return a file, plain or gzipped, in the first of the folders that has it; `name` may be a glob pattern."""
    paths = (path for place in places for ending in ("", ".gz") for path in sorted(place.glob(name + ending)))
    return next((path for path in paths if path.is_file()), None)


def find_files(
    names: Sequence[str], folders: Sequence[str], data: Path, beside: Sequence[str] = ()
) -> list[Path] | str:
    """Return the files of the first usual folder that has all `names`, itself or `beside` it, or what is missing."""
    reason = f"no folder {' or '.join(folders)} below {data}"
    for number, place in enumerate(place for place in usual_places(folders, data) if place.is_dir()):
        paths = {name: find_file(name, (place, *(place / folder for folder in beside))) for name in names}
        absent = [name for name, path in paths.items() if path is None]
        if not absent:
            return [path for path in paths.values() if path]
        reason = reason if number else f"{place} lacks {', '.join(absent)}"
    return reason


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
