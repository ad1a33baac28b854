"""Our rows and the papers' in one table: the same columns, the same aggregation, each with its source and remarks."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from trainers.evaluation.discovery import decimals
from trainers.evaluation.signature import signature
from trainers.evaluation.table import Table, mean
from trainers.evaluation.task import MARK
from trainers.results.papers import SPEARMAN, Column, PublishedRow, PublishedTable, published_sizes
from trainers.results.records import Record, Run, group

ALL = "all"

DECIMALS = {"loss": 4, "spread": 3}
"""Of figures that are no suite's."""


class Row(NamedTuple):
    """A line of a comparison: what is printed in each column, and how subsets were joined if the measure has that."""

    model: str
    source: str
    cells: Mapping[Column, str]
    aggregation: str | None = None
    signature: str | None = None


def compare_suite(
    suite: str, runs: Sequence[Run], tables: Sequence[PublishedTable] = (), *, signed: bool = False
) -> list[Table]:
    """Put a suite's results beside the rows of the papers' tables; `signed` adds the signatures of ours below.

    The first table has the columns that the papers print, the second the sets of ours that none of them has. Where
    papers join subsets in different ways, our rows stand there under each of them.
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
    printed = {name for table in tables for column in table.heads for name in column.sets if len(column.sets) == 1}
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
    notes = list(_of_papers(tables))
    if len(aggregations) > 1:
        named = ", ".join(name for name in aggregations if name)
        notes.append(f"subsets are joined in different ways ({named}): compare rows that are joined alike")
    notes += [*_of_sets(found), *_of_training(found)]
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
    marked = {record.set for record in records if _another_size(record) or (record.of.note or "").startswith(MARK)}
    for aggregation in aggregations:
        cells = {}
        for column in columns:
            values = [_value(figures, column, aggregation) for figures in seeds.values()]
            figure = mean(values, DECIMALS.get(column.measure, decimals(suite)))
            if figure is not None:
                cells[column] = f"{figure}{'' if marked.isdisjoint(column.sets) else MARK.strip()}"
        if cells:
            sets = dict.fromkeys(name for column in cells for name in column.sets)
            metrics = dict.fromkeys(_metric(column, aggregation) for column in cells)
            yield Row(run.title, source, cells, aggregation, signature(list(files.values()), list(sets), list(metrics)))


def _metric(column: Column, aggregation: str | None) -> str:
    """Return the name that a column's figure has in our results."""
    return (aggregation or ALL) if column.measure == SPEARMAN else column.measure


def _value(figures: Mapping[tuple[str, str], Record], column: Column, aggregation: str | None) -> float | None:
    """Return a set's figure, or the plain mean over sets; None unless all are there, as papers have them."""
    found = [figures.get((name, _metric(column, aggregation))) for name in column.sets]
    values = [record.value for record in found if record is not None and record.value is not None]
    if len(values) < len(found) or (len(found) > 1 and any(_another_size(record) for record in found if record)):
        return None
    return statistics.fmean(values)


def _merged(tables: Sequence[PublishedTable]) -> list[Row]:
    """Return the printed rows; one that stands in several tables with the same figures comes once.

    Of rows with a single figure the names must be equal too.
    """
    found: dict[object, list[tuple[PublishedTable, PublishedRow]]] = {}
    for table in tables:
        for row in table.rows:
            figures = frozenset((column, cell.value) for column, cell in row.cells.items())
            found.setdefault((figures, row.aggregation, row.model if len(figures) < 2 else None), []).append(
                (table, row)
            )
    rows = []
    for alike in found.values():
        first = alike[0][1]
        source = ", ".join(dict.fromkeys(table.source for table, _ in alike))
        # Where one of the papers prints it as its own, the others took it from there.
        if all(row.origin for _, row in alike):
            # The others may have taken it from the earliest of them, which then says where it is from.
            names = {table.cited for table, _ in alike}
            by_year = sorted(alike, key=lambda each: each[0].cited[-4:])
            origin = next((row.origin for _, row in by_year if row.origin not in names), None)
            source += f" (from {origin})" if origin else ""
        cells = {column: str(cell) for column, cell in first.cells.items()}
        rows.append(Row(first.model, source, cells, first.aggregation))
    return rows


def _another_size(record: Record) -> bool:
    """Whether a copy of a set has more or fewer items than the papers score."""
    return record.of.size != published_sizes().get(record.set, record.of.size)


def _of_papers(tables: Sequence[PublishedTable]) -> Iterable[str]:
    """Yield the notes on printed rows; the same on several rows stands once, behind all of them or the whole table."""
    noted = []
    for table in tables:
        for note, models in group((row.note, row.model) for row in table.rows if row.note).items():
            whole = all(row.note == note for row in table.rows)
            noted.append((note, table.source if whole else f"{table.source}, {', '.join(models)}"))
    for note, places in group(noted).items():
        yield f"{'; '.join(places)}: {note}"


def _of_sets(found: Sequence[tuple[str, Record]]) -> Iterable[str]:
    """Yield where our copies or protocols differ from the papers', or from each other; `found` has the runs' titles."""
    sizes = published_sizes()
    for title, size, printed in dict.fromkeys(
        (r.of.title, r.of.size, sizes[r.set]) for _, r in found if _another_size(r)
    ):
        yield f"{MARK}ours, {title}: {size:,} items, the papers score {printed:,}: another test"
    every = {r.of.title for _, r in found}
    for note, titles in group((r.of.note, r.of.title) for _, r in found if r.of.note).items():
        where = "every set" if len(titles) == len(every) > 1 else ", ".join(titles)
        yield f"{MARK if note.startswith(MARK) else ''}ours, {where}: {note.removeprefix(MARK)}"
    copies = group((r.of.title, r.of.sha256) for _, r in found)
    differing = [title for title, digests in copies.items() if len(digests) > 1]
    if differing:
        yield f"{', '.join(differing)}: figures of different copies, by their checksums"


def _of_training(found: Sequence[tuple[str, Record]]) -> Iterable[str]:
    """Yield how much of the sets stands in the training data of which runs."""
    leaks = [(run, r.of.title, r.of.seen_in_training) for run, r in found if r.of.seen_in_training]
    seen = group((run, f"{title} {leak['texts']:,} of {leak['of']:,}") for run, title, leak in leaks if leak["texts"])
    for line, runs in group((", ".join(places), run) for run, places in seen.items()).items():
        yield f"{', '.join(runs)}: texts of these sets stand in its training data: {line}"
