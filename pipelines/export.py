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
from pipelines.recipe import is_recipe_of, recipe_text
from pipelines.shards import BATCH_ROWS

ExportFormat: TypeAlias = Literal["parquet", "jsonl", "csv"]
CHUNK_ROWS = 65_536
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
    write = {"parquet": _write_parquet, "jsonl": _write_jsonl, "csv": _write_csv}[to]
    with locked_file(out):
        remove_temporaries(out, recipe)
        with whole_file(out) as stream:
            write(stream, _chunks(opened, rows))
            stream.flush()
            made = {"sha256": sha256_of(Path(stream.name))}
            write_whole(recipe, recipe_text("export", {"path": str(path), "to": to, "limit": limit}, made=made))
    return rows


def _chunks(opened: Opened, rows: int) -> Iterator[Any]:
    """Tables of its first rows; one without rows where there are none, as it has the columns."""
    schema = None
    for table in opened.tables():
        schema = table.schema if schema is None else schema
        if not table.schema.equals(schema):
            raise InputError(f"{opened.path} holds files of different columns: export one of them")
        for start in range(0, max(1, table.num_rows), CHUNK_ROWS):
            part = table.slice(start, min(CHUNK_ROWS, rows))
            yield part
            rows -= part.num_rows
            if rows <= 0:
                return


def _write_parquet(stream: BinaryIO, tables: Iterator[Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    waiting = next(tables)
    with pq.ParquetWriter(stream, waiting.schema) as writer:
        for part in tables:
            if waiting.nbytes + part.nbytes > GROUP_BYTES:
                writer.write_table(waiting, row_group_size=max(1, waiting.num_rows))
                waiting = part
            else:
                waiting = pa.concat_tables([waiting, part])
        writer.write_table(waiting, row_group_size=max(1, waiting.num_rows))


def _write_jsonl(stream: BinaryIO, tables: Iterator[Any]) -> None:
    for table in tables:
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())
            stream.write("".join(lines).encode())


def _write_csv(stream: BinaryIO, tables: Iterator[Any]) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    for number, table in enumerate(tables):
        if number == 0:
            writer.writerow(table.schema.names)
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            for row in batch.to_pylist():
                cells = row.values()
                writer.writerow(json.dumps(x, ensure_ascii=False) if isinstance(x, list) else x for x in cells)
    text.flush()
    text.detach()
