"""Rows that an earlier run made of the same sentences by the same view, to be taken instead of made again."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.plan import Plan, read_plan
from pipelines.shards import RECEIPTS, read_table, shard_number, valid_receipt


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


class KeptRows:
    """The committed rows of view datasets by their sentence; 16 bytes a row in memory, the rest stays on the disk.

    Args:
        folders: Dataset folders made by one view under one seed, so that a sentence's rows are the same in all.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        import numpy as np

        # One table a shard: all of them in one would have texts of more than the 2 GiB that a column of strings holds.
        self._tables = [table for folder in folders for table in _committed(folder)]
        self._starts = np.cumsum([0, *(table.num_rows for table in self._tables)])
        ids = (identity for table in self._tables for identity in table.column("id").to_pylist())
        numbers = np.fromiter((int(identity, 16) for identity in ids), dtype=np.uint64, count=self._starts[-1])
        self._order = np.argsort(numbers, kind="stable")
        self._numbers = numbers[self._order]

    def find(self, ids: Sequence[str], texts: Sequence[str]) -> Mapping[int, dict[str, Any]]:
        """Rows of the sentences that are there, by their place in `ids`; `texts` must be the same too."""
        import numpy as np

        if not len(self._numbers) or not ids:
            return {}
        wanted = np.array([int(identity, 16) for identity in ids], dtype=np.uint64)
        places = np.minimum(np.searchsorted(self._numbers, wanted), len(self._numbers) - 1)
        hits = np.flatnonzero(self._numbers[places] == wanted)
        found = self._order[places[hits]]
        shards = np.searchsorted(self._starts, found, side="right") - 1
        rows: dict[int, dict[str, Any]] = {}
        for shard in np.unique(shards):
            inside = shards == shard
            taken = self._tables[shard].take(found[inside] - self._starts[shard]).to_pylist()
            rows.update(zip(hits[inside].tolist(), taken, strict=True))
        return {hit: row for hit, row in rows.items() if row["text"] == texts[hit]}


def _committed(folder: Path) -> Iterable[Any]:
    """The tables of a folder's shards that match their receipts."""
    numbers = (shard_number(path.stem) for path in (folder / RECEIPTS).glob("*.json"))
    for number in sorted(number for number in numbers if number is not None):
        found = valid_receipt(folder, number)
        if found is not None:
            yield read_table(folder / found.file, found.sha256)
