"""Our rows and the papers' in one table: the same columns, the same aggregation, each with its source."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainers.evaluation.discovery import decimals
from trainers.evaluation.signature import signature
from trainers.results.papers import SPEARMAN, Column, PublishedRow, PublishedTable
from trainers.results.records import Record, Run
from trainers.results.remarks import another_size, another_task, of_papers, of_sets, of_training
from trainers.results.table import Table, mean

ALL = "all"
MARK = "*"
SAME = 2
"""Two printed rows of so many figures, all equal, are one row printed twice; of fewer, if their names are equal too."""

DECIMALS = {"loss": 4, "spread": 3}
"""Of figures that are no suite's."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a comparison: what is printed in each column, and how subsets were joined if the measure has that.

    `signature`: of our figures, see `trainers.evaluation.signature`.
    """

    model: str
    source: str
    cells: Mapping[Column, str]
    aggregation: str | None = None
    signature: str | None = None


def compare_suite(
    suite: str, runs: Sequence[Run], tables: Sequence[PublishedTable] = (), *, signed: bool = False
) -> list[Table]:
    """Put a suite's results beside the papers' rows.

    Args:
        suite: Its name.
        runs: Ours; those without this suite give no row.
        tables: The papers' tables of this suite.
        signed: Put the signatures of our rows below each table.

    Returns:
        A table of the columns that the papers print, and one of the sets of ours that none of them has. Where papers
        join subsets in different ways, our rows stand there under each of them.
    """
    present = [run for run in runs if run.of(suite)]
    heads: dict[Column, str] = {}
    for table in tables:
        heads = {**heads, **table.heads, **heads}
    printed = _table(suite, suite, heads, present, tables, signed=signed)
    others = f"{suite}, sets without a printed row" if tables else suite
    own = _table(suite, others, _unprinted(suite, present, tables), present, (), signed=signed)
    return [table for table in (printed, own) if table.rows]


def _unprinted(suite: str, runs: Sequence[Run], tables: Sequence[PublishedTable]) -> dict[Column, str]:
    """Return the columns of the sets that no paper prints, and without papers the average of the counted ones."""
    printed = {name for table in tables for column in table.heads for name in column.sets if not column.averaged}
    first: dict[str, Record] = {}
    for record in (record for run in runs for record in run.of(suite) if record.set not in printed):
        first.setdefault(record.set, record)
    columns = {}
    for name, record in first.items():
        measure = SPEARMAN if record.metric == ALL else record.metric
        head = record.of.title if measure == SPEARMAN else f"{record.of.title} {measure}".strip()
        columns[Column((name,), measure)] = head
    counted = [column for column in columns if first[column.sets[0]].of.counted]
    if not tables and len(counted) > 1 and len({column.measure for column in counted}) == 1:
        together = Column(tuple(column.sets[0] for column in counted), counted[0].measure)
        columns[together] = f"avg. of {len(counted)}"
    return columns


def _table(
    suite: str, title: str, heads: Mapping[Column, str], runs: Sequence[Run], tables: Sequence[PublishedTable], *,
    signed: bool,
) -> Table:  # fmt: skip
    theirs = _merged(tables)
    aggregations = list(dict.fromkeys(row.aggregation for row in theirs)) or [ALL]
    ours = [row for run in runs for row in _ours(run, suite, list(heads), aggregations)]
    # Only where rows differ in how subsets were joined, or some are joined otherwise than `all`.
    joined = any(row.aggregation not in (None, ALL) for row in (*ours, *theirs))
    rows = []
    for row in (*ours, *theirs):
        shown = (row.cells.get(column, "") for column in heads)
        rows.append((row.model, *([row.aggregation or ""] if joined else []), *shown, row.source))
    columns = ("model", *(["joined"] if joined else []), *heads.values(), "source")
    sets = dict.fromkeys(name for column in heads for name in column.sets)
    found = [(run.title, record) for name in sets for run in runs for record in run.of(suite) if record.set == name]
    notes = list(of_papers(tables))
    if len(aggregations) > 1:
        ways = ", ".join(way for way in aggregations if way)
        notes.append(f"subsets are joined in different ways ({ways}): compare rows that are joined alike")
    notes += [*of_sets(found), *of_training(found)]
    notes += [f"{row.model}: {row.signature}" for row in ours if signed]
    return Table(title, columns, tuple(rows), tuple(heads.values()), tuple(notes))


def _ours(run: Run, suite: str, columns: Sequence[Column], aggregations: Sequence[str | None]) -> Iterable[Row]:
    """Yield a run's row under each aggregation that gives it any figure."""
    records = run.of(suite)
    seeds: dict[str, dict[tuple[str, str], Record]] = {}
    for record in records:
        seeds.setdefault(record.seed, {})[record.set, record.metric] = record
    of_seeds = f"{len(seeds)} of {run.seeds} seeds" if len(seeds) < run.seeds else f"{run.seeds} seeds"
    date = max(record.stored.date for record in records)[:10]
    source = ", ".join(part for part in ("ours", date, of_seeds if run.seeds > 1 else "") if part)
    files = {record.file: record.stored.model_dump() for record in records}
    for aggregation in aggregations:
        cells = {}
        for column in columns:
            values = [_value(figures, column, aggregation) for figures in seeds.values()]
            figure = mean(values, DECIMALS.get(column.measure, decimals(suite)))
            if figure is not None:
                cells[column] = f"{figure}{MARK if any(_differs(r, column) for r in records) else ''}"
        sets = dict.fromkeys(name for column in cells for name in column.sets)
        metrics = dict.fromkeys(_metric(column, aggregation) for column in cells)
        if cells:
            signed = signature(list(files.values()), list(sets), list(metrics))
            yield Row(run.title, source, cells, aggregation, signed)


def _differs(record: Record, column: Column) -> bool:
    """Whether a figure is of another task, or of another number of items, than the papers'."""
    return record.set in column.sets and (another_task(record) or another_size(record))


def _metric(column: Column, aggregation: str | None) -> str:
    """Return the name that a column's figure has in our results."""
    return (aggregation or ALL) if column.measure == SPEARMAN else column.measure


def _value(figures: Mapping[tuple[str, str], Record], column: Column, aggregation: str | None) -> float | None:
    """Return a set's figure, or the plain mean over sets; None unless all are there, as papers have them."""
    found = [figures.get((name, _metric(column, aggregation))) for name in column.sets]
    values = [record.value for record in found if record is not None and record.value is not None]
    if len(values) < len(found) or (column.averaged and any(another_size(record) for record in found if record)):
        return None
    return statistics.fmean(values)


def _merged(tables: Sequence[PublishedTable]) -> list[Row]:
    """Return the printed rows; one that stands in several tables with the same figures comes once."""
    found: dict[object, list[tuple[PublishedTable, PublishedRow]]] = {}
    for table in tables:
        for row in table.rows:
            figures = frozenset((column, cell.value) for column, cell in row.cells.items())
            single = row.model if len(figures) < SAME else None
            found.setdefault((figures, row.aggregation, single), []).append((table, row))
    return [_printed(alike) for alike in found.values()]


def _printed(alike: Sequence[tuple[PublishedTable, PublishedRow]]) -> Row:
    first = alike[0][1]
    source = ", ".join(dict.fromkeys(table.source for table, _ in alike))
    # Where one of the papers prints it as its own, the others took it from there.
    if all(row.origin for _, row in alike):
        # The others may have taken it from the earliest of them, which then says where it is from.
        names = {table.cited for table, _ in alike}
        by_year = sorted(alike, key=lambda each: each[0].cited[-4:])
        origins = [row.origin for _, row in by_year if row.origin not in names]
        source += f" (from {origins[0]})" if origins else ""
    return Row(first.model, source, {column: str(cell) for column, cell in first.cells.items()}, first.aggregation)
