"""Pairs and sentences on disk, as a trainer reads them: looked at first, so that none is unfinished or altered."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from augment.errors import InputError
from pipelines.files import beside
from pipelines.folder import open_dataset
from pipelines.plan import read_plan
from pipelines.recipe import read_made
from pipelines.shards import read_table

if TYPE_CHECKING:
    import datasets

PAIR_COLUMNS = ("id", "text", "view_a", "view_b", "view_a_name", "view_b_name")
FILE_MAGIC = b"ARROW1"
NEGATIVE = "negative"
"""A column that pairs may have: a text that is no paraphrase of `view_a`, null where a pair has none."""


@dataclass(frozen=True, slots=True)
class PairFile:
    """An IPC stream, the sha256 that was recorded of it (None where it lies on its own), and its rows."""

    path: Path
    sha256: str | None
    rows: int


def read_pairs(path: str | Path) -> "datasets.Dataset":
    """Open pairs, an IPC stream file or a folder of them, mapped into memory.

    Returns:
        Rows of `id, text, view_a, view_b, view_a_name, view_b_name`, and a negative, a label, a source or filters'
        scores where there are any.

    Raises:
        InputError: No such file, no Arrow IPC stream, no rows, or columns missing; or it is unfinished, cut short, or
            not what was recorded when it was written.
    """
    files = [file.path for file in pair_files(path)]
    from datasets import Dataset as ArrowDataset
    from datasets import concatenate_datasets

    pairs = concatenate_datasets([ArrowDataset.from_file(str(file)) for file in files])
    if not pairs.num_rows:
        raise InputError(f"{path} holds no pairs: make them with `augment build-pairs`")
    return pairs


def check_dataset(folder: Path) -> None:
    """Make sure that a dataset folder of ours is finished and as it was written; any other folder is let pass.

    Raises:
        InputError: It is not; the line names the file.
    """
    if read_plan(folder) is not None:
        open_dataset(folder)


def pair_files(path: str | Path) -> list[PairFile]:
    """The files that pairs lie in, one or those of a folder in their order, looked at.

    Raises:
        InputError: There are none, or one is unfinished, cut short, altered, or no stream of pairs.
    """
    path = Path(path)
    if path.is_dir() and read_plan(path) is not None:
        receipts = open_dataset(path, "pairs").receipts
        return [_checked(path / receipt.file, receipt.sha256) for receipt in receipts]
    files = [path] if path.exists() else []
    if path.is_dir():
        found = (file for file in path.glob("*.arrow") if not file.name.startswith(("cache-", ".")))
        files = sorted(found, key=lambda file: re.sub(r"\d+", lambda number: number[0].zfill(20), file.name))
    if not files:
        raise InputError(f"no pairs at {str(path)!r}: make them with `augment build-pairs`")
    return [_checked(file, read_made(beside(file, "recipe.json")).get("sha256")) for file in files]


def _checked(path: Path, sha256: str | None) -> PairFile:
    """A stream of pairs; raises InputError unless it is whole and has the columns of pairs, as text."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as mapped:
            if mapped.read(len(FILE_MAGIC)) == FILE_MAGIC:
                raise InputError(f"{path} is an Arrow IPC file, not a stream: write it with pa.ipc.new_stream")
            mapped.seek(0)
            schema = pa.ipc.open_stream(mapped).schema
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} is no Arrow IPC stream ({error}): make pairs with `augment build-pairs`") from None
    for name in (*PAIR_COLUMNS, *({NEGATIVE} & set(schema.names))):
        if name not in schema.names:
            raise InputError(f"{path} has no column {name!r}, only {', '.join(schema.names)}: it holds no pairs")
        kind = schema.field(name).type
        if str(kind) not in ("string", "large_string", "null"):
            raise InputError(f"{path}: column {name!r} holds {kind}, text is wanted: it holds no pairs of ours")
    return PairFile(path, sha256, read_table(path, sha256).num_rows)
