"""Our rows and the papers' in one table: the same columns, the same aggregation, each with its source."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trainers.compare.papers import SPEARMAN, Cell, Column, PublishedRow, PublishedTable, published_sizes
from trainers.compare.runs import Contender, Evaluation, SetFigures, all_sets
from trainers.evaluation.discovery import decimals

ALL = "all"
SAME = 2
"""Two printed rows of so many figures, all equal, are one row printed twice; of fewer, if their names are equal too."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a comparison. `aggregation` is None where the measure has none; `marked` are cells with a remark."""

    model: str
    source: str
    cells: Mapping[Column, Cell]
    aggregation: str | None = None
    ours: bool = False
    marked: frozenset[Column] = frozenset()


@dataclass(frozen=True, slots=True)
class Block:
    """One table: a suite's columns that some paper prints together, or those that none prints."""

    suite: str
    title: str
    heads: Mapping[Column, str]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def aggregated(self) -> bool:
        """Whether rows differ in how subsets were joined, or some are joined otherwise than `all`."""
        return any(row.aggregation not in (None, ALL) for row in self.rows)


def compare_suite(suite: str, contenders: Sequence[Contender], tables: Sequence[PublishedTable]) -> list[Block]:
    """Put a suite's results beside the papers' rows.

    Args:
        suite: Its name.
        contenders: Ours; those without this suite give no row.
        tables: The papers' tables of this suite.

    Returns:
        A block for every group of tables with columns in common, and one for sets of ours that none of them has.
        Where papers join subsets in different ways, our rows stand there under each of them.
    """
    present = [contender for contender in contenders if contender.of(suite)]
    groups = _connected(tables)
    blocks = [_block(suite, group, len(groups) > 1, present) for group in groups]
    printed = {name for table in tables for column in table.heads for name in column.sets if not column.averaged}
    rest = _unprinted(suite, present, printed, average=not tables)
    return [block for block in [*blocks, *rest] if block.rows]


def _connected(tables: Sequence[PublishedTable]) -> list[list[PublishedTable]]:
    """Put tables with a column in common, directly or through others, into one group."""
    groups: list[list[PublishedTable]] = []
    for table in tables:
        touching = [group for group in groups if any(set(other.heads) & set(table.heads) for other in group)]
        joined = [other for group in touching for other in group] + [table]
        groups = [group for group in groups if group not in touching]
        groups.append(joined)
    order = {id(table): number for number, table in enumerate(tables)}
    return sorted(groups, key=lambda group: order[id(group[0])])


def _block(suite: str, tables: Sequence[PublishedTable], several: bool, contenders: Sequence[Contender]) -> Block:
    heads: dict[Column, str] = {}
    for table in tables:
        for column, head in table.heads.items():
            heads.setdefault(column, head)
    theirs = _merged(tables)
    ways = list(dict.fromkeys(row.aggregation for row in theirs))
    ours = [row for contender in contenders for row in _ours(contender, suite, heads, ways)]
    title = f"{suite}, {tables[0].rows[0].group}" if several else suite
    # Once each: the seeds of a setting mostly have the same to say.
    notes = dict.fromkeys(_notes(suite, tables, contenders, heads, ways))
    return Block(suite, title, heads, (*ours, *theirs), tuple(notes))


def _unprinted(suite: str, contenders: Sequence[Contender], printed: set[str], *, average: bool) -> list[Block]:
    """Return the block of the sets that no paper prints, with the average of the counted ones if that is wanted."""
    evaluations = [each for contender in contenders for each in contender.of(suite)]
    others = {name: figures for name, figures in all_sets(evaluations) if name not in printed and figures.figures}
    columns = {Column((name,), _measure(figures)): figures.title for name, figures in others.items()}
    counted = [column for column in columns if others[column.sets[0]].counted]
    if average and len(counted) > 1 and len({column.measure for column in counted}) == 1:
        together = Column(tuple(column.sets[0] for column in counted), counted[0].measure)
        columns[together] = f"avg. of {len(counted)}"
    rows = [row for contender in contenders for row in _ours(contender, suite, columns, [ALL])]
    title = suite if average else f"{suite}, sets without a printed row"
    return [Block(suite, title, columns, tuple(rows), ())] if columns else []


def _measure(figures: SetFigures) -> str:
    first = next(iter(figures.figures))
    return SPEARMAN if first == ALL else first


def _ours(contender: Contender, suite: str, columns: Iterable[Column], ways: Sequence[str | None]) -> Iterable[Row]:
    evaluations = contender.of(suite)
    columns, digits = list(columns), decimals(suite)
    date = max(evaluation.date for evaluation in evaluations)
    for way in ways:
        found = {column: _summary([_value(each, column, way) for each in evaluations], digits) for column in columns}
        cells = {column: cell for column, cell in found.items() if cell is not None}
        marked = {
            column
            for column in cells
            if not column.averaged and any(_another_test(each, column.sets[0]) for each in evaluations)
        }
        if cells:
            seeds = f", {len(evaluations)} seeds" if len(contender.runs) > 1 else ""
            yield Row(contender.title, f"ours, {date}{seeds}", cells, way, True, frozenset(marked))


def _value(evaluation: Evaluation, column: Column, way: str | None) -> float | None:
    """Return a set's figure, or the plain mean over sets; None unless all are there, as papers have them."""
    figure = (way or ALL) if column.measure == SPEARMAN else column.measure
    found = [evaluation.sets.get(name) for name in column.sets]
    values = [None if item is None else item.figures.get(figure) for item in found]
    if column.averaged and any(_another_test(evaluation, name) for name in column.sets):
        return None
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None


def _another_test(evaluation: Evaluation, name: str) -> bool:
    """Whether a copy of a set has more or fewer items than the papers score."""
    return name in evaluation.sets and evaluation.sets[name].size != published_sizes().get(
        name, evaluation.sets[name].size
    )


def _summary(values: Sequence[float | None], digits: int) -> Cell | None:
    """Mean and standard deviation (n - 1) over the runs that have the figure."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    deviation = statistics.stdev(known) if len(known) > 1 else None
    return Cell(statistics.fmean(known), digits, deviation)


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
        source += f" (from {first.origin})"
    return Row(first.model, source, first.cells, first.aggregation)


def _notes(
    suite: str,
    tables: Sequence[PublishedTable],
    contenders: Sequence[Contender],
    columns: Iterable[Column],
    ways: Sequence[str | None],
) -> Iterable[str]:
    for table in tables:
        for row in table.rows:
            if row.note:
                yield f"{table.source}, {row.model}: {row.note}"
    if len(ways) > 1:
        names = ", ".join(way for way in ways if way)
        yield f"subsets are joined in different ways ({names}): compare rows that are joined alike"
    averaged = [column for column in columns if column.averaged]
    for contender in contenders:
        for evaluation in contender.of(suite):
            yield from _about(evaluation, contender, columns, averaged)


def _about(
    evaluation: Evaluation, contender: Contender, columns: Iterable[Column], averaged: Sequence[Column]
) -> Iterable[str]:
    names = dict.fromkeys(name for column in columns for name in column.sets)
    for name in names:
        if _another_test(evaluation, name):
            item, size = evaluation.sets[name], published_sizes()[name]
            yield f"* {contender.title}, {item.title}: {item.size:,} items, the papers score {size:,}: another test"
    seen = [(evaluation.sets[name].title, evaluation.sets[name].seen) for name in names if name in evaluation.sets]
    leaked = [f"{title} {count[0]:,} of {count[1]:,}" for title, count in seen if count is not None and count[0]]
    if leaked:
        yield f"{contender.title}: texts of these sets stand in its training data: {', '.join(leaked)}"
    for column in averaged:
        missing = [name for name in column.sets if name not in evaluation.sets]
        if missing and len(missing) < len(column.sets):
            yield f"{contender.title}: no average without {', '.join(missing)}"
