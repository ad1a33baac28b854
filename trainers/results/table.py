"""A table on the screen and in Markdown, and a figure as it stands there: a value, or mean and deviation over seeds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from pipelines import console


@dataclass(frozen=True, slots=True)
class Figure:
    """A value, or the mean of `count` values with their standard deviation, and the decimals that are printed."""

    value: float
    digits: int = 2
    deviation: float | None = None
    count: int = 1

    def __str__(self) -> str:
        shown = f"{self.value:z.{self.digits}f}"
        return shown if self.deviation is None else f"{shown} +- {self.deviation:.{self.digits}f}"


def mean(values: Iterable[float | None], digits: int = 2) -> Figure | None:
    """Return mean and standard deviation (n - 1; None of one value) of the values that are known, None without any."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Figure(statistics.fmean(known), digits, statistics.stdev(known) if len(known) > 1 else None, len(known))


@dataclass(frozen=True, slots=True)
class Table:
    """A title, columns and rows of text; the columns in `right` hold figures.

    `legend` is what all tables of the kind have to say, `notes` is of this one.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...]
    notes: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()

    def show(self) -> None:
        """Print title and rows to stdout."""
        console.show(self.title)
        console.table(self.columns, self.rows, right=self.right)

    def markdown(self) -> list[str]:
        """Return the table as a section of a page, with legend and notes."""
        marks = "|".join("--:" if name in self.right else "---" for name in self.columns)
        notes = [f"- {line}" for line in (*self.legend, *self.notes)]
        return [
            f"## {self.title}",
            "",
            _line(self.columns),
            f"|{marks}|",
            *map(_line, self.rows),
            "",
            *notes,
            *([""] if notes else []),
        ]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
