"""Rows that an earlier run made of the same sentences by the same view, to be taken instead of made again."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.plan import Plan, read_plan
from pipelines.shards import RECEIPTS, Receipt, read_table, shard_number, valid_receipt

_read = lru_cache(64)(read_table)


def folders_like(plan: Plan, places: Iterable[Path]) -> tuple[Path, ...]:
    """Folders right below `places` whose rows were made by the view and seed of `plan`, finished or not."""
    found = []
    for place in places:
        for folder in sorted(place.iterdir()) if place.is_dir() else ():
            try:
                other = read_plan(folder)
            except InputError:  # of another version: nothing of it can be taken
                continue
            if other is not None and (other.signature, other.seed) == (plan.signature, plan.seed):
                found.append(folder)
    return tuple(found)


class StoredRows:
    """The committed rows of view datasets by their sentence, through an index of 8 bytes a row in a temporary file.

    An entry is the first bits of a sentence's id and, in the others, the number of its row; entries are sorted.

    Args:
        folders: Dataset folders made by one view under one seed, so that a sentence's rows are the same in all.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        import numpy as np

        self._shards = [(folder / each.file, each) for folder in folders for each in _committed(folder) if each.rows]
        self._starts = np.cumsum([0, *(receipt.rows for _, receipt in self._shards)])
        rows = int(self._starts[-1])
        self._row_bits = np.uint64((1 << rows.bit_length()) - 1)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as it is mapped
        # One entry more, as an empty file cannot be mapped.
        self._entries = np.memmap(self._file, dtype=np.uint64, shape=rows + 1)[:rows]
        for shard, start in enumerate(self._starts[:-1]):
            numbers = _numbers(self._table(shard))
            places = np.arange(start, start + len(numbers), dtype=np.uint64)
            self._entries[start : start + len(numbers)] = numbers & ~self._row_bits | places
        self._entries.sort()

    def _table(self, shard: int) -> Any:  # noqa: ANN401 - a pyarrow table
        path, receipt = self._shards[shard]
        return _read(path, receipt.sha256)

    def find(self, sentences: Any) -> tuple[list[int], Any]:  # noqa: ANN401 - pyarrow tables
        """Which of some sentences (`id`, `text`) are there, and their rows as a table in the same order, or None."""
        import numpy as np
        import pyarrow as pa

        numbers = _numbers(sentences)
        first = np.searchsorted(self._entries, numbers & ~self._row_bits)
        counts = np.searchsorted(self._entries, numbers | self._row_bits, side="right") - first
        asked = np.repeat(np.arange(len(numbers)), counts)
        candidates = np.arange(len(asked)) + np.repeat(first - np.cumsum(counts) + counts, counts)
        rows = (self._entries[candidates] & self._row_bits).astype(np.int64)
        shards = np.searchsorted(self._starts, rows, side="right") - 1
        found: dict[int, tuple[int, int]] = {}
        tables = []
        for shard in np.unique(shards):
            inside = np.flatnonzero(shards == shard)
            tables.append(self._table(shard).take(rows[inside] - self._starts[shard]))
            same = _equal(sentences.take(asked[inside]), tables[-1])
            found |= {int(asked[inside[place]]): (len(tables) - 1, place) for place in same}
        if not found:
            return [], None
        ends = np.cumsum([0, *map(len, tables)])
        taken = [int(ends[table]) + place for _, (table, place) in sorted(found.items())]
        return sorted(found), pa.concat_tables(tables).take(taken)


def _numbers(table: Any) -> Any:  # noqa: ANN401 - a pyarrow table, a NumPy array
    """The ids of rows as numbers."""
    import numpy as np

    return np.array([int(identity, 16) for identity in table.column("id").to_pylist()], dtype=np.uint64)


def _equal(asked: Any, found: Any) -> list[int]:  # noqa: ANN401 - pyarrow tables
    """The rows in which two tables have the same sentence."""
    ids, texts = ([table.column(name).to_pylist() for table in (asked, found)] for name in ("id", "text"))
    return [row for row in range(len(asked)) if ids[0][row] == ids[1][row] and texts[0][row] == texts[1][row]]


def _committed(folder: Path) -> Iterator[Receipt]:
    """The receipts of a folder's shards that match them."""
    numbers = (shard_number(path.stem) for path in (folder / RECEIPTS).glob("*.json"))
    for number in sorted(number for number in numbers if number is not None):
        receipt = valid_receipt(folder, number)
        if receipt is not None:
            yield receipt
