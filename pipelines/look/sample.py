"""Rows to look at: spread evenly over a dataset or drawn at random, of all rows or of those that are asked for."""

from collections.abc import Callable, Iterator, Sequence
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


class Drawing:
    """Rows that are counted while all chunks go by, and some of which are fetched afterwards by their place among them.

    Args:
        choose: Which rows of a chunk count.
    """

    def __init__(self, choose: "Callable[[Any], NDArray[np.bool_]]") -> None:
        self._choose = choose
        self._counts: list[int] = []

    def count(self, table: Any) -> None:  # noqa: ANN401 - a pyarrow table
        """Count the rows of the next chunk."""
        self._counts.append(int(self._choose(table).sum()))

    @property
    def total(self) -> int:
        """Rows that were counted."""
        return sum(self._counts)

    def fetch(self, opened: Opened, places: Sequence[int]) -> Iterator[Any]:
        """The rows at these places, ascending, as tables."""
        import numpy as np

        starts = np.cumsum([0, *self._counts])
        wanted = np.array(places, dtype=np.int64)
        numbers = np.searchsorted(starts, wanted, side="right") - 1
        for number, table in opened.some_chunks(set(numbers.tolist())):
            yield table.take(np.flatnonzero(self._choose(table))[wanted[numbers == number] - starts[number]])


class Sampling:
    """A sample of the rows that are wanted, from chunks that go by."""

    def __init__(self, opened: Opened, wanted: Wanted) -> None:
        self._opened = opened
        self._wanted = wanted
        self._drawing = Drawing(lambda table: _matches(opened, table, wanted))
        self.count = self._drawing.count

    def sample(self) -> Sample:
        """The rows, when all chunks went by."""
        total = self._drawing.total
        tables = self._drawing.fetch(self._opened, _spread(total, self._wanted))
        return Sample([row for table in tables for row in table.to_pylist()], total)


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
