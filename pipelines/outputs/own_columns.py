"""A view beside the columns of the user's own tables, in the order of their rows."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from augment.errors import InputError
from augment.view import normalise, row_id
from pipelines.base.files import resolve_path
from pipelines.base.tables.sources import Source, check_source
from pipelines.base.tables.table import Row
from pipelines.options import IngestOptions
from pipelines.sentences.rows import chosen_columns, opened_table
from pipelines.storage.dataset import Dataset, read_plan
from pipelines.storage.shards import Shard, commit_shards, shard_name

ADDED = ("view", "status")


def with_own_columns(dataset: Dataset, spool: Path) -> Dataset:
    """A view as the rows of the tables that its sentences were ingested from: their columns, then `view` and `status`.

    Rows of one text have its view each; those of no sentence have none. Columns are text. All of it is in memory,
    and then in the folder `spool`. Raises InputError if this is no view, its sentences are parts of rows, or a
    table is gone or has changed.
    """
    plan = dataset.plan
    sentences = read_plan(resolve_path(plan.inputs[0].name)) if plan.kind == "view" else None
    if sentences is None:
        raise InputError(f"--carry: {dataset.path} is no view of sentences that are there: leave it out")
    params = sentences.params
    if params.get("split"):
        raise InputError(
            "--carry: its sentences are parts of the tables' rows (--split): ingest these without it"
        )
    options = IngestOptions(sources=[], column=params["column"], label_column=params["label_column"])
    rows, views = list[Row](), _views(dataset)
    for item in sentences.inputs:
        source = check_source(item.name, spool, params["format"])
        if source.sha256 != item.sha256:
            raise InputError(f"--carry: {item.name} has changed since it was ingested: ingest it again")
        rows += _rows_of(source, options, views)
    schema = pa.schema([(name, pa.string()) for name in dict.fromkeys(name for row in rows for name in row)])
    (record,) = commit_shards(spool, {0: pa.Table.from_pylist(rows, schema=schema)})
    shard = Shard(spool / shard_name(0), record.files[shard_name(0)].sha256, len(rows))
    return dataset._replace(shards=(shard,))


def _views(dataset: Dataset) -> dict[str, Row]:
    """The view and status of each sentence by its id."""
    rows = (row for table in dataset.tables() for row in table.select(["id", *ADDED]).to_pylist())
    return {row.pop("id"): row for row in rows}


def _rows_of(source: Source, options: IngestOptions, views: dict[str, Row]) -> Iterator[Row]:
    """The rows of a table with the view of the text of each."""
    table = opened_table(source, options)
    text = chosen_columns(table, options)["text"]
    # What is inside a column comes with it.
    names = [name for name in table.names if name.rpartition(".")[0] not in table.names]
    if taken := {*ADDED} & {*names}:
        raise InputError(f"--carry: {source.name} has a column {min(taken)!r}: rename it, and ingest it again")
    for row in table.rows({name: name for name in dict.fromkeys([text, *names])}, [text]):
        view = views.get(row_id(normalise(row[text] or "")), dict.fromkeys(ADDED))
        yield {name: row[name] for name in names} | view
