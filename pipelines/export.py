"""A dataset of ours as Parquet, JSONL or CSV."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from augment.errors import InputError
from pipelines.files import beside, remove_temporaries, sha256_of, whole_file, write_whole
from pipelines.folder import open_dataset
from pipelines.lock import locked_file
from pipelines.pairs import PairFile, pair_files
from pipelines.recipe import is_recipe_of, recipe_text
from pipelines.shards import BATCH_ROWS, read_table

ExportFormat: TypeAlias = Literal["parquet", "jsonl", "csv"]


def export(path: Path, to: ExportFormat, out: Path, *, limit: int | None = None, overwrite: bool = False) -> int:
    """Write the rows of sentences, a view dataset or pairs to one file; nested columns become JSON in CSV.

    Returns:
        The number of rows written.

    Raises:
        InputError: Nothing of ours at `path`, or something that is in the way at `out`.
    """
    files = export_files(path)
    recipe = recipe_path(out)
    is_ours = is_recipe_of("export", recipe)
    if out.is_dir() or (out.exists() and not (overwrite and is_ours)):
        hint = "choose another --out" + (", or --overwrite it" if is_ours else "")
        raise InputError(f"{out} exists: {hint}")
    if recipe.exists() and not is_ours:
        raise InputError(f"{recipe} is in the way and not ours: move it away, or choose another --out")
    rows = 0
    with locked_file(out):
        remove_temporaries(out, recipe)
        with whole_file(out) as stream:
            writer = {"parquet": _write_parquet, "jsonl": _write_jsonl, "csv": _write_csv}[to]
            for count in writer(stream, _batches(files, limit)):
                rows += count
            stream.flush()
            made = {"sha256": sha256_of(Path(stream.name))}
            write_whole(recipe, recipe_text("export", {"path": str(path), "to": to, "limit": limit}, made=made))
    return rows


def recipe_path(out: Path) -> Path:
    """Where the recipe of an exported file lies: `pairs.parquet` -> `pairs.parquet.recipe.json`."""
    return beside(out, "recipe.json")


def export_files(path: Path) -> Sequence[PairFile]:
    """The IPC streams of a dataset folder of ours or of a file of pairs.

    Raises:
        InputError: There are none.
    """
    if path.is_file():
        return pair_files(path)
    return [PairFile(path / receipt.file, receipt.sha256) for receipt in open_dataset(path).receipts]


def _batches(files: Sequence[PairFile], limit: int | None) -> Iterator[Any]:
    """Tables of at most BATCH_ROWS rows, together at most `limit`."""
    left = limit
    for file in files:
        whole = read_table(file.path, file.sha256)
        for start in range(0, max(1, whole.num_rows), BATCH_ROWS):  # without rows too: a file has its columns
            part = whole.slice(start, BATCH_ROWS if left is None else min(BATCH_ROWS, left))
            if left is not None:
                left -= part.num_rows
            if part.num_rows or start == 0:
                yield part


def _write_parquet(stream: Any, tables: Iterator[Any]) -> Iterator[int]:  # noqa: ANN401 - a binary file
    import pyarrow.parquet as pq

    first = next(tables)
    with pq.ParquetWriter(stream, first.schema) as writer:
        writer.write_table(first)
        yield first.num_rows
        for part in tables:
            writer.write_table(part)
            yield part.num_rows


def _write_jsonl(stream: Any, tables: Iterator[Any]) -> Iterator[int]:  # noqa: ANN401 - a binary file
    for part in tables:
        for row in part.to_pylist():
            stream.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
        yield part.num_rows


def _write_csv(stream: Any, tables: Iterator[Any]) -> Iterator[int]:  # noqa: ANN401 - a binary file
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    for number, part in enumerate(tables):
        if number == 0:
            writer.writerow(part.schema.names)
        for row in part.to_pylist():
            cells = (json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell for cell in row.values())
            writer.writerow(cells)
        yield part.num_rows
    text.flush()
    text.detach()
