"""Anything of ours opened for a look: what it is, where it comes from, and its rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.files import beside
from pipelines.folder import open_dataset
from pipelines.pairs import PairFile, pair_files
from pipelines.plan import Kind, Plan, read_plan
from pipelines.recipe import read_made
from pipelines.shards import read_table


@dataclass(frozen=True, slots=True)
class Opened:
    """A dataset: its kind, facts about it, what was counted when it was made, and its files.

    Attributes:
        kind: What the rows are.
        path: Where it is.
        facts: Name, plan and hashes, as JSON.
        counts: Rows by status, reason and so on.
        files: IPC streams, in order, with their hashes and rows.
    """

    kind: Kind
    path: Path
    facts: Mapping[str, Any]
    counts: Mapping[str, Any]
    files: tuple[PairFile, ...]

    @property
    def rows(self) -> int:
        """Rows in all files."""
        return sum(file.rows for file in self.files)

    def tables(self) -> Iterator[Any]:
        """The rows, file by file."""
        return (read_table(file.path, file.sha256) for file in self.files)

    def take(self, places: Sequence[int], choose: Callable[[Any], Any] | None = None) -> Any:  # noqa: ANN401 - a table
        """The rows at these places, in ascending order; all rows count, or those of a batch that `choose` marks.

        Raises:
            InputError: The files have columns of one name that hold different things.
        """
        import numpy as np
        import pyarrow as pa

        wanted, first, taken = np.asarray(places, dtype=np.int64), 0, []
        for table in self.tables():
            taken.append(table.slice(0, 0))
            for batch in table.to_batches():
                chosen = None if choose is None else np.flatnonzero(choose(batch))
                count = batch.num_rows if chosen is None else len(chosen)
                low, high = np.searchsorted(wanted, (first, first + count))
                here = wanted[low:high] - first
                if len(here):
                    rows = batch.take(pa.array(here if chosen is None else chosen[here]))
                    taken.append(pa.Table.from_batches([rows]))
                first += count
        try:
            return pa.concat_tables(taken, promote_options="permissive")
        except pa.ArrowException as error:
            raise InputError(f"{self.path} holds files of different columns ({error}): look at one of them") from None


def open_path(path: Path) -> Opened:
    """Open sentences, a view dataset, pairs (a file, or a folder of them) or rejects.

    Raises:
        InputError: Nothing of ours is there, or it is unfinished or damaged.
    """
    if not path.is_file() and (read_plan(path) is not None or not any(path.glob("*.arrow"))):
        dataset = open_dataset(path)
        shards = tuple(PairFile(path / each.file, each.sha256, each.rows) for each in dataset.receipts)
        more = {"shards": len(shards), "digest": dataset.digest}
        return _opened(path, dataset.plan, dataset.counts, shards, more)
    files = tuple(pair_files(path))
    made = read_made(beside(path, "recipe.json"))
    try:
        plan = Plan.model_validate(made.get("plan"))
    except ValueError:
        rows = sum(file.rows for file in files)
        return Opened("pairs", path, {"rows": rows}, {"pairs": rows}, files)
    return _opened(path, plan, made.get("counts", {}), files, {"sha256": made.get("sha256")})


def _opened(
    path: Path, plan: Plan, counts: Mapping[str, Any], files: tuple[PairFile, ...], more: Mapping[str, Any]
) -> Opened:
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
