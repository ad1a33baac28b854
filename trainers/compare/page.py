"""A comparison as tables for the screen, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from trainers.compare.papers import OTHER_TEXT, Column
from trainers.compare.remarks import shortly
from trainers.compare.side_by_side import ALL, Block, Row
from trainers.compare.significance import Scored, Tested

MARK = "*"


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


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that is known of one suite."""

    suite: str
    blocks: tuple[Block, ...]
    intervals: tuple[Scored, ...] = field(default=())
    tests: tuple[Tested, ...] = field(default=())


def tables(comparison: Comparison) -> list[Table]:
    """Return a comparison's tables: rows side by side, then intervals and tests where they were asked for."""
    made = [_block(block) for block in comparison.blocks]
    if comparison.intervals:
        made.append(_intervals(comparison))
    if comparison.tests:
        made.append(_tests(comparison))
    return made


def markdown(comparisons: Sequence[Comparison], command: str, remarks: Sequence[str] = ()) -> str:
    """Return a page with all tables; `command` is how it was made, `remarks` are of more than one of them."""
    lines = ["# Comparison", "", f"`{command}`", "", *(f"- {remark}" for remark in remarks), *([""] if remarks else [])]
    for comparison in comparisons:
        for made in tables(comparison):
            marks = ("--:" if name in made.right else "---" for name in made.columns)
            lines += [f"## {made.title}", "", _line(made.columns), "|" + "|".join(marks) + "|"]
            notes = [*made.legend, *made.notes]
            lines += [*map(_line, made.rows), "", *(f"- {note}" for note in notes), *([""] if notes else [])]
    return "\n".join(lines).rstrip() + "\n"


def payload(comparisons: Sequence[Comparison], remarks: Sequence[str] = ()) -> dict[str, Any]:
    """Return everything as JSON values; figures unrounded as far as they are ours."""
    return {
        "suites": [
            {
                "suite": comparison.suite,
                "tables": [_payload(block) for block in comparison.blocks],
                "intervals": [asdict(each) for each in comparison.intervals],
                "tests": [asdict(each) for each in comparison.tests],
            }
            for comparison in comparisons
        ],
        "notes": list(remarks),
    }


def _payload(block: Block) -> dict[str, Any]:
    return {
        "title": block.title,
        "columns": {column.key: head for column, head in block.heads.items()},
        "rows": [
            {
                "model": row.model,
                "path": row.path,
                "source": row.source,
                "ours": row.ours,
                "aggregation": row.aggregation,
                "figures": {column.key: cell.value for column, cell in row.cells.items()},
                "deviations": {
                    column.key: cell.deviation for column, cell in row.cells.items() if cell.deviation is not None
                },
                "fewer_seeds": {column.key: count for column, count in row.fewer.items()},
            }
            for row in block.rows
        ],
        "notes": list(block.notes),
    }


def _block(block: Block) -> Table:
    heads = _distinct(block.heads)
    names = ("model", *(("joined",) if block.aggregated else ()), *heads.values(), "source")
    rows = [
        (
            row.model,
            *((row.aggregation or "",) if block.aggregated else ()),
            *(_cell(row, column) for column in heads),
            row.source,
        )
        for row in block.rows
    ]
    return Table(block.title, names, tuple(rows), tuple(heads.values()), block.notes)


def _distinct(heads: Mapping[Column, str]) -> dict[Column, str]:
    """Give columns with the same printed head the set's name too."""
    several = {head for head in heads.values() if list(heads.values()).count(head) > 1}
    return {column: f"{head} ({column.key})" if head in several else head for column, head in heads.items()}


def _cell(row: Row, column: Column) -> str:
    if column not in row.cells:
        return ""
    return f"{row.cells[column]}{MARK if column in row.marked else ''}"


def _intervals(comparison: Comparison) -> Table:
    columns = ("run", "set", "items", "score", "low", "high")
    rows = [
        (each.run, each.name, str(each.items), *_figures(each.interval.value, each.interval.low, each.interval.high))
        for each in comparison.intervals
    ]
    drawn = max(each.interval.resamples for each in comparison.intervals)
    legend = [f"intervals: 95%, percentiles of {drawn:,} bootstrap samples of the items"]
    legend += _together(comparison, any(each.sets > 1 for each in comparison.intervals))
    title = f"{comparison.suite}: intervals, {_measured(comparison.intervals)}"
    return Table(title, columns, tuple(rows), columns[2:], legend=tuple(legend))


def _tests(comparison: Comparison) -> Table:
    figures = (
        "items",
        "first score",
        "second score",
        "difference",
        "low",
        "high",
        "p boot",
        "p rand",
        "Holm boot",
        "Holm rand",
    )
    rows = [
        (
            each.first,
            each.second,
            each.name,
            str(each.items),
            *_figures(*each.scores),
            f"{each.difference.value:+.2f}",
            *_figures(each.difference.low, each.difference.high),
            *(f"{p:.4f}" for p in (each.difference.bootstrap, each.difference.randomisation)),
            *("" if p is None else f"{p:.4f}" for p in (each.holm_bootstrap, each.holm_randomisation)),
        )
        for each in comparison.tests
    ]
    legend = [
        "tests: difference is second minus first, with its 95% interval; two-sided p of the paired bootstrap and of "
        "the randomisation test; Holm: corrected for the number of sets, by itself for each pair of runs, averages "
        "not counted",
        *_together(comparison, any(each.sets > 1 for each in comparison.tests)),
    ]
    copies: dict[tuple[str, str], list[str]] = {}
    for each in comparison.tests:
        if each.copies and each.sets == 1:
            copies.setdefault((each.first, each.second), []).append(each.name)
    notes = [
        f"{shortly(sets)}: the same grades over other texts in {first} and in {second}: the copies are tested too"
        for (first, second), sets in copies.items()
    ]
    title = f"{comparison.suite}: tests, {_measured(comparison.tests)}"
    return Table(title, ("first", "second", "set", *figures), tuple(rows), figures, tuple(notes), tuple(legend))


def _measured(lines: Sequence[Scored | Tested]) -> str:
    """Return what the scores of a table are, by the figures' names."""
    measures = dict.fromkeys(each.measure for each in lines if each.sets == 1)
    return ", ".join("Spearman over all pairs of a set" if name == ALL else name for name in measures)


def _together(comparison: Comparison, averages: bool) -> list[str]:
    if not averages:
        return []
    sts = OTHER_TEXT.get(comparison.suite, comparison.suite) == "sts"
    return [
        "average: each set is drawn by itself, as if independent of the others",
        *(["average of sts: STS-B does share pairs with STS12-16"] if sts else []),
    ]


def _figures(*values: float) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in values)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
