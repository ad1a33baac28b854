"""`--pairs columns`: a sentence and its `pair`, or two columns of a table, such as title and body."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from augment.errors import InputError
from augment.view import normalise
from pipelines.pairs.candidates import TASK_ROWS, PairSource
from pipelines.pairs.couples import PAIR, Couples
from pipelines.pairs.filter import SENTENCE_B
from pipelines.pairs.nli import COLUMNS, NLI_LABELS, distinct_pairs
from pipelines.sentences.rows import Columns, listed
from pipelines.sentences.sources import Source, check_source, read_rows
from pipelines.storage.dataset import Dataset
from pipelines.storage.plan import Input, Plan

EXAMPLE = "give a CSV, TSV, JSONL or Parquet file, and e.g. --columns title,body"


def column_couples(sentences: Dataset, rows: int) -> Iterator[Couples]:
    """The first `rows` sentences with their second texts; raises InputError for sentences that have none."""
    table = sentences.read(0, min(rows, TASK_ROWS))
    if PAIR not in table.schema.names:
        raise InputError(f"{sentences.path} has no second texts: ingest with --pair-column NAME")
    if "label" in table.schema.names and set(table["label"].to_pylist()) <= NLI_LABELS:
        raise InputError(f"{sentences.path} has the labels of an NLI corpus: see --pairs entailment")
    return _couples(sentences, rows)


def _couples(sentences: Dataset, rows: int) -> Iterator[Couples]:
    for start in range(0, rows, TASK_ROWS):
        table = sentences.read(start, min(start + TASK_ROWS, rows))
        yield Couples(start + pa.array(range(len(table))).to_numpy(), table[PAIR].combine_chunks(), "no second text")


def table_pairs(names: Sequence[str], columns: str, limit: int | None, spool: Path) -> PairSource:
    """The distinct pairs of two columns, LEFT,RIGHT, of tables, out of their first `limit` rows.

    Raises InputError for no table, one that cannot be read, lacks a column, or says in a label which rows are pairs.
    """
    left, _, right = (name.strip() for name in columns.partition(","))
    if not left or not right or left == right:
        raise InputError(f"--columns {columns}: write the names of two columns, LEFT,RIGHT")
    sources = [check_source(name, spool) for name in names]
    for source in sources:
        if source.format in ("text", "markdown", "html"):
            raise InputError(f"{source.name} is no table: {EXAMPLE}")
        next(_rows([source], left, right), None)
    inputs = tuple(Input(name=source.name, sha256=source.sha256) for source in sources)
    params = {"columns": [left, right]}
    plan = Plan(kind="pairs", name="columns", params=params, limit=limit, shard_size=0, inputs=inputs)
    made_by = {name: "the column of that name" for name in (left, right)}
    batches = distinct_pairs(_rows(sources, left, right), limit, left, right)
    # The right text is no view of the left one, which filters would compare it with.
    tasks = (batch.append_column(SENTENCE_B, batch["view_b"]) for batch in batches)
    return PairSource(plan, "rows", tasks, made_by)


def _rows(sources: Sequence[Source], left: str, right: str) -> Iterator[tuple[str, str, str | None]]:
    for source in sources:
        for rows in read_rows(source, partial(_choose, source.name, left, right)):
            pairs = (normalise(pair or "") for pair in rows.pairs)
            for text, pair in zip(map(normalise, rows.texts), pairs, strict=True):
                yield text, pair, None if text and pair else f"empty {right if text else left}"


def _choose(source: str, left: str, right: str, names: Sequence[str]) -> Columns:
    missing = [name for name in (left, right) if name not in names]
    if missing:
        raise InputError(f"{source} has no column {listed(missing)}, only {listed(names)}: check --columns")
    if all(not set(names).isdisjoint(COLUMNS[role]) for role in COLUMNS):
        problem = "says in a label which of its rows are pairs"
        raise InputError(f"{source} {problem}: see --pairs entailment, or leave that column out")
    return Columns(left, "", right)
