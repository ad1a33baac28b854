"""A dataset of ours as Parquet, JSONL or CSV."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from augment.errors import InputError
from pipelines.files import beside, remove_temporaries, sha256_of, whole_file, write_whole
from pipelines.lock import locked_file
from pipelines.look.opened import Opened, open_path
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
    opened = open_finished(path)
    recipe = recipe_path(out)
    is_ours = is_recipe_of("export", recipe)
    if out.is_dir() or (out.exists() and not (overwrite and is_ours)):
        hint = "choose another --out" + (", or --overwrite it" if is_ours else "")
        raise InputError(f"{out} exists: {hint}")
    if recipe.exists() and not is_ours:
        raise InputError(f"{recipe} is in the way and not ours: move it away, or choose another --out")
    with locked_file(out):
        remove_temporaries(out, recipe)
        with whole_file(out) as stream:
            rows = WRITERS[to](stream, _limited(opened, limit))
            stream.flush()
            made = {"sha256": sha256_of(Path(stream.name))}
            write_whole(recipe, recipe_text("export", {"path": str(path), "to": to, "limit": limit}, made=made))
    return rows


def recipe_path(out: Path) -> Path:
    """Where the recipe of an exported file lies: `pairs.parquet` -> `pairs.parquet.recipe.json`."""
    return beside(out, "recipe.json")


def open_finished(path: Path) -> Opened:
    """A dataset folder of ours or pairs, whole.

    Raises:
        InputError: There are none, or they are not finished.
    """
    opened = open_path(path)
    if opened.unfinished is not None:
        raise InputError(f"{path} is {opened.unfinished}")
    return opened


def _limited(opened: Opened, limit: int | None) -> Iterator[Any]:
    """Tables of its rows, together at most `limit`; one without rows where there are none, as it has the columns."""
    left = limit
    for table in opened.chunks():
        part = table.slice(0, left)
        yield part
        if left is not None:
            left -= part.num_rows
        if left == 0:
            return


def _rows(table: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - a pyarrow table
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        yield from batch.to_pylist()


def _write_parquet(stream: BinaryIO, tables: Iterator[Any]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    waiting = next(tables)
    with pq.ParquetWriter(stream, waiting.schema) as writer:
        rows: int = waiting.num_rows
        for part in tables:
            rows += part.num_rows
            if waiting.nbytes + part.nbytes > GROUP_BYTES:
                writer.write_table(waiting, row_group_size=max(1, waiting.num_rows))
                waiting = part
            else:
                waiting = pa.concat_tables([waiting, part])
        writer.write_table(waiting, row_group_size=max(1, waiting.num_rows))
    return rows


def _write_jsonl(stream: BinaryIO, tables: Iterator[Any]) -> int:
    rows = 0
    for part in tables:
        rows += part.num_rows
        for row in _rows(part):
            stream.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
    return rows


def _write_csv(stream: BinaryIO, tables: Iterator[Any]) -> int:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    rows = 0
    for number, part in enumerate(tables):
        if number == 0:
            writer.writerow(part.schema.names)
        rows += part.num_rows
        for row in _rows(part):
            cells = (json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell for cell in row.values())
            writer.writerow(cells)
    text.flush()
    text.detach()
    return rows


WRITERS: Mapping[ExportFormat, Callable[[BinaryIO, Iterator[Any]], int]] = {
    "parquet": _write_parquet,
    "jsonl": _write_jsonl,
    "csv": _write_csv,
}
