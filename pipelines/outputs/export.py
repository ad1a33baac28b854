"""A dataset as Parquet, JSONL or CSV, or on the Hugging Face Hub: one commit of Parquet and a card."""

import csv
import io
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from augment.errors import InputError
from augment.record import FileRecord
from pipelines.base.console import counted
from pipelines.base.files import atomic_write, locked_file, sha256_of, write_if_changed
from pipelines.base.publish import publish
from pipelines.base.recipe import recipe_text
from pipelines.base.record import beside, claim, write_record
from pipelines.base.tables.table import as_text
from pipelines.inspection.opened import DatasetReader
from pipelines.options import ExportOptions
from pipelines.storage.dataset import CARD_FILE, RECIPE_FILE
from pipelines.storage.shards import BATCH_ROWS

GROUP_BYTES = 100_000_000


def export(opened: DatasetReader, rows: int, out: Path, options: ExportOptions) -> bool:
    """Write the first rows in a format, or return False for this very export.

    Raises InputError if `out` is taken.
    """
    recipe, to = beside(out, RECIPE_FILE), options.to
    plan = {"kind": "export", "--to": to, "--limit": rows, "the dataset's sha256": opened.digest()}
    settings = {"path": str(opened.path), "to": to, "limit": rows if rows < opened.rows else None}
    if out.is_dir():
        raise InputError(f"{out} is a folder: choose another --out")
    with locked_file(out):
        if claim(out, plan, overwrite=options.overwrite, others=[recipe]) == "finished":
            return False
        with atomic_write(out) as stream:
            _write_rows(stream, opened, rows, to)
            file = FileRecord(sha256=sha256_of(Path(stream.name)))
            text = recipe_text("export", settings)
            write_record(out, plan, {out.name: file, recipe.name: FileRecord.of(text.encode())})
            write_if_changed(recipe, text)
    return True


def _write_rows(stream: BinaryIO, opened: DatasetReader, rows: int, to: str) -> None:
    tables = _tables(opened, rows)
    pending = next(tables)
    if to == "parquet":
        with pq.ParquetWriter(stream, pending.schema) as parquet:
            for following in chain(tables, [None]):
                group = max(1, GROUP_BYTES * len(pending) // max(1, pending.nbytes))
                end = len(pending) - (0 if following is None else len(pending) % group)
                if end:  # a table without rows would be a row group without rows
                    parquet.write_table(pending.slice(0, end), row_group_size=group)
                pending = pending if following is None else pa.concat_tables([pending.slice(end), following])
    else:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        # With its own "\r\n" as line end the writer quotes a cell with "\r" too; the file's line end is "\n".
        lines = SimpleNamespace(write=lambda line: text.write(line.removesuffix("\r\n") + "\n"))
        write_cells = csv.writer(lines).writerow
        if to == "csv":
            write_cells(pending.schema.names)
        batches = (batch for table in chain([pending], tables) for batch in table.to_batches(BATCH_ROWS))
        for number, row in enumerate((row for batch in batches for row in batch.to_pylist()), 1):
            if to == "jsonl":
                text.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
                continue
            cells = [*map(as_text, row.values())]
            if "\0" in "".join(filter(None, cells)):
                raise InputError(
                    f"{opened.path}: row {number} holds a NUL character, which CSV cannot hold"
                    ": give --to jsonl or parquet"
                )
            write_cells(cells)
        text.detach()
    stream.flush()


def _tables(opened: DatasetReader, rows: int) -> Iterator[pa.Table]:
    """Tables of the first rows; without rows there is one empty table, for its columns."""
    for table in opened.tables():
        yield table.slice(0, rows)
        rows -= min(rows, table.num_rows)
        if not rows:
            return


def push(opened: DatasetReader, rows: int, options: ExportOptions) -> str:
    """Put the first rows on the Hub with the dataset's card; returns the address. Raises as `publish` does."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "train.parquet")
        with path.open("wb") as stream:
            _write_rows(stream, opened, rows, "parquet")
        card = _hub_card(opened, options.license).encode()
        contents: dict[str, Path | bytes] = {"train.parquet": path, "README.md": card}
        return publish(
            options.to.removeprefix("hf:"),
            contents,
            f"Add {counted(rows, 'row')}",
            kind="dataset",
            public=options.public,
            overwrite=options.overwrite,
        )


def _hub_card(opened: DatasetReader, license: str) -> str:
    """The dataset's card with the Hub's metadata in front: the licence, and where the rows are."""
    path = opened.path
    card = beside(path, CARD_FILE)
    metadata = {
        "license": license,
        "tags": ["twinviews", opened.kind],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "train.parquet"}]}],
    }
    text = card.read_text(encoding="utf-8") if card.is_file() else f"# {path.stem}\n"
    return f"---\n{yaml.safe_dump(metadata, sort_keys=False)}---\n\n{text}"
