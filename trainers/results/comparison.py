"""Our rows and the papers' in one table: the same columns, the same aggregation, each with its source and notes."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from trainers.evaluation.record import signature
from trainers.evaluation.table import DECIMALS, Table, mean, noted
from trainers.evaluation.task import MARK
from trainers.results.papers import SPEARMAN, Column, PublishedRow, PublishedTable, published_sizes
from trainers.results.records import Run, StoredSet

ALL = "all"
OF_TRAINING = {"loss": 4, "spread": 3}  # decimals of figures that a training logs

Key = TypeVar("Key")
Value = TypeVar("Value")


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

    The first table has the columns that the papers print, the second those of our sets that no paper prints. If papers
    join subsets in different ways, our rows are repeated for each.
    """
    heads: dict[Column, str] = {}
    for column, head in (each for table in tables for each in table.heads.items()):
        heads.setdefault(column, head)
    others = f"{suite}, sets without a printed row" if tables else suite
    printed = _table(suite, suite, heads, runs, tables, signed)
    own = _table(suite, others, _unprinted(suite, runs, tables), runs, (), signed)
    return [table for table in (printed, own) if table.rows]


def _unprinted(suite: str, runs: Sequence[Run], tables: Sequence[PublishedTable]) -> dict[Column, str]:
    """Return the columns of the sets that no paper prints, and without papers the average of the counted ones."""
    printed = {name for table in tables for column in table.heads for name in column.sets if len(column.sets) == 1}
    columns: dict[Column, str] = {}
    counted: dict[Column, None] = {}
    for name, item in (pair for run in runs for each in run.of(suite) for pair in each.stored.sets.items()):
        if name not in printed:
            printed.add(name)
            metric = next(iter(item.figures), ALL)
            column = Column((name,), SPEARMAN if metric == ALL else metric)
            columns[column] = item.title if metric == ALL else f"{item.title} {metric}".strip()
            counted |= {column: None} if item.counted else {}
    measures = {column.measure for column in counted}
    if not tables and len(counted) > 1 and len(measures) == 1:
        columns[Column(tuple(column.sets[0] for column in counted), *measures)] = f"avg. of {len(counted)}"
    return columns


def _table(
    suite: str, title: str, heads: Mapping[Column, str], runs: Sequence[Run], tables: Sequence[PublishedTable],
    signed: bool,
) -> Table:  # fmt: skip
    theirs = _merged(tables)
    aggregations = list(dict.fromkeys(row.aggregation for row in theirs)) or [ALL]
    ours = [row for run in runs for row in _ours(run, suite, list(heads), aggregations)]
    # Only if rows differ in how subsets were joined, or some are not joined as `all`.
    joined = any(row.aggregation not in (None, ALL) for row in (*ours, *theirs))
    rows = []
    for row in (*ours, *theirs):
        shown = (row.cells.get(column, "") for column in heads)
        rows.append((row.model, *([row.aggregation or ""] if joined else []), *shown, row.source))
    columns = ("model", *(["joined"] if joined else []), *heads.values(), "source")
    notes = list(_of_papers(tables))
    if len(aggregations) > 1:
        named = ", ".join(name for name in aggregations if name)
        notes.append(f"subsets are joined in different ways ({named}): compare rows that are joined alike")
    found = [
        (run.title, name, each.stored.sets[name])
        for name in dict.fromkeys(name for column in heads for name in column.sets)
        for run in runs
        for each in run.of(suite)
        if name in each.stored.sets
    ]
    notes += [*_of_sets(found), *(f"{row.model}: {row.signature}" for row in ours if signed)]
    return Table(title, columns, tuple(rows), tuple(heads.values()), tuple(notes))


def _ours(run: Run, suite: str, columns: Sequence[Column], aggregations: Sequence[str | None]) -> Iterator[Row]:
    """Yield a run's row under each aggregation that gives it any figure."""
    seeds = [each.stored for each in run.of(suite)]
    of_seeds = f"{len(seeds)} of {run.seeds} seeds" if len(seeds) < run.seeds else f"{run.seeds} seeds"
    date = max((stored.date for stored in seeds), default="")[:10]
    source = ", ".join(part for part in ("ours", date, of_seeds if run.seeds > 1 else "") if part)
    items = [pair for stored in seeds for pair in stored.sets.items()]
    marked = {name for name, item in items if _another_size(name, item) or (item.note or "").startswith(MARK)}
    for aggregation in aggregations:
        cells: dict[Column, str] = {}
        metrics: dict[str, None] = {}
        for column in columns:
            metric = (aggregation or ALL) if column.measure == SPEARMAN else column.measure
            digits = OF_TRAINING.get(column.measure, DECIMALS.get(suite, 2))
            figure = mean([_value(stored.sets, column.sets, metric) for stored in seeds], digits)
            if figure is not None:
                cells[column] = f"{figure}{'' if marked.isdisjoint(column.sets) else MARK.strip()}"
                metrics[metric] = None
        if cells:
            sets = dict.fromkeys(name for column in cells for name in column.sets)
            signed = signature([stored.model_dump() for stored in seeds], list(sets), list(metrics))
            yield Row(run.title, source, cells, aggregation, signed)


def _value(sets: Mapping[str, StoredSet], names: Sequence[str], metric: str) -> float | None:
    """Return a set's figure, or the plain mean over sets; None unless all are there in the papers' sizes."""
    found = {name: sets[name] for name in names if name in sets}
    values = [value for item in found.values() if (value := item.figures.get(metric)) is not None]
    another = len(found) > 1 and any(_another_size(name, item) for name, item in found.items())
    return None if another or len(values) < len(names) else statistics.fmean(values)


def _another_size(name: str, item: StoredSet) -> bool:
    """Whether a copy of a set has more or fewer items than the papers score."""
    return item.size != published_sizes().get(name, item.size)


def _merged(tables: Sequence[PublishedTable]) -> list[Row]:
    """Return the printed rows; those with the same figures (one figure: also the same name) in several tables once."""
    found: dict[object, list[tuple[PublishedTable, PublishedRow]]] = {}
    for pair in ((table, row) for table in tables for row in table.rows):
        row = pair[1]
        figures = frozenset((column, cell.value) for column, cell in row.cells.items())
        found.setdefault((figures, row.aggregation, row.model if len(figures) < 2 else None), []).append(pair)
    rows = []
    for alike in found.values():
        first = alike[0][1]
        source = ", ".join(dict.fromkeys(table.source for table, _ in alike))
        # If a paper prints a row as its own, the others took it from there.
        if all(row.origin for _, row in alike):
            # The others may have taken it from the earliest of them, whose origin then counts.
            names = {table.cited for table, _ in alike}
            by_year = sorted(alike, key=lambda each: each[0].cited[-4:])
            origin = next((row.origin for _, row in by_year if row.origin not in names), None)
            source += f" (from {origin})" if origin else ""
        cells = {column: str(cell) for column, cell in first.cells.items()}
        rows.append(Row(first.model, source, cells, first.aggregation))
    return rows


def _of_papers(tables: Sequence[PublishedTable]) -> Iterator[str]:
    """Yield the notes on printed rows, each once, after all its rows or the whole table."""
    places = []
    for table in tables:
        for note, models in _group((row.note, row.model) for row in table.rows if row.note).items():
            whole = all(row.note == note for row in table.rows)
            places.append((note, table.source if whole else f"{table.source}, {', '.join(models)}"))
    for note, named in _group(places).items():
        yield f"{'; '.join(named)}: {note}"


def _of_sets(found: Sequence[tuple[str, str, StoredSet]]) -> Iterator[str]:
    """Yield notes on our sets: other sizes, protocols or copies, and leakage; `found` has run, name and results."""
    sizes = published_sizes()
    another = [(item.title, item.size, sizes[name]) for _, name, item in found if _another_size(name, item)]
    for title, size, printed in dict.fromkeys(another):
        yield f"{MARK}ours, {title}: {size:,} items, the papers score {printed:,}: another test"
    every = {item.title for _, _, item in found}
    yield from noted(((item.title, item.note) for _, _, item in found if item.note), len(every), "ours, ")
    copies = _group((item.title, item.sha256) for _, _, item in found)
    differing = [title for title, digests in copies.items() if len(digests) > 1]
    if differing:
        yield f"{', '.join(differing)}: figures of different copies, by their checksums"
    leaks = [(run, item.title, item.seen_in_training) for run, _, item in found if item.seen_in_training]
    seen = _group((run, f"{title} {leak['texts']:,} of {leak['of']:,}") for run, title, leak in leaks if leak["texts"])
    for line, runs in _group((", ".join(places), run) for run, places in seen.items()).items():
        yield f"{', '.join(runs)}: trained on texts of these sets: {line}"


def _group(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the distinct values of each key, keys and values in order of first appearance."""
    found: dict[Key, dict[Value, None]] = {}
    for key, value in pairs:
        found.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in found.items()}
