"""A user's own table as a suite, told apart by its columns: texts with labels, a search, or pairs of texts."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import xxhash

from pipelines.base.console import InputError, note_once
from pipelines.sentences.sources import TableSource, table_cells
from trainers.data.reading import (
    FIRST,
    LABEL,
    SCORES,
    SECOND,
    TEXT,
    Columns,
    Spellings,
    kind_of,
    spellings,
    spelt_as,
)
from trainers.scores.tables.labels import read_labels
from trainers.scores.tables.pair_tables import read_pairs_table
from trainers.scores.tables.search import read_search
from trainers.scores.tables.table_items import TableItems, TableRow
from trainers.scores.task import PREFIX, Suite, Task

IN_MEMORY = "the table"
KINDS: Columns = {
    "grade": (FIRST, SECOND, SCORES),
    "same": (FIRST, SECOND, ("same", "duplicate", "is_duplicate")),
    "document": (("query", "question"), ("document", "passage", "answer")),
    "label": (TEXT, LABEL),
}
"""What the columns may be called, by kind, which is the name of the last; a table is of the first that has
them all."""
GROUP = ("group", "group_id")
RELEVANCE = ("relevance", *SCORES)
SECOND_TEXTS = {*FIRST, *SECOND, "text_pair", "query", "question"}
EXPECTED = "text and label; query and document; text1, text2 and grade; or text1, text2 and same"
READ = """a text is called text or sentence; a label label, category, class or intent; a query query or question; a \
document document, passage or answer; a grade grade, score, similarity or label: name \
yours, as in --columns text=body,label=topic"""
IDS = ("id", "_id", "document_id", "doc_id")
LIBRARY: Columns = {"id": (("document", "text", "passage"), IDS)}  # a second table, of documents
QUERIES: Columns = {"id": (("text", "query", "question"), IDS)}
JUDGEMENTS: Columns = {"document": (("query-id", "query_id"), ("corpus-id", "corpus_id", "document_id"))}

QRELS = "qrels"
ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


class Cells(NamedTuple):
    """A table that was read: its sha256, its kind, how it spells the columns that count, and its rows."""

    sha256: str
    kind: str
    columns: Sequence[str]
    rows: Sequence[TableRow]


def read_judge(table: TableSource, shots: int | None = None, own: Spellings | None = None) -> Suite:
    """Read a table as a suite: a file (after a comma one of documents), BEIR's folder, `hf:NAME`, "-", or columns.

    `shots`: classifiers learn from this many texts a label. `own`: the columns that are called otherwise, by
    what they hold. Raises InputError: other columns, or nothing to tell apart.
    """
    if shots is not None and shots < 1:
        raise InputError(f"shots is {shots}: give 1 or more texts a label, or leave it out")
    table = str(table) if isinstance(table, Path) else table
    source = name = table if isinstance(table, str) else IN_MEMORY
    library, paths = "", list[str]()
    if isinstance(table, str):
        if not Path(table).exists():
            name, _, library = table.partition(",")
        table, paths = name, _beir_files(name)
    omitted = Counter[str]()
    columns: Sequence[str]
    if paths:
        _refuse_options(name, "document", ("query", "document"), library, shots)
        items, files, columns = _read_beir(paths, omitted)
    else:
        cells = _read(table, KINDS, f"{EXPECTED} ({READ})", own)
        _refuse_options(name, cells.kind, cells.columns, library, shots)
        files, columns = {name: cells.sha256}, cells.columns
        if cells.kind == "document":
            documents = _read(library, LIBRARY, "id and document", own) if library else None
            files |= {library: documents.sha256} if documents else {}
            items = read_search(cells.rows, documents.rows if documents else None, omitted)
        elif cells.kind == "label":
            items = read_labels(cells.rows, shots, omitted)
        else:
            items = read_pairs_table(name, columns, cells.rows, omitted, is_same=cells.kind == "same")
        # Items that belong together otherwise are others, so that no scores of both are compared.
        items.lines.append("\n".join(row.group for row in cells.rows).rstrip())
    reasons = ", ".join(f"{reason} ({count:,})" for reason, count in omitted.items() if count)
    summary = items.summary + (f"; left out: {reasons}" if reasons else "")
    if not items.scores:
        raise InputError(f"{name}: {summary}: nothing to tell apart")
    note_once(f"{name}: taken for {summary} (columns {', '.join(columns)})")
    return _suite(source, _stem(name, library, shots), summary, items, files)


def _suite(source: str, stem: str, summary: str, items: TableItems, files: Mapping[str, str]) -> Suite:
    tasks = [
        Task(
            name=re.sub(r"\W+", "-", title),
            title=title,
            source=source,
            size=items.size,
            texts=items.texts,
            sides=items.sides,
            lines=items.lines,
            files=files,
            counted=False,
            score=score,
        )
        for title, score in items.scores.items()
    ]
    return Suite(PREFIX + stem, f"{source}: {summary}", items.metrics, 0, tuple(tasks))


def _stem(name: str, library: str, shots: int | None) -> str:
    """Return what names a suite; no two tables have one name: those not plainly named here get a hash of the place.

    The name of the folder that it is in comes first, so that a reader can tell two files of one name apart.
    """
    path = os.path.relpath(name)
    stem = re.sub(r"[^\w-]+", "-", "-".join(Path(path).parts[-2:]).removesuffix(".csv")).strip("-") or "stdin"
    place = path + library
    if place != f"{stem}.csv":
        stem += f"-{xxhash.xxh64_hexdigest(place.encode('utf-8', 'surrogatepass'))[:6]}"
    return stem + (f"-{shots}-shots" if shots else "")


def _refuse_options(name: str, kind: str, columns: Sequence[str], library: str, shots: int | None) -> None:
    for option, value, needed in ((library, library, "document"), (f"--shots {shots}", shots, "label")):
        if value and kind != needed:
            raise InputError(
                f"{option}: {name} has no column {needed}, but {', '.join(columns)}: leave it out"
            )


def _read(table: TableSource, kinds: Columns, expected: str, own: Spellings | None = None) -> Cells:
    """Read the columns of a table's kind, and of those that it may have beside them; raises InputError for others."""
    kind, columns = "", list[str]()
    name = table if isinstance(table, str) else IN_MEMORY

    def choose(names: Sequence[str]) -> Sequence[str]:
        nonlocal kind, columns
        spelt = spellings(names, own or {})
        kind, columns = kind_of(spelt, kinds)
        if not kind:
            raise _unknown(name, names, expected)
        others = SECOND_TEXTS & spelt.keys() - {column.strip().lower() for column in columns}
        if kind == "label" and others:
            problem = f"{name} has two texts a row and a label: {columns[0]}, {', '.join(sorted(others))}, {columns[1]}"
            raise InputError(f"{problem}: give text1, text2 and same or grade, or leave one of the texts out")
        group = spelt_as(spelt, GROUP)
        extra = spelt_as(spelt, RELEVANCE if kind == "document" else ("title",) if kinds is LIBRARY else ())
        columns = [column for column in (*columns[:-1], group, extra, columns[-1]) if column]
        second = columns[1] if kind in ("grade", "same") else ""
        return columns[0], columns[-1], second, group, extra

    digest, rows = table_cells(table, choose)
    return Cells(digest, kind, columns, [TableRow(*row) for row in rows])


def _unknown(name: str, names: Sequence[str], expected: str) -> InputError:
    """Return the error for a table without columns that are read, or for what is no table."""
    is_text = Path(name.removesuffix(".gz").removesuffix(".zst")).suffix.lower() in (".txt", ".text", ".md")
    if is_text:
        return InputError(
            f"{name} is text, not a table ({', '.join(names)[:60]!r}): expected columns {expected}"
        )
    if "_id" in names:
        expected += "; of BEIR's layout give the folder with corpus.jsonl, queries.jsonl and qrels/"
    return InputError(f"{name} has the columns {', '.join(names)[:200]}: expected {expected}")


def _read_beir(
    paths: Sequence[str], omitted: Counter[str]
) -> tuple[TableItems, dict[str, str], Sequence[str]]:
    """Read a search in BEIR's layout; a query's own id is no document of its ranking."""
    kinds = (JUDGEMENTS, QUERIES, LIBRARY)
    expected = ("query-id, corpus-id and score", *["_id and text"] * 2)
    judged, asked, documents = (_read(*of) for of in zip(paths, kinds, expected, strict=True))
    texts = {row.value: row.text for row in asked.rows}
    rows = [row._replace(text=texts.get(row.text, ""), second=row.text) for row in judged.rows]
    sums = [cells.sha256 for cells in (judged, asked, documents)]
    return read_search(rows, documents.rows, omitted), dict(zip(paths, sums, strict=True)), judged.columns


def _beir_files(name: str) -> list[str]:
    """Return judgements, queries and corpus of a folder, its test split, or those around a file of judgements; else [].

    Raises InputError for a folder, or such a file, that lacks one of them.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        folder, judgements = path, _split(path)
    elif path.is_file() and path.parent.name == QRELS:
        folder, judgements = path.parent.parent, path
    else:
        return []
    files = [judgements]
    for table in ("queries", "corpus"):
        present = [file for ending in ENDINGS if (file := folder / (table + ending)).is_file()]
        if not present:
            raise InputError(f"{folder} has {QRELS} but no {table}.jsonl: get its files again")
        files.append(present[0])
    return list(map(str, files))


def _split(folder: Path) -> Path:
    """Return the only split, or that for testing."""
    splits = sorted((folder / QRELS).glob("*.tsv"))
    named = [path for path in splits if path.stem == "test" or len(splits) == 1]
    if named:
        return named[0]
    if splits:
        raise InputError(f"{folder} has no {QRELS}/test.tsv: give one of its splits, such as {splits[0]}")
    layout = f"no {QRELS}/test.tsv beside queries.jsonl and corpus.jsonl, as in BEIR"
    raise InputError(f"{folder} is a folder with {layout}: give a file, or QUERIES,DOCUMENTS")
