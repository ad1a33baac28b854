"""Anything of ours opened for a look: what it is, where it comes from, and the files that its rows lie in."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.files import beside
from pipelines.folder import STATE_FILE, Dataset, count_receipts, open_dataset
from pipelines.pairs import PAIR_COLUMNS, PairFile, pair_files
from pipelines.plan import Kind, Plan, read_plan
from pipelines.recipe import read_made
from pipelines.shards import Receipt, read_table, valid_receipt

CHUNK_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class Opened:
    """A dataset: its kind, facts about it, what was counted when it was made, and its files.

    Attributes:
        kind: What the rows are.
        path: Where it is.
        facts: Name, plan and hashes, as JSON.
        counts: Rows by status, reason and so on.
        files: IPC streams, in order, with their hashes; where a run was stopped, those that are finished.
        unfinished: For a run that was stopped, how far it came and how to go on.
    """

    kind: Kind
    path: Path
    facts: Mapping[str, Any]
    counts: Mapping[str, Any]
    files: tuple[PairFile, ...]
    unfinished: str | None = None
    _rows: dict[Path, int] = field(default_factory=dict, compare=False)

    def chunks(self) -> Iterator[Any]:
        """The rows, as tables of at most CHUNK_ROWS.

        Raises:
            InputError: A file cannot be read to its end.
        """
        for file in self.files:
            table = _read(file)
            self._rows[file.path] = table.num_rows
            for start in range(0, max(1, table.num_rows), CHUNK_ROWS):  # without rows too: a file has its columns
                yield table.slice(start, CHUNK_ROWS)

    def some_chunks(self, numbers: Collection[int]) -> Iterator[tuple[int, Any]]:
        """Those of the chunks that have these numbers, from 0; `chunks` went through all of them before.

        Only the files that they are in are opened, and not looked at again.
        """
        first = 0
        for file in self.files:
            count = max(1, -(-self._rows[file.path] // CHUNK_ROWS))
            inside = [number for number in range(first, first + count) if number in numbers]
            table = read_table(file.path) if inside else None
            yield from ((number, table.slice((number - first) * CHUNK_ROWS, CHUNK_ROWS)) for number in inside if table)
            first += count


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
    return _open_folder(open_dataset(path))


def _open_folder(dataset: Dataset) -> Opened:
    plan = dataset.plan
    facts = {"name": plan.name, "rows": dataset.rows, "shards": len(dataset.receipts), **_planned(plan)}
    files = _files(dataset.path, dataset.receipts)
    return Opened(plan.kind, dataset.path, {**facts, "digest": dataset.digest}, dataset.counts, files)


def _open_unfinished(path: Path, plan: Plan) -> Opened:
    """What a stopped run left: the shards that it committed."""
    found = [valid_receipt(path, index, stop - start) for index, (start, stop) in enumerate(plan.shards)]
    receipts = [receipt for receipt in found if receipt is not None]
    rows = sum(receipt.rows for receipt in receipts)
    facts = {"name": plan.name, "rows": rows, "shards": len(receipts), **_planned(plan)}
    left = (
        f"not finished: {len(receipts):,} of {len(plan.shards):,} shards are there ({rows:,} of {plan.rows:,} rows); "
        f"the `augment {plan.name}` that began it goes on where it stopped when it is run again"
    )
    return Opened(plan.kind, path, facts, count_receipts(receipts), _files(path, receipts), left)


def _files(folder: Path, receipts: Sequence[Receipt]) -> tuple[PairFile, ...]:
    return tuple(PairFile(folder / receipt.file, receipt.sha256) for receipt in receipts)


def _planned(plan: Plan) -> dict[str, Any]:
    made = {"signature": plan.signature} if plan.signature is not None else {}
    return {
        **made,
        **({"seed": plan.seed} if plan.seed is not None else {}),
        "params": {key: value for key, value in plan.params.items() if value is not None},
        "inputs": [item.model_dump() for item in plan.inputs],
        "twinviews": plan.twinviews,
    }


def _open_pairs(path: Path) -> Opened:
    files = pair_files(path)
    rows = sum(read_table(file.path).num_rows for file in files)
    made = read_made(beside(path, "recipe.json"))
    try:
        plan = Plan.model_validate(made.get("plan"))
    except ValueError:
        return Opened("pairs", path, {"rows": rows}, {"pairs": rows}, tuple(files))
    facts = {"name": plan.name, "rows": rows, **_planned(plan), "sha256": made.get("sha256")}
    return Opened("pairs", path, facts, made["counts"], tuple(files))


def _read(file: PairFile) -> Any:  # noqa: ANN401 - a pyarrow table
    return read_table(file.path, file.sha256)


def check_text(path: Path, schema: Any) -> None:  # noqa: ANN401 - a pyarrow schema
    """Make sure that the columns of pairs, where they are, hold text.

    Raises:
        InputError: One holds something else.
    """
    import pyarrow as pa

    for column in schema:
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        if column.name in PAIR_COLUMNS and not is_text:
            raise InputError(
                f"{path}: column {column.name!r} holds {column.type}, text is wanted: it holds no pairs of ours"
            )
