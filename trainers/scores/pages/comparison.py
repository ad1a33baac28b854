"""Our rows and the papers' (`published/<paper>.yaml`) in one table, alike joined, each with its source and notes."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from trainers.scores.result_files import DECIMALS, Figure, StoredSet, Table, group, mean, noted
from trainers.scores.runs import Run
from trainers.scores.task import MARK

ALL = "all"
PAPERS = ("bsl", "mirror", "isbert", "simcse", "esimcse", "diffcse", "rankcse", "congen", "sct")
SPEARMAN = "spearman"  # the measure with several aggregations; any other has one figure, of its own name
AVERAGE = "average"


class Column(NamedTuple):
    """What a column of a table holds: a measure of a set, or its plain mean over several."""

    sets: tuple[str, ...]
    measure: str


class Row(NamedTuple):
    """A printed line of figures, how subsets were joined, and `origin`: where the authors took a row from."""

    model: str
    source: str
    cells: Mapping[Column, Figure]
    aggregation: str | None = None
    origin: str | None = None
    note: str | None = None


class PublishedTable(NamedTuple):
    """A printed table, `BSL Table 1` of `Zhang et al. 2020`.

    `main`: of results, not of settings or details.
    """

    source: str
    cited: str
    suite: str
    main: bool
    heads: Mapping[Column, str]
    rows: Sequence[Row]


@cache
def load_paper(name: str) -> tuple[PublishedTable, ...]:
    """Return the tables of a paper, one of `PAPERS`, in print order."""
    paper = read_published(name)
    return tuple(_read_table(paper, values) for values in paper["tables"])


def published_tables(papers: Sequence[str], suite: str, *, everything: bool = False) -> list[PublishedTable]:
    """Return the papers' tables of a suite: those of results, or also those of settings and details."""
    tables = (table for name in papers for table in load_paper(name))
    return [table for table in tables if table.suite == suite and (table.main or everything)]


@cache
def read_published(name: str) -> Any:  # noqa: ANN401 - YAML
    """Return what is typed off a paper, or, as `sizes`, how many items of each set the papers score."""
    import yaml

    return yaml.safe_load((Path(__file__).parent / "published" / f"{name}.yaml").read_text(encoding="utf-8"))


def _read_table(paper: Mapping[str, Any], values: Mapping[str, Any]) -> PublishedTable:
    """Read columns `set`, `set/measure` and `average`, which is over `average_of` or the table's other sets."""
    names = [key.partition("/")[::2] for key in values["columns"]]
    averaged = tuple(values.get("average_of") or dict.fromkeys(name for name, _ in names if name != AVERAGE))
    columns = [
        Column(averaged if name == AVERAGE else (name,), part or values["measure"]) for name, part in names
    ]
    heads = dict(zip(columns, values["columns"].values(), strict=True))
    source, marks = f"{paper['title']} {values['printed']}", paper.get("marks", {})
    rows = []
    # A line in brackets is a heading.
    for line in (line for line in values["rows"].splitlines() if not line.startswith("[")):
        marked, *printed = (part.strip() for part in line.split("|"))
        model = marked.rstrip(" ".join(marks))
        pairs = zip(heads, printed, strict=True)
        cells = {column: _read_figure(text) for column, text in pairs if text != "-"}
        fields = {
            "aggregation": values.get("aggregation"),
            "note": values.get("notes", {}).get(model, values.get("note")),
            **marks.get(marked[-1], {}),
        }
        rows.append(Row(model, source, cells, **fields))
    return PublishedTable(source, paper["cited"], values["suite"], values.get("main", False), heads, rows)


def _read_figure(printed: str) -> Figure:
    value, _, deviation = (part.strip() for part in printed.partition("±"))
    digits = len(value.partition(".")[2])
    return Figure(float(value), digits, float(deviation) if deviation else None)


def compare_suite(suite: str, runs: Sequence[Run], tables: Sequence[PublishedTable] = ()) -> list[Table]:
    """Put a suite's results beside the papers' rows, in a second table those of our sets that no paper prints."""
    heads: dict[Column, str] = {}
    for table in tables:
        heads |= {column: head for column, head in table.heads.items() if column not in heads}
    title = f"{suite}, sets without a printed row" if tables else suite
    printed = _table(suite, suite, heads, runs, tables)
    own = _table(suite, title, _unprinted_columns(suite, runs, tables), runs, ())
    return [table for table in (printed, own) if table.rows]


def _unprinted_columns(suite: str, runs: Sequence[Run], tables: Sequence[PublishedTable]) -> dict[Column, str]:
    """The columns of the sets that no paper prints, and without papers the average of the counted ones."""
    printed = {column.sets for table in tables for column in table.heads}
    sets = {name: item for run in runs for stored in run.of(suite) for name, item in stored.sets.items()}
    columns: dict[Column, str] = {}
    counted = []
    for name, item in sets.items():
        if (name,) not in printed:
            metric = next(iter(item.figures), ALL)
            column = Column((name,), SPEARMAN if metric == ALL else metric)
            columns[column] = item.title if metric == ALL else f"{item.title} {metric}".strip()
            counted += [column] if item.counted else []
    measures = {column.measure for column in counted}
    if not tables and len(counted) > 1 and len(measures) == 1:
        columns[Column(tuple(column.sets[0] for column in counted), *measures)] = f"avg. of {len(counted)}"
    return columns


def _table(
    suite: str, title: str, heads: Mapping[Column, str], runs: Sequence[Run], tables: Sequence[PublishedTable]
) -> Table:
    printed = _merge_rows(tables)
    aggregations = list(dict.fromkeys(row.aggregation for row in printed)) or [ALL]
    own = [row for run in runs for row in _own_rows(run, suite, list(heads), aggregations)]
    # Only if rows differ in how subsets were joined, or some are not joined as `all`.
    joined = any(row.aggregation not in (None, ALL) for row in (*own, *printed))
    rows = []
    for row in (*own, *printed):
        cells = (str(row.cells.get(column, "")) for column in heads)
        rows.append((row.model, *([row.aggregation or ""] if joined else []), *cells, row.source))
    notes = list(_paper_notes(tables))
    if len(aggregations) > 1:
        ways = ", ".join(name for name in aggregations if name)
        notes.append(f"subsets are joined in different ways ({ways}): compare rows that are joined alike")
    stored = [(run.title, evaluation.sets) for run in runs for evaluation in run.of(suite)]
    names = dict.fromkeys(name for column in heads for name in column.sets)
    items = [(run, name, sets[name]) for name in names for run, sets in stored if name in sets]
    notes += _set_notes(items)
    columns = ("model", *(["joined"] if joined else []), *heads.values(), "source")
    return Table(title, columns, tuple(rows), tuple(heads.values()), tuple(notes))


def _own_rows(
    run: Run, suite: str, columns: Sequence[Column], aggregations: Sequence[str | None]
) -> Iterator[Row]:
    seeds = run.of(suite)
    of_seeds = f"{len(seeds)} of {run.seeds} seeds" if len(seeds) < run.seeds else f"{run.seeds} seeds"
    date = max((stored.date for stored in seeds), default="")[:10]
    source = ", ".join(part for part in ("ours", date, of_seeds if run.seeds > 1 else "") if part)
    items = [pair for stored in seeds for pair in stored.sets.items()]
    marked_sets = {
        name for name, item in items if _is_resized(name, item) or (item.note or "").startswith(MARK)
    }
    for aggregation in aggregations:
        cells: dict[Column, Figure] = {}
        for column in columns:
            metric = (aggregation or ALL) if column.measure == SPEARMAN else column.measure
            digits = DECIMALS.get(suite, 2)
            figure = mean([_value(stored.sets, column.sets, metric) for stored in seeds], digits)
            if figure is not None:
                mark = "" if marked_sets.isdisjoint(column.sets) else MARK.strip()
                cells[column] = figure._replace(mark=mark)
        if cells:
            yield Row(run.title, source, cells, aggregation)


def _value(sets: Mapping[str, StoredSet], names: Sequence[str], metric: str) -> float | None:
    """Return a set's figure, or the plain mean over sets; None unless all are there in the papers' sizes."""
    items = {name: sets[name] for name in names if name in sets}
    values = [value for item in items.values() if (value := item.figures.get(metric)) is not None]
    if len(values) < len(names) or (
        len(items) > 1 and any(_is_resized(name, item) for name, item in items.items())
    ):
        return None
    return statistics.fmean(values)


def _is_resized(name: str, item: StoredSet) -> bool:
    return bool(item.size != read_published("sizes").get(name, item.size))


def _merge_rows(tables: Sequence[PublishedTable]) -> list[Row]:
    """Return the printed rows; those with the same figures (one figure: also the same name) in several tables once."""
    groups: dict[object, list[tuple[PublishedTable, Row]]] = {}
    for table in tables:
        for row in table.rows:
            figures = frozenset((column, cell.value) for column, cell in row.cells.items())
            key = (figures, row.aggregation, row.model if len(figures) < 2 else None)
            groups.setdefault(key, []).append((table, row))
    rows = []
    for entries in groups.values():
        source = ", ".join(dict.fromkeys(table.source for table, _ in entries))
        # If a paper prints a row as its own, the others took it from there.
        if all(row.origin for _, row in entries):
            names = {table.cited for table, _ in entries}
            origin = next((row.origin for _, row in entries if row.origin not in names), None)
            source += f" (from {origin})" if origin else ""
        rows.append(entries[0][1]._replace(source=source))
    return rows


def _paper_notes(tables: Sequence[PublishedTable]) -> Iterator[str]:
    """Yield the notes on printed rows, each once, after all its rows or the whole table."""
    places = []
    for table in tables:
        for note, models in group((row.note, row.model) for row in table.rows if row.note).items():
            is_of_table = all(row.note == note for row in table.rows)
            places.append((note, table.source if is_of_table else f"{table.source}, {', '.join(models)}"))
    for note, sources in group(places).items():
        yield f"{'; '.join(sources)}: {note}"


def _set_notes(items: Sequence[tuple[str, str, StoredSet]]) -> Iterator[str]:
    """Yield notes on our sets: other sizes, protocols or copies, and leakage.

    `items` has run, name and results.
    """
    for title, size, name in dict.fromkeys((item.title, item.size, name) for _, name, item in items):
        if size != (printed := read_published("sizes").get(name, size)):
            yield f"{MARK}ours, {title}: {size:,} items, the papers score {printed:,}: another test"
    every = {item.title for _, _, item in items}
    yield from noted(((item.title, item.note) for _, _, item in items if item.note), len(every), "ours, ")
    copies = group((item.title, item.sha256) for _, _, item in items)
    titles = [title for title, digests in copies.items() if len(digests) > 1]
    if titles:
        yield f"{', '.join(titles)}: figures of different copies, by their checksums"
    leaks = [(run, item.title, item.seen_in_training) for run, _, item in items if item.seen_in_training]
    counts = (
        (run, f"{title} {leak['texts']:,} of {leak['of']:,}") for run, title, leak in leaks if leak["texts"]
    )
    for line, runs in group((", ".join(places), run) for run, places in group(counts).items()).items():
        yield f"{', '.join(runs)}: trained on texts of these sets: {line}"
