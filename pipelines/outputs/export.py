"""A dataset as Parquet, JSONL or CSV, or on the Hugging Face Hub: one commit of Parquet and a card."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pa_csv
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
from pipelines.options import ExportOptions
from pipelines.storage.dataset import CARD_FILE, RECIPE_FILE, Dataset
from pipelines.storage.shards import BATCH_ROWS


def export(dataset: Dataset, rows: int, out: Path, options: ExportOptions) -> bool:
    """Write the first rows in a format, or return False for this very export.

    Raises InputError if `out` is taken.
    """
    recipe, to = beside(out, RECIPE_FILE), options.to
    plan = {"kind": "export", "--to": to, "--limit": rows, "the dataset's sha256": dataset.digest}
    limit = rows if rows < dataset.rows else None
    settings = {"path": str(dataset.path), "to": to, "carry": options.carry or None, "limit": limit}
    if out.is_dir():
        raise InputError(f"{out} is a folder: choose another --out")
    with locked_file(out):
        if claim(out, plan, overwrite=options.overwrite, others=[recipe]) == "finished":
            return False
        with atomic_write(out) as stream:
            _write_rows(stream, dataset, rows, to)
            file = FileRecord(sha256=sha256_of(Path(stream.name)))
            text = recipe_text("export", settings)
            write_record(out, plan, {out.name: file, recipe.name: FileRecord.of(text.encode())})
            write_if_changed(recipe, text)
    return True


def _write_rows(stream: BinaryIO, dataset: Dataset, rows: int, to: str) -> None:
    table = pa.concat_tables(dataset.tables()).slice(0, rows)  # local files are mapped, not read
    if to == "parquet":
        pq.write_table(table, stream)
    elif to == "csv":
        _write_csv(stream, table)
    else:
        for batch in table.to_batches(BATCH_ROWS):
            for row in batch.to_pylist():
                stream.write(f"{json.dumps(row, ensure_ascii=False, default=str)}\n".encode())
    stream.flush()


def _write_csv(stream: BinaryIO, table: pa.Table) -> None:
    """Write all cells as text, lists and objects as JSON."""
    schema = pa.schema([(name, pa.string()) for name in table.schema.names])
    with pa_csv.CSVWriter(stream, schema) as writer:
        for batch in table.to_batches(BATCH_ROWS):
            cells = [[*map(as_text, column.to_pylist())] for column in batch.columns]
            writer.write_batch(pa.RecordBatch.from_arrays([*map(pa.array, cells)], schema=schema))


def push(dataset: Dataset, rows: int, options: ExportOptions) -> str:
    """Put the first rows on the Hub with the dataset's card; returns the address. Raises as `publish` does."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "train.parquet")
        with path.open("wb") as stream:
            _write_rows(stream, dataset, rows, "parquet")
        card = _hub_card(dataset, options.license).encode()
        contents: dict[str, Path | bytes] = {"train.parquet": path, "README.md": card}
        return publish(
            options.to.removeprefix("hf:"),
            contents,
            f"Add {counted(rows, 'row')}",
            kind="dataset",
            public=options.public,
            overwrite=options.overwrite,
        )


def _hub_card(dataset: Dataset, license: str) -> str:
    """The dataset's card with the Hub's metadata in front: the licence, and where the rows are."""
    path = dataset.path
    card = beside(path, CARD_FILE)
    metadata = {
        "license": license,
        "tags": ["twinviews", dataset.plan.kind],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "train.parquet"}]}],
    }
    text = card.read_text(encoding="utf-8") if card.is_file() else f"# {path.stem}\n"
    return f"---\n{yaml.safe_dump(metadata, sort_keys=False)}---\n\n{text}"
