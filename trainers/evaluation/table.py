"""Tables on the screen and in Markdown, and figures in them: a value, or mean and deviation over seeds."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipelines import console
from trainers.evaluation.task import MARK

DECIMALS = {"geometry": 3}  # decimals that are printed of a suite's figures, if not 2


@dataclass(frozen=True, slots=True)
class Figure:
    """A value, or the mean over seeds with their standard deviation, and the decimals that are printed."""

    value: float
    digits: int = 2
    deviation: float | None = None

    def __str__(self) -> str:
        shown = f"{self.value:z.{self.digits}f}"
        return shown if self.deviation is None else f"{shown} +- {self.deviation:.{self.digits}f}"


def mean(values: Sequence[float | None], digits: int = 2) -> Figure | None:
    """Return mean and standard deviation (n - 1; None for one value); None if there are no values or one is unknown."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return Figure(statistics.fmean(known), digits, statistics.stdev(known) if len(known) > 1 else None)


@dataclass(frozen=True, slots=True)
class Table:
    """A title, columns and rows of text, and notes on them; the columns in `right` hold figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> list[str]:
        """Return the lines of the table itself."""
        marks = "|".join("--:" if name in self.right else "---" for name in self.columns)
        cells = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in (self.columns, *self.rows))
        head, *body = (f"| {line} |" for line in cells)
        return [head, f"|{marks}|", *body]


def noted(remarks: Iterable[tuple[str, str]], every: int, before: str = "") -> Iterator[str]:
    """Yield each remark once, after the titles it is about, or `every set`; `remarks` are pairs of title and remark."""
    found: dict[str, dict[str, None]] = {}
    for title, remark in remarks:
        found.setdefault(remark, {})[title] = None
    for remark, titles in found.items():
        named = "every set" if len(titles) == every > 1 else ", ".join(titles)
        yield f"{MARK if remark.startswith(MARK) else ''}{before}{named}: {remark.removeprefix(MARK)}"


def show(tables: Sequence[Table]) -> None:
    """Print the tables to stdout, and their notes to stderr, each once."""
    for number, table in enumerate(tables):
        console.show(("\n" if number else "") + table.title)
        console.table(table.columns, table.rows, right=table.right)
    for line in dict.fromkeys(line for table in tables for line in table.notes):
        console.note(line)


def markdown(title: str, about: Sequence[str], tables: Iterable[Table]) -> str:
    """Return a page: its title, the lines `about` it, and the tables, each with its notes."""
    lines = [f"# {title}", "", *about, *([""] if about else [])]
    for table in tables:
        notes = [f"- {line}" for line in table.notes]
        lines += [f"## {table.title}", "", *table.markdown(), "", *notes, *([""] if notes else [])]
    return "\n".join(lines).rstrip() + "\n"
