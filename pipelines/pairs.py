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


@dataclass(frozen=True, slots=True)
class PairFile:
    """An IPC stream of pairs, and the sha256 that was recorded of it; None where it lies on its own."""

    path: Path
    sha256: str | None


def read_pairs(path: str | Path) -> "datasets.Dataset":
    """Open pairs, an IPC stream file or a folder of them, mapped into memory.

    Returns:
        Rows of `id, text, view_a, view_b, view_a_name, view_b_name`, and a label, a source or filters' scores where
        there are any.

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
    files = _found(path) if path.exists() else []
    if not files:
        raise InputError(f"no pairs at {str(path)!r}: make them with `augment build-pairs`")
    for file in files:
        check_stream(file.path)
        read_table(file.path, file.sha256)
    return files


def _found(path: Path) -> list[PairFile]:
    if not path.is_dir():
        return [PairFile(path, _recorded(path))]
    if read_plan(path) is not None:
        return [PairFile(path / receipt.file, receipt.sha256) for receipt in open_dataset(path, "pairs").receipts]
    files = (file for file in path.glob("*.arrow") if not file.name.startswith(("cache-", ".")))
    return [PairFile(file, _recorded(file)) for file in sorted(files, key=_numerically)]


def _recorded(path: Path) -> str | None:
    sha256 = read_made(beside(path, "recipe.json")).get("sha256")
    return sha256 if isinstance(sha256, str) else None


def _numerically(path: Path) -> list[tuple[int, str]]:
    """A key by which data-100000 comes after data-99999."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]


def check_stream(path: Path) -> None:
    """Make sure that a file is an Arrow IPC stream with the columns of pairs.

    Raises:
        InputError: It is not, or cannot be read.
    """
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as mapped:
            names = pa.ipc.open_stream(mapped).schema.names
    except (pa.ArrowInvalid, OSError) as error:
        is_file = path.is_file() and path.read_bytes()[:6] == b"ARROW1"
        what = "is an Arrow IPC file, a stream is wanted" if is_file else f"is no Arrow IPC stream ({error})"
        raise InputError(f"{path} {what}: make pairs with `augment build-pairs`") from None
    missing = [name for name in PAIR_COLUMNS if name not in names]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}, only {', '.join(names)}: it holds no pairs")
