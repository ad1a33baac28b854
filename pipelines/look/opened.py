"""Anything of ours opened for a look: what it is, where it comes from, and its rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.files import beside
from pipelines.folder import STATE_FILE, count_receipts, open_dataset, valid_counts
from pipelines.pairs import PairFile, pair_files
from pipelines.plan import Kind, Plan, read_plan
from pipelines.recipe import read_made
from pipelines.shards import Receipt, read_table, valid_receipt


@dataclass(frozen=True, slots=True)
class Opened:
    """A dataset: its kind, facts about it, what was counted when it was made, and its files.

    Attributes:
        kind: What the rows are.
        path: Where it is.
        facts: Name, plan and hashes, as JSON.
        counts: Rows by status, reason and so on.
        files: IPC streams, in order, with their hashes and rows; where a run was stopped, those that are finished.
        unfinished: For a run that was stopped, how far it came and how to go on.
    """

    kind: Kind
    path: Path
    facts: Mapping[str, Any]
    counts: Mapping[str, Any]
    files: tuple[PairFile, ...]
    unfinished: str | None = None

    @property
    def rows(self) -> int:
        """Rows in all files."""
        return sum(file.rows for file in self.files)

    def tables(self) -> Iterator[Any]:
        """The rows, file by file."""
        return (read_table(file.path, file.sha256) for file in self.files)

    def take(self, places: Sequence[int], choose: Callable[[Any], Any] | None = None) -> Any:  # noqa: ANN401 - a table
        """The rows at these places, in ascending order; all rows count, or those of a batch that `choose` marks."""
        import numpy as np
        import pyarrow as pa

        wanted, first, taken = np.asarray(places, dtype=np.int64), 0, []
        for table in self.tables():
            schema = table.schema
            for batch in table.to_batches():
                chosen = None if choose is None else np.flatnonzero(choose(batch))
                count = batch.num_rows if chosen is None else len(chosen)
                here = wanted[slice(*np.searchsorted(wanted, (first, first + count)))] - first
                if len(here):
                    taken.append(batch.take(pa.array(here if chosen is None else chosen[here])))
                first += count
        return pa.Table.from_batches(taken, schema)


def open_path(path: Path) -> Opened:
    """Open sentences, a view dataset, pairs (a file, or a folder of them) or rejects.

    Raises:
        InputError: Nothing of ours is there, or it is damaged.
    """
    if path.is_file() or (path.is_dir() and read_plan(path) is None and any(path.glob("*.arrow"))):
        return _open_pairs(path)
    plan = read_plan(path)
    if plan is not None and plan.kind == "view" and not (path / STATE_FILE).exists():
        return _open_unfinished(path, plan)
    dataset = open_dataset(path)
    facts = {**_facts(dataset.plan, dataset.rows, len(dataset.receipts)), "digest": dataset.digest}
    return Opened(dataset.plan.kind, path, facts, dataset.counts, _files(path, dataset.receipts))


def open_finished(path: Path) -> Opened:
    """The same, whole.

    Raises:
        InputError: There is nothing of ours, or it is not finished.
    """
    opened = open_path(path)
    if opened.unfinished is not None:
        raise InputError(f"{path} is {opened.unfinished}")
    return opened


def _open_unfinished(path: Path, plan: Plan) -> Opened:
    """What a stopped run left: the shards that it committed."""
    found = [valid_receipt(path, index, stop - start) for index, (start, stop) in enumerate(plan.shards)]
    receipts = [receipt for receipt in found if receipt is not None]
    rows = sum(receipt.rows for receipt in receipts)
    left = (
        f"not finished: {len(receipts):,} of {len(plan.shards):,} shards are there ({rows:,} of {plan.rows:,} rows); "
        f"the `augment {plan.name}` that began it goes on where it stopped when it is run again"
    )
    facts = _facts(plan, rows, len(receipts))
    return Opened(plan.kind, path, facts, count_receipts(receipts), _files(path, receipts), left)


def _open_pairs(path: Path) -> Opened:
    files = tuple(pair_files(path))
    rows = sum(file.rows for file in files)
    made = read_made(beside(path, "recipe.json"))
    try:
        plan = Plan.model_validate(made.get("plan"))
    except ValueError:
        return Opened("pairs", path, {"rows": rows}, {"pairs": rows}, files)
    counts = valid_counts("pairs", made.get("counts")) or {"pairs": rows}
    return Opened("pairs", path, {**_facts(plan, rows), "sha256": made.get("sha256")}, counts, files)


def _files(folder: Path, receipts: Sequence[Receipt]) -> tuple[PairFile, ...]:
    return tuple(PairFile(folder / receipt.file, receipt.sha256, receipt.rows) for receipt in receipts)


def _facts(plan: Plan, rows: int, shards: int | None = None) -> dict[str, Any]:
    facts = {
        "name": plan.name,
        "rows": rows,
        "shards": shards,
        "signature": plan.signature,
        "seed": plan.seed,
        "params": {key: value for key, value in plan.params.items() if value is not None},
        "inputs": [item.model_dump() for item in plan.inputs],
        "twinviews": plan.twinviews,
    }
    return {key: value for key, value in facts.items() if value is not None}
