"""A table on the screen and in Markdown, and a figure as it stands there: a value, or mean and deviation over seeds."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipelines import console
from trainers.evaluation.task import MARK


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
    """Return mean and standard deviation (n - 1; None of one value); None where a value is unknown."""
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
        return [_line(self.columns), f"|{marks}|", *map(_line, self.rows)]


def noted(remarks: Iterable[tuple[str, str]], every: int, before: str = "") -> Iterator[str]:
    """Yield remarks once, each behind the titles it is on, or `every set`; `remarks` are titles and what is said."""
    found: dict[str, dict[str, None]] = {}
    for title, remark in remarks:
        found.setdefault(remark, {})[title] = None
    for remark, titles in found.items():
        named = "every set" if len(titles) == every > 1 else ", ".join(titles)
        yield f"{MARK if remark.startswith(MARK) else ''}{before}{named}: {remark.removeprefix(MARK)}"


def show(tables: Iterable[Table]) -> None:
    """Print the tables to stdout, and their notes to stderr, each once."""
    said: set[str] = set()
    for number, table in enumerate(tables):
        console.show(("\n" if number else "") + table.title)
        console.table(table.columns, table.rows, right=table.right)
        for line in table.notes:
            if line not in said:
                console.note(line)
        said.update(table.notes)


def markdown(title: str, about: Sequence[str], tables: Iterable[Table]) -> str:
    """Return a page: its title, the lines `about` it, and the tables, each with its notes."""
    lines = [f"# {title}", "", *about, *([""] if about else [])]
    for table in tables:
        notes = [f"- {line}" for line in table.notes]
        lines += [f"## {table.title}", "", *table.markdown(), "", *notes, *([""] if notes else [])]
    return "\n".join(lines).rstrip() + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
