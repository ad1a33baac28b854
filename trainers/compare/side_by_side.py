"""Our rows and the papers' in one table: the same columns, the same aggregation, each with its source."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from trainers.compare.papers import SPEARMAN, Cell, Column, PublishedRow, PublishedTable
from trainers.compare.remarks import another_task, another_test, remarks
from trainers.compare.runs import Contender, Evaluation, SetFigures, all_sets
from trainers.evaluation.discovery import decimals

ALL = "all"
SAME = 2
"""Two printed rows of so many figures, all equal, are one row printed twice; of fewer, if their names are equal too."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a comparison. `aggregation` is None where the measure has none; `marked` are cells with a remark.

    `fewer`: the cells that are of fewer seeds than were evaluated, because the others have no such figure.
    `path`: where ours lies, whole.
    """

    model: str
    source: str
    cells: Mapping[Column, Cell]
    aggregation: str | None = None
    ours: bool = False
    marked: frozenset[Column] = frozenset()
    fewer: Mapping[Column, int] = field(default_factory=dict)
    path: str | None = None


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
    groups = _connected(tables)
    blocks = [_block(suite, group, len(groups) > 1, contenders) for group in groups]
    printed = {name for table in tables for column in table.heads for name in column.sets if not column.averaged}
    rest = _unprinted(suite, contenders, printed, average=not tables)
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
    notes = _notes(suite, tables, contenders, heads, ways, ours)
    return Block(suite, title, heads, (*ours, *theirs), notes)


def _unprinted(suite: str, contenders: Sequence[Contender], printed: set[str], *, average: bool) -> list[Block]:
    """Return the block of the sets that no paper prints, with the average of the counted ones if that is wanted."""
    evaluations = [each for contender in contenders for each in contender.of(suite)]
    others = {name: figures for name, figures in all_sets(evaluations) if name not in printed and figures.figures}
    columns = {Column((name,), _measure(figures)): _head(figures) for name, figures in others.items()}
    counted = [column for column in columns if others[column.sets[0]].counted]
    if average and len(counted) > 1 and len({column.measure for column in counted}) == 1:
        together = Column(tuple(column.sets[0] for column in counted), counted[0].measure)
        columns[together] = f"avg. of {len(counted)}"
    rows = [row for contender in contenders for row in _ours(contender, suite, columns, [ALL])]
    title = suite if average else f"{suite}, sets without a printed row"
    notes = _notes(suite, (), contenders, columns, [ALL], rows)
    return [Block(suite, title, columns, tuple(rows), notes)] if columns else []


def _measure(figures: SetFigures) -> str:
    first = next(iter(figures.figures))
    return SPEARMAN if first == ALL else first


def _head(figures: SetFigures) -> str:
    measure = _measure(figures)
    return figures.title if measure == SPEARMAN else f"{figures.title} {measure}"


def _ours(contender: Contender, suite: str, columns: Iterable[Column], ways: Sequence[str | None]) -> Iterable[Row]:
    evaluations = contender.of(suite)
    if not evaluations:
        return
    columns, digits = list(columns), decimals(suite)
    date = max(evaluation.date for evaluation in evaluations)
    for way in ways:
        found = {column: [_value(each, column, way) for each in evaluations] for column in columns}
        known = {column: [value for value in values if value is not None] for column, values in found.items()}
        cells = {column: _summary(values, digits) for column, values in known.items() if values}
        fewer = {column: len(known[column]) for column in cells if len(known[column]) < len(evaluations)}
        others = {
            column
            for column in cells
            if any(another_task(each, name) for each in evaluations for name in column.sets)
            or (not column.averaged and any(another_test(each, column.sets[0]) for each in evaluations))
        }
        if cells:
            most = max(len(known[column]) for column in cells)
            source = f"ours, {date}{_of_seeds(most, contender.seeds)}"
            marked = frozenset(others | set(fewer))
            yield Row(contender.title, source, cells, way, True, marked, fewer, str(contender.path))


def _of_seeds(known: int, seeds: int) -> str:
    if known < seeds:
        return f", {known} of {seeds} seeds"
    return f", {seeds} seeds" if seeds > 1 else ""


def _value(evaluation: Evaluation, column: Column, way: str | None) -> float | None:
    """Return a set's figure, or the plain mean over sets; None unless all are there, as papers have them."""
    figure = (way or ALL) if column.measure == SPEARMAN else column.measure
    found = [evaluation.sets.get(name) for name in column.sets]
    values = [None if item is None else item.figures.get(figure) for item in found]
    if column.averaged and any(another_test(evaluation, name) for name in column.sets):
        return None
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None


def _summary(values: Sequence[float], digits: int) -> Cell:
    """Mean and standard deviation (n - 1) over the runs that have the figure."""
    return Cell(statistics.fmean(values), digits, statistics.stdev(values) if len(values) > 1 else None)


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
        listed = {table.cited for table, _ in alike}
        origins = [row.origin for _, row in sorted(alike, key=lambda each: each[0].year) if row.origin not in listed]
        source += f" (from {origins[0]})" if origins else ""
    return Row(first.model, source, first.cells, first.aggregation)


def _notes(
    suite: str,
    tables: Sequence[PublishedTable],
    contenders: Sequence[Contender],
    heads: Mapping[Column, str],
    ways: Sequence[str | None],
    ours: Sequence[Row],
) -> tuple[str, ...]:
    said = [*remarks(suite, tables, contenders, list(heads), ways)]
    shown = {row.model for row in ours}
    empty = [contender.title for contender in contenders if contender.of(suite) and contender.title not in shown]
    if empty:
        said.append(f"{', '.join(empty)}: no figure of this table")
    seeds = {contender.title: contender.seeds for contender in contenders}
    for row in ours:
        for count in dict.fromkeys(row.fewer.values()):
            names = ", ".join(heads[column] for column, each in row.fewer.items() if each == count)
            said.append(f"* {row.model}, {names}: {count} of {seeds[row.model]} seeds have this figure")
    # Once each: the seeds of a setting, and a row under each aggregation, mostly have the same to say.
    return tuple(dict.fromkeys(said))
