"""The file of what was dropped: whose it is, and whether it is whole."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from augment.errors import InputError
from pipelines.files import sha256_of, whole_file
from pipelines.pairs import PAIR_COLUMNS
from pipelines.shards import read_table

REASON = "reason"
SHA256 = "rejects_sha256"
"""Where the recipe of the pairs has the hash of the rejects: by it the next run knows that they are ours."""


@contextmanager
def open_rejects(path: Path | None) -> Iterator[BinaryIO | None]:
    """A file for rejects that appears when the block ends well; None if none is wanted."""
    if path is None:
        yield None
        return
    with whole_file(path) as stream:
        yield stream


def rejects_facts(rejected: BinaryIO | None) -> dict[str, str]:
    """What the recipe says of rejects that are written."""
    return {} if rejected is None else {SHA256: sha256_of(Path(rejected.name))}


def intact_rejects(rejects: Path | None, made: Mapping[str, Any]) -> bool:
    """Whether nothing is to be done about rejects: none wanted, or there as the recipe says."""
    return rejects is None or (rejects.is_file() and sha256_of(rejects) == made.get(SHA256))


def check_rejects(rejects: Path | None, made: Mapping[str, Any], *, overwrite: bool) -> None:
    """Make sure that nothing of anybody else's is lost where rejects will be written.

    Raises:
        InputError: Something is there that the recipe does not know and that `overwrite` does not cover.
    """
    if rejects is None or not rejects.exists() or (rejects.is_file() and intact_rejects(rejects, made)):
        return
    try:
        ours = overwrite and rejects.is_file() and {*PAIR_COLUMNS, REASON} <= set(read_table(rejects).schema.names)
    except InputError:
        ours = False
    if not ours:
        what = "is no file of rejects of ours" if overwrite or not rejects.is_file() else "exists"
        raise InputError(f"--rejects {rejects} {what}: choose another file" + ("" if overwrite else ", or --overwrite"))
