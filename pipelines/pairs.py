"""Pairs on disk, as a trainer reads them."""

from pathlib import Path
from typing import TYPE_CHECKING

from augment.errors import InputError

if TYPE_CHECKING:
    import datasets

PAIR_COLUMNS = ("id", "text", "view_a", "view_b", "view_a_name", "view_b_name")


def read_pairs(path: str | Path) -> "datasets.Dataset":
    """Open pairs, an IPC stream file or a folder of them, mapped into memory.

    Returns:
        Rows of `id, text, view_a, view_b, view_a_name, view_b_name`, and a label, a source or filters' scores where
        there are any.

    Raises:
        InputError: No such file, no Arrow IPC stream, no rows, or columns missing.
    """
    files = pair_files(path)
    for file in files:
        check_stream(file)
    from datasets import Dataset as ArrowDataset
    from datasets import concatenate_datasets

    pairs = concatenate_datasets([ArrowDataset.from_file(str(file)) for file in files])
    if not pairs.num_rows:
        raise InputError(f"{path} holds no pairs: make them with `augment build-pairs`")
    return pairs


def pair_files(path: str | Path) -> list[Path]:
    """The files that pairs lie in: one, or those of a folder in their order.

    Raises:
        InputError: There are none.
    """
    path = Path(path)
    files = (
        sorted(file for file in path.glob("*.arrow") if not file.name.startswith(("cache-", ".")))
        if path.is_dir()
        else [path]
    )
    if not path.exists() or not files:
        raise InputError(f"no pairs at {str(path)!r}: make them with `augment build-pairs`")
    return files


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
