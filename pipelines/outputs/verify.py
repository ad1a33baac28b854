"""Whether every file of an output is as it was written, by its record."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from augment.errors import InputError
from augment.record import DamagedRecord, Problem, checked_files, read_record
from pipelines.base.files import RECORD
from pipelines.base.record import record_path


def verify(paths: Sequence[Path]) -> dict[Path, Problem | None]:
    """Check every file of these outputs, or of all outputs in a folder.

    Raises InputError where there is none.
    """
    problems: dict[Path, Problem | None] = {}
    for path in paths:
        records = _records_below(path) if path.is_dir() else [record_path(path)]
        checked = [file for record in records for file in _checked(record)]
        if not checked:
            missing = "no output that recorded its hashes" if path.exists() else "nothing"
            raise InputError(
                f"there is {missing} at {path}: give a dataset folder, a pairs.arrow or an export"
            )
        for file, problem in checked:  # one file can belong to two outputs
            problems[file] = problem or problems.get(file)
    return problems


def _records_below(folder: Path) -> list[Path]:
    """The records in a folder and in those below it, linked ones too, each folder once."""
    records, visited = list[Path](), set[str]()
    for parent, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in visited:
            folders.clear()
        else:
            visited.add(real)
            records += (Path(parent, name) for name in sorted(names) if f".{name}".endswith(f".{RECORD}"))
    return records


def _checked(path: Path) -> Iterator[tuple[Path, Problem | None]]:
    """A record and the files that it is of, and what is wrong with each.

    Nothing for a file that is not ours.
    """
    try:
        record = read_record(path)
    except DamagedRecord:
        yield path, "damaged"
        return
    except InputError:
        return
    if record is not None:
        yield path, None if record.files else "unfinished"
        yield from checked_files(path.parent, record).items()
        if not record.plan and not (path.parent / RECORD).exists():  # it is of a part of what is missing
            yield path.parent / RECORD, "missing"
