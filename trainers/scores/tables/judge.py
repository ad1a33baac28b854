"""A user's own table as a suite, told apart by its columns: texts with labels, a search, or pairs of texts."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import xxhash

from pipelines.base.console import InputError, note_once
from pipelines.base.tables.columns import Roles
from pipelines.base.tables.reader import IN_MEMORY, TableSource
from trainers.data.tables import FIRST, GRADED, LABELLED, SCORES, SECOND, WholeTable, left_out, read_table
from trainers.scores.tables.labels import read_labels
from trainers.scores.tables.pair_tables import read_pairs_table
from trainers.scores.tables.search import read_search
from trainers.scores.tables.table_items import TableItems
from trainers.scores.task import PREFIX, Suite, Task

KINDS: Mapping[str, Roles] = {
    "grade": GRADED,
    "same": {"first": FIRST, "second": SECOND, "same": ("same", "duplicate", "is_duplicate")},
    "document": {"query": ("query", "question"), "document": ("document", "passage", "answer")},
    "label": LABELLED,
}
"""A table is of the first kind that has all of these columns."""
GROUPED: Roles = {"group": ("group", "group_id")}
OPTIONAL: Mapping[str, Roles] = {
    "grade": GROUPED,
    "same": GROUPED,
    "document": {**GROUPED, "relevance": ("relevance", *SCORES)},
    "label": GROUPED,
    "library": {"title": ("title",)},
}
"""What it may have beside them, by kind."""
SECOND_TEXTS = {*FIRST, *SECOND, "text_pair", "query", "question"}
EXPECTED = "text and label; query and document; text1, text2 and grade; or text1, text2 and same"
READ = """a text is called text or sentence; a label label, category, class or intent; a query query or question; a \
document document, passage or answer; a grade grade, score, similarity or label: name \
yours, as in --columns text=body,label=topic"""
IDS = ("id", "_id", "document_id", "doc_id")
LIBRARY: Mapping[str, Roles] = {"library": {"text": ("document", "text", "passage"), "id": IDS}}
QUERIES: Mapping[str, Roles] = {"queries": {"text": ("text", "query", "question"), "id": IDS}}
JUDGEMENTS: Mapping[str, Roles] = {
    "document": {
        "query": ("query-id", "query_id"),
        "document": ("corpus-id", "corpus_id", "document_id"),
    }
}
QRELS = "qrels"
ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


def read_judge(table: TableSource, shots: int | None = None, own: Mapping[str, str] | None = None) -> Suite:
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
    if paths:
        _refuse_options(name, "document", ("query", "document"), library, shots)
        items, columns = _read_beir(paths, omitted)
    else:
        whole = _read(table, KINDS, f"{EXPECTED} ({READ})", own)
        columns = [*whole.columns.values()]
        _refuse_options(name, whole.kind, columns, library, shots)
        if whole.kind == "document":
            documents = _read(library, LIBRARY, "id and document", own) if library else None
            items = read_search(whole.rows, documents.rows if documents else None, omitted)
        elif whole.kind == "label":
            items = read_labels(whole.rows, shots, omitted)
        else:
            items = read_pairs_table(whole, omitted)
        # Items that belong together otherwise are others, so that no scores of both are compared.
        items.lines.append("\n".join(row.get("group", "") for row in whole.rows).rstrip())
    summary = "; ".join(filter(None, [items.summary, left_out(omitted)]))
    if not items.scores:
        raise InputError(f"{name}: {summary}: nothing to tell apart")
    note_once(f"{name}: taken for {summary} (columns {', '.join(columns)})")
    return _suite(source, _stem(name, library, shots), items)


def _suite(source: str, stem: str, items: TableItems) -> Suite:
    tasks = [
        Task(
            name=re.sub(r"\W+", "-", title),
            title=title,
            source=source,
            size=items.size,
            texts=items.texts,
            sides=items.sides,
            lines=items.lines,
            counted=False,
            score=score,
        )
        for title, score in items.scores.items()
    ]
    return Suite(PREFIX + stem, items.metrics, 0, tuple(tasks))


def _stem(name: str, library: str, shots: int | None) -> str:
    """What names a suite; no two tables have one name: those not plainly named here get a hash of the place.

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


def _read(
    table: TableSource, kinds: Mapping[str, Roles], expected: str, own: Mapping[str, str] | None = None
) -> WholeTable:
    """Read a table of one of the kinds; raises InputError for another, and for two texts a row and a label."""
    whole = read_table(table, kinds, own, OPTIONAL)
    if not whole.kind:
        raise _unknown(whole.name, whole.names, expected)
    names = {name.strip().lower() for name in whole.names if name not in whole.columns.values()}
    others = SECOND_TEXTS & names
    if whole.kind == "label" and others:
        text, label = whole.columns["text"], whole.columns["label"]
        problem = f"{whole.name} has two texts a row and a label: {text}, {', '.join(sorted(others))}, {label}"
        raise InputError(f"{problem}: give text1, text2 and same or grade, or leave one of the texts out")
    return whole


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


def _read_beir(paths: Sequence[str], omitted: Counter[str]) -> tuple[TableItems, Sequence[str]]:
    """Read a search in BEIR's layout; a query's own id is no document of its ranking."""
    judgements, queries, corpus = paths
    judged = _read(judgements, JUDGEMENTS, "query-id, corpus-id and score")
    asked = _read(queries, QUERIES, "_id and text")
    documents = _read(corpus, LIBRARY, "_id and text")
    texts = {row["id"]: row["text"] for row in asked.rows}
    rows = [{**row, "query": texts.get(row["query"], ""), "query_id": row["query"]} for row in judged.rows]
    return read_search(rows, documents.rows, omitted), [*judged.columns.values()]


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
