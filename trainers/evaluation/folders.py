"""Where a set's files lie below a data folder: folders by usual names in usual places, files gzipped or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

PARENTS = ("", "sts", "STS", "lexical", "downstream", "downstream/STS", "data/downstream", "data/downstream/STS")
"""Where graded sets stand below a data folder: in itself, in ours, in SentEval's archive, in SentEval's checkout."""


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
