"""A dataset of ours as Parquet, JSONL or CSV."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from augment.errors import InputError
from pipelines.files import beside, remove_temporaries, sha256_of, whole_file, write_whole
from pipelines.lock import locked_file
from pipelines.look.opened import Opened, open_path
from pipelines.reading.rows import as_text
from pipelines.recipe import is_recipe_of, recipe_text
from pipelines.shards import BATCH_ROWS

ExportFormat: TypeAlias = Literal["parquet", "jsonl", "csv"]
GROUP_BYTES = 100_000_000
"""About the size of a row group, as it is in memory."""


def export(path: Path, to: ExportFormat, out: Path, *, limit: int | None = None, overwrite: bool = False) -> int:
    """Write the rows of sentences, a view dataset or pairs to one file; nested columns become JSON in CSV.

    Returns:
        The number of rows written.

    Raises:
        InputError: Nothing of ours at `path`, or something that is in the way at `out`.
    """
    opened = open_path(path)
    rows = opened.rows if limit is None else min(limit, opened.rows)
    recipe = beside(out, "recipe.json")
    is_ours = is_recipe_of("export", recipe)
    if out.is_dir() or (out.exists() and not (overwrite and is_ours)):
        hint = "choose another --out" + (", or --overwrite it" if is_ours else "")
        raise InputError(f"{out} exists: {hint}")
    if recipe.exists() and not is_ours:
        raise InputError(f"{recipe} is in the way and not ours: move it away, or choose another --out")
    with locked_file(out):
        remove_temporaries(out, recipe)
        with whole_file(out) as stream:
            write_rows(stream, opened, rows, to)
            made = {"sha256": sha256_of(Path(stream.name))}
            write_whole(recipe, recipe_text("export", {"path": str(path), "to": to, "limit": limit}, made=made))
    return rows


def write_rows(stream: BinaryIO, opened: Opened, rows: int, to: ExportFormat) -> None:
    """Write the first rows of a dataset, of one file after the other.

    Raises:
        InputError: Its files have different columns.
    """
    {"parquet": _write_parquet, "jsonl": _write_jsonl, "csv": _write_csv}[to](stream, _tables(opened, rows))
    stream.flush()


def _tables(opened: Opened, rows: int) -> Iterator[Any]:
    """Tables of its first rows; one without rows where there are none, as it has the columns."""
    schema = None
    for table in opened.tables():
        schema = table.schema if schema is None else schema
        if not table.schema.equals(schema):
            raise InputError(f"{opened.path} holds files of different columns: export one of them")
        yield table.slice(0, rows)
        rows -= min(rows, table.num_rows)
        if not rows:
            return


def _write_parquet(stream: BinaryIO, tables: Iterator[Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    waiting = next(tables)
    with pq.ParquetWriter(stream, waiting.schema) as writer:
        while waiting is not None:
            following = next(tables, None)
            group = max(1, GROUP_BYTES * waiting.num_rows // max(1, waiting.nbytes))
            end = waiting.num_rows - (waiting.num_rows % group if following is not None else 0)
            if end:  # a table without rows would be a row group without rows
                writer.write_table(waiting.slice(0, end), row_group_size=group)
            rest = waiting.slice(end)
            waiting = pa.concat_tables([rest, following]) if following is not None else None


def _batches(table: Any) -> Iterator[list[dict[str, Any]]]:  # noqa: ANN401 - a table
    return (batch.to_pylist() for batch in table.to_batches(max_chunksize=BATCH_ROWS))


def _write_jsonl(stream: BinaryIO, tables: Iterator[Any]) -> None:
    for table in tables:
        for rows in _batches(table):
            stream.write("".join(f"{json.dumps(row, ensure_ascii=False, default=str)}\n" for row in rows).encode())


def _write_csv(stream: BinaryIO, tables: Iterator[Any]) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    for number, table in enumerate(tables):
        if number == 0:
            writer.writerow(table.schema.names)
        for rows in _batches(table):
            for row in rows:
                writer.writerow(map(as_text, row.values()))
    text.flush()
    text.detach()
