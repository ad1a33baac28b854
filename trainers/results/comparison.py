"""Our rows and the papers' in one table: the same columns, the same aggregation, each with its source."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainers.evaluation.discovery import decimals
from trainers.evaluation.signature import signature
from trainers.results.papers import SPEARMAN, Column, PublishedRow, PublishedTable
from trainers.results.records import Record, Run, group
from trainers.results.remarks import another_size, another_task, remarks
from trainers.results.table import Figure, Table, mean

ALL = "all"
MARK = "*"
SAME = 2
"""Two printed rows of so many figures, all equal, are one row printed twice; of fewer, if their names are equal too."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a comparison. `aggregation` is None where the measure has none; `marked` are cells with a remark.

    `fewer`: the cells that are of fewer seeds than were evaluated, because the others have no such figure.
    `path`: where ours lies, whole; `signature`: of our figures, see `trainers.evaluation.signature`.
    """

    model: str
    source: str
    cells: Mapping[Column, Figure]
    aggregation: str | None = None
    marked: frozenset[Column] = frozenset()
    fewer: Mapping[Column, int] = field(default_factory=dict)
    path: str | None = None
    signature: str | None = None

    def json(self) -> dict[str, Any]:
        """Return the row as JSON values; figures unrounded as far as they are ours."""
        return {
            "model": self.model,
            "path": self.path,
            "source": self.source,
            "ours": self.path is not None,
            "aggregation": self.aggregation,
            "figures": {column.key: cell.value for column, cell in self.cells.items()},
            "deviations": {
                column.key: cell.deviation for column, cell in self.cells.items() if cell.deviation is not None
            },
            "fewer_seeds": {column.key: count for column, count in self.fewer.items()},
            "signature": self.signature,
        }


@dataclass(frozen=True, slots=True)
class Block:
    """One table: a suite's columns that some paper prints together, or those that none prints."""

    title: str
    heads: Mapping[Column, str]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def table(self, *, signed: bool) -> Table:
        """Return it as text; columns with the same printed head have the set's name too.

        Args:
            signed: Put the signatures of our rows below it.
        """
        printed = list(self.heads.values())
        heads = tuple(f"{h} ({c.key})" if printed.count(h) > 1 else h for c, h in self.heads.items())
        # Only where rows differ in how subsets were joined, or some are joined otherwise than `all`.
        joined = any(row.aggregation not in (None, ALL) for row in self.rows)
        rows = []
        for row in self.rows:
            shown = [f"{row.cells[c]}{MARK * (c in row.marked)}" if c in row.cells else "" for c in self.heads]
            rows.append((row.model, *([row.aggregation or ""] if joined else []), *shown, row.source))
        columns = ("model", *(["joined"] if joined else []), *heads, "source")
        signatures = [f"{row.model}: {row.signature}" for row in self.rows if signed and row.signature]
        return Table(self.title, columns, tuple(rows), heads, (*self.notes, *signatures))

    def json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        columns = {column.key: head for column, head in self.heads.items()}
        rows = [row.json() for row in self.rows]
        return {"title": self.title, "columns": columns, "rows": rows, "notes": list(self.notes)}


def compare_suite(suite: str, runs: Sequence[Run], tables: Sequence[PublishedTable]) -> list[Block]:
    """Put a suite's results beside the papers' rows.

    Args:
        suite: Its name.
        runs: Ours; those without this suite give no row.
        tables: The papers' tables of this suite.

    Returns:
        A block for every group of tables with columns in common, and one for sets of ours that none of them has.
        Where papers join subsets in different ways, our rows stand there under each of them.
    """
    groups = _connected(tables)
    blocks = []
    for each in groups:
        heads: dict[Column, str] = {}
        for table in each:
            heads |= {column: head for column, head in table.heads.items() if column not in heads}
        title = f"{suite}, {each[0].rows[0].group}" if len(groups) > 1 else suite
        blocks.append(_block(suite, title, heads, runs, each))
    others = _unprinted(suite, runs, tables)
    if others:
        blocks.append(_block(suite, f"{suite}, sets without a printed row" if tables else suite, others, runs, ()))
    return [block for block in blocks if block.rows]


def _connected(tables: Sequence[PublishedTable]) -> list[list[PublishedTable]]:
    """Put tables with a column in common, directly or through others, into one group."""
    groups: list[list[PublishedTable]] = []
    for table in tables:
        touching = [each for each in groups if any(set(other.heads) & set(table.heads) for other in each)]
        groups = [each for each in groups if each not in touching]
        groups.append([*(other for each in touching for other in each), table])
    return sorted(groups, key=lambda each: tables.index(each[0]))


def _unprinted(suite: str, runs: Sequence[Run], tables: Sequence[PublishedTable]) -> dict[Column, str]:
    """Return the columns of the sets that no paper prints, and without papers the average of the counted ones."""
    printed = {name for table in tables for column in table.heads for name in column.sets if not column.averaged}
    first: dict[str, Record] = {}
    for run in runs:
        for record in run.of(suite):
            if record.set not in printed:
                first.setdefault(record.set, record)
    columns = {}
    for name, record in first.items():
        measure = SPEARMAN if record.metric == ALL else record.metric
        columns[Column((name,), measure)] = record.of.title if measure == SPEARMAN else f"{record.of.title} {measure}"
    counted = [column for column in columns if first[column.sets[0]].of.counted]
    if not tables and len(counted) > 1 and len({column.measure for column in counted}) == 1:
        together = Column(tuple(column.sets[0] for column in counted), counted[0].measure)
        columns[together] = f"avg. of {len(counted)}"
    return columns


def _block(
    suite: str, title: str, heads: Mapping[Column, str], runs: Sequence[Run], tables: Sequence[PublishedTable]
) -> Block:
    theirs = _merged(tables)
    aggregations = list(dict.fromkeys(row.aggregation for row in theirs)) or [ALL]
    ours = [row for run in runs if run.of(suite) for row in _ours(run, suite, list(heads), aggregations)]
    said = [*remarks(suite, tables, runs, list(heads), aggregations)]
    shown = {row.model for row in ours}
    empty = [run.title for run in runs if run.of(suite) and run.title not in shown]
    if empty:
        said.append(f"{', '.join(empty)}: no figure of this table")
    seeds = {run.title: run.seeds for run in runs}
    for row in ours:
        for count, columns in group((count, heads[column]) for column, count in row.fewer.items()).items():
            said.append(f"* {row.model}, {', '.join(columns)}: {count} of {seeds[row.model]} seeds have this figure")
    # Once each: the seeds of a setting, and a row under each aggregation, mostly have the same to say.
    return Block(title, heads, (*ours, *theirs), tuple(dict.fromkeys(said)))


def _ours(run: Run, suite: str, columns: Sequence[Column], aggregations: Sequence[str | None]) -> Iterable[Row]:
    """Yield a run's row under each aggregation that gives it any figure."""
    records = run.of(suite)
    by_seed = {seed: {(r.set, r.metric): r for r in each} for seed, each in group((r.seed, r) for r in records).items()}
    other_task = {r.set for r in records if another_task(r)}
    other_size = {r.set for r in records if another_size(r)}
    for aggregation in aggregations:
        found = {c: [_value(each, c, aggregation) for each in by_seed.values()] for c in columns}
        means = {column: mean(values, decimals(suite)) for column, values in found.items()}
        cells = {column: cell for column, cell in means.items() if cell is not None}
        if not cells:
            continue
        fewer = {column: cell.count for column, cell in cells.items() if cell.count < len(by_seed)}
        marked = {c for c in cells if other_task & set(c.sets) or (not c.averaged and c.sets[0] in other_size)}
        most = max(cell.count for cell in cells.values())
        of_seeds = f", {most} of {run.seeds} seeds" if most < run.seeds else f", {run.seeds} seeds"
        source = f"ours, {max(r.stored.date for r in records)[:10]}{of_seeds if run.seeds > 1 else ''}"
        yield Row(
            run.title, source, cells, aggregation, frozenset(marked | set(fewer)), fewer, str(run.path),
            _signature(records, cells, aggregation),
        )  # fmt: skip


def _signature(records: Sequence[Record], cells: Iterable[Column], aggregation: str | None) -> str:
    evaluations = list({record.file: record.values for record in records}.values())
    sets = dict.fromkeys(name for column in cells for name in column.sets)
    metrics = dict.fromkeys(_metric(column, aggregation) for column in cells)
    return signature(evaluations, list(sets), list(metrics))


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
        origins = [row.origin for _, row in sorted(alike, key=lambda each: each[0].year) if row.origin not in names]
        source += f" (from {origins[0]})" if origins else ""
    return Row(first.model, source, first.cells, first.aggregation)
