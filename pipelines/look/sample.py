"""Rows to look at: spread evenly over a dataset or drawn at random, of all rows or of those that are asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from augment.errors import InputError
from augment.view import Status
from pipelines.look.opened import Opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SEARCHED = ("text", "view", "pivot", "view_a", "view_b", "pair")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows, and how many.

    Attributes:
        rows: The most to show.
        status: Only rows with this status.
        reason: Only rows with this in their reason, whatever its case.
        exact: Only rows with just this reason.
        search: Only rows with this in one of their texts, whatever its case.
        seed: Draw them at random by this seed; None spreads them evenly.
    """

    rows: int = 5
    status: Status | None = None
    reason: str | None = None
    search: str | None = None
    seed: int | None = None
    exact: bool = False

    @property
    def is_narrowed(self) -> bool:
        """Whether not all rows will do."""
        return (self.status, self.reason, self.search) != (None, None, None)


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows, in the order in which they lie in the dataset, and how many there were to choose from."""

    rows: Sequence[dict[str, Any]]
    matching: int


def sample_rows(opened: Opened, wanted: Wanted) -> Sample:
    """The rows that are wanted.

    Raises:
        InputError: The rows have no status or reason to be chosen by.
    """
    import numpy as np

    found = [np.empty(0, dtype=np.int64)]
    first = 0
    for table in opened.chunks():
        found.append(first + np.flatnonzero(_matches(opened, table, wanted)))
        first += table.num_rows
    places = np.concatenate(found)
    return Sample(_take(opened, places[_spread(len(places), wanted)]), len(places))


def _spread(total: int, wanted: Wanted) -> list[int]:
    number = min(wanted.rows, total)
    if wanted.seed is not None:
        return sorted(Random(wanted.seed).sample(range(total), number))
    return [index * total // number for index in range(number)]


def _matches(opened: Opened, table: Any, wanted: Wanted) -> "NDArray[np.bool_]":  # noqa: ANN401 - a pyarrow table
    import numpy as np
    import pyarrow.compute as pc

    names = table.schema.names
    matching = np.ones(table.num_rows, dtype=np.bool_)
    for flag, column, value in (("--status", "status", wanted.status), ("--reason", "reason", wanted.reason)):
        if value is None:
            continue
        if column not in names:
            raise InputError(f"{flag} {value}: {opened.path} has no column {column!r}, only {', '.join(names)}")
        cells = table.column(column)
        equal = column == "status" or wanted.exact
        matching &= _flags(pc.equal(cells, value) if equal else pc.match_substring(cells, value, ignore_case=True))
    if wanted.search is not None:
        searched = [table.column(name) for name in SEARCHED if name in names]
        hits = [_flags(pc.match_substring(column, wanted.search, ignore_case=True)) for column in searched]
        matching &= np.logical_or.reduce(hits)
    return matching


def _flags(column: Any) -> "NDArray[np.bool_]":  # noqa: ANN401 - a pyarrow column of booleans
    import numpy as np
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(column, False), dtype=np.bool_)


def _take(opened: Opened, places: "NDArray[np.int64]") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    if not len(places):
        return rows
    first = 0
    for table in opened.chunks():
        inside = places[(places >= first) & (places < first + table.num_rows)] - first
        rows += table.take(inside).to_pylist()
        first += table.num_rows
    return rows
