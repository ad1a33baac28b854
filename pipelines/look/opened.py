"""Anything of ours opened for a look: what it is, where it comes from, and its rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augment.errors import InputError
from pipelines.files import beside
from pipelines.folder import open_dataset
from pipelines.pairs import PairFile, made_plan, pair_files
from pipelines.plan import Kind, read_plan
from pipelines.recipe import read_made
from pipelines.shards import read_table


@dataclass(frozen=True, slots=True)
class Opened:
    """A dataset.

    Attributes:
        kind: What the rows are.
        path: Where it is.
        facts: Name, plan and hashes, as JSON.
        counts: Rows by status, reason and so on, counted when it was made.
        files: IPC streams, in order, with their hashes and rows.
    """

    kind: Kind
    path: Path
    facts: Mapping[str, Any]
    counts: Mapping[str, Any]
    files: Sequence[PairFile]

    @property
    def rows(self) -> int:
        """Rows in all files."""
        return sum(file.rows for file in self.files)

    def tables(self) -> Iterator[pa.Table]:
        """The rows, file by file."""
        return (read_table(file.path, file.sha256) for file in self.files)

    def take(self, places: Sequence[int], reason: str | None = None) -> pa.Table:
        """The rows at these places, in ascending order, of all rows or of those with a reason."""
        wanted, first, taken = np.asarray(places, dtype=np.int64), 0, []
        for table in self.tables():
            taken.append(table.schema.empty_table())
            for batch in table.to_batches():
                rows = np.arange(len(batch))
                if reason is not None:
                    rows = np.flatnonzero(pc.equal(batch["reason"], reason).fill_null(False))
                low, high = np.searchsorted(wanted, (first, first + len(rows)))
                if low < high:
                    taken.append(pa.Table.from_batches([batch.take(pa.array(rows[wanted[low:high] - first]))]))
                first += len(rows)
        try:
            return pa.concat_tables(taken, promote_options="permissive")
        except pa.ArrowException as error:
            raise InputError(f"{self.path} holds files of different columns ({error}): look at one of them") from None


def spread(total: int, most: int, seed: int | None = None) -> list[int]:
    """At most `most` of `total` places, in order: spread evenly, or drawn at random by a seed."""
    number = min(most, total)
    if seed is not None and number < total:
        return sorted(Random(seed).sample(range(total), number))
    return [index * total // number for index in range(number)]


def open_path(path: Path) -> Opened:
    """Open sentences, a view dataset, pairs (a file, or a folder of them) or rejects.

    Raises InputError if nothing of ours is there, or it is unfinished or damaged.
    """
    files: Sequence[PairFile]
    if not path.is_file() and (read_plan(path) is not None or not any(path.glob("*.arrow"))):
        dataset = open_dataset(path)
        plan, counts = dataset.plan, dataset.counts
        files = [PairFile(path / each.file, each.sha256, each.rows) for each in dataset.receipts]
        more: dict[str, Any] = {"shards": len(files), "digest": dataset.digest}
    else:
        files, made = pair_files(path), read_made(beside(path, "recipe.json"))
        known = made_plan(made)
        if known is None:
            rows = sum(file.rows for file in files)
            return Opened("pairs", path, {"rows": rows}, {"pairs": rows}, files)
        plan, counts, more = known, made["counts"], {"sha256": made["sha256"]}
    facts = {
        "name": plan.name,
        "rows": sum(file.rows for file in files),
        "signature": plan.signature,
        "seed": plan.seed,
        "params": {key: value for key, value in plan.params.items() if value is not None},
        "inputs": [item.model_dump() for item in plan.inputs],
        "twinviews": plan.twinviews,
        **more,
    }
    return Opened(plan.kind, path, {key: value for key, value in facts.items() if value is not None}, counts, files)
