"""Rows to look at: which ones, what each is known by, and its texts with what a view changed set off."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from augment.errors import InputError
from augment.view import Status
from pipelines.look.figures import figure
from pipelines.look.opened import Opened
from pipelines.look.worddiff import Piece, pieces
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEARCHED = ("text", "view", "pivot", "view_a", "view_b", "pair", NEGATIVE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows, and how many.

    Attributes:
        rows: The most to show.
        status: Only rows with this status.
        reason: Only rows with this in their reason, whatever its case.
        search: Only rows with this in one of their texts, whatever its case.
        seed: Draw them at random by this seed; None spreads them evenly.
    """

    rows: int = 5
    status: Status | None = None
    reason: str | None = None
    search: str | None = None
    seed: int | None = None

    @property
    def is_narrowed(self) -> bool:
        """Whether not all rows will do."""
        return (self.status, self.reason, self.search) != (None, None, None)


def sample(opened: Opened, wanted: Wanted) -> tuple[list[dict[str, Any]], int]:
    """The rows, in the order in which they lie in the dataset, and how many there were to choose from.

    Raises:
        InputError: The dataset has no column to choose by.
    """
    if not wanted.is_narrowed:
        return opened.take(spread(opened.rows, wanted.rows, wanted.seed)).to_pylist(), opened.rows

    def choose(batch: Any) -> "NDArray[np.bool_]":  # noqa: ANN401 - a record batch
        return _matches(opened.path, batch, wanted)

    total = sum(int(choose(batch).sum()) for table in opened.tables() for batch in table.to_batches())
    return opened.take(spread(total, wanted.rows, wanted.seed), choose).to_pylist(), total


def spread(total: int, most: int, seed: int | None = None) -> list[int]:
    """Places of at most so many of `total` rows, in order: spread evenly, or drawn at random by a seed."""
    number = min(most, total)
    if seed is not None:
        return sorted(Random(seed).sample(range(total), number))
    return [index * total // number for index in range(number)]


def _matches(path: object, batch: Any, wanted: Wanted) -> "NDArray[np.bool_]":  # noqa: ANN401 - a record batch
    import numpy as np
    import pyarrow.compute as pc

    names = batch.schema.names
    for column, value in (("status", wanted.status), ("reason", wanted.reason)):
        if value is not None and column not in names:
            raise InputError(f"--{column} {value}: {path} has no column {column!r}, only {', '.join(names)}")
    searched = [name for name in SEARCHED if name in names]
    matching = np.ones(batch.num_rows, dtype=np.bool_)
    for columns, value in ((["status"], wanted.status), (["reason"], wanted.reason), (searched, wanted.search)):
        if value is not None:
            hits = [pc.match_substring(batch[name], value, ignore_case=True).fill_null(False) for name in columns]
            matching &= np.logical_or.reduce([np.asarray(each, dtype=np.bool_) for each in hits])
    return matching


def heading(kind: str, row: Mapping[str, Any]) -> str:
    """What a row is known by: its id, and what became of it, its scores and its labels."""
    parts = [str(row["id"])]
    if kind == "view":
        parts.append(f"{row['status']} ({row['reason']})" if row["reason"] else str(row["status"]))
    if kind == "pairs":
        extra = {
            name: value for name, value in row.items() if name not in (*PAIR_COLUMNS, NEGATIVE) and value is not None
        }
        parts += [f"{name} {figure(value) if isinstance(value, float) else value}" for name, value in extra.items()]
    return "  ".join(parts)


def lines(kind: str, row: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Piece]]]:
    """The texts of a row by what they are, views as they differ from the sentence."""
    text = row["text"] or ""
    plain = {"view": ("pivot",), "sentences": ("label", "pair")}.get(kind, ())
    for name in ("text", *plain):
        if row.get(name) is not None:
            yield name, pieces(row[name], row[name])
    if kind == "view":
        if row["view"] is not None:
            yield "view", pieces(text, row["view"], row["edits"] or ())
        for number, other in enumerate(row.get("alternatives") or (), start=2):
            yield f"view {number}", pieces(text, other)
    for side in ("view_a", "view_b"):
        if row.get(side) is not None:
            yield row[f"{side}_name"] or side, pieces(text, row[side])
    if kind == "pairs" and row.get(NEGATIVE) is not None:
        yield NEGATIVE, pieces(row[NEGATIVE], row[NEGATIVE])
