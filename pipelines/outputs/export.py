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

from augment.errors import InputError, TwinviewsError
from pipelines.base.console import counted
from pipelines.base.files import atomic_write, locked_file, sha256_of, sibling_path, write_if_changed
from pipelines.base.recipe import check_recipe_collision, command_of, read_made, recipe_text
from pipelines.inspection.opened import DatasetReader
from pipelines.options import ExportOptions
from pipelines.sentences.rows import as_text
from pipelines.storage.dataset import CARD_FILE
from pipelines.storage.shards import BATCH_ROWS

GROUP_BYTES = 100_000_000


def export(opened: DatasetReader, rows: int, out: Path, options: ExportOptions) -> bool:
    """Write the first rows in a format, or return False for this very export; raises InputError if `out` is taken."""
    recipe, to = sibling_path(out, "recipe.json"), options.to
    is_ours, made = command_of(recipe) == "export", read_made(recipe)
    source = [file.sha256 or sha256_of(file.path) for file in opened.files]
    settings = {"path": str(opened.path), "to": to, "limit": rows if rows < opened.rows else None}
    if out.is_file() and made.get("source") == [source, to, rows] and made.get("sha256") == sha256_of(out):
        with locked_file(out):  # removes what a killed run left
            return False
    if out.is_dir() or (out.exists() and not (options.overwrite and is_ours)):
        raise InputError(f"{out} exists: choose another --out" + (", or --overwrite it" if is_ours else ""))
    if recipe.exists() and not is_ours:
        raise InputError(f"{recipe} was not written by this command: move it, or choose another --out")
    check_recipe_collision(out)
    with locked_file(out), atomic_write(out) as stream:
        _write_rows(stream, opened, rows, to)
        facts = {"sha256": sha256_of(Path(stream.name)), "source": [source, to, rows]}
        write_if_changed(recipe, recipe_text("export", settings, made=facts))
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
    """Put the first rows on the Hub, as `hf:OWNER/NAME` or `hf:NAME`, with the dataset's card; returns the address.

    A missing repository is made. An existing one must be as public as asked for, and needs `overwrite` if it
    holds files. Raises InputError for a wrong name, no permission or another repository, TwinviewsError if the
    Hub failed.
    """
    from huggingface_hub.errors import HFValidationError, HTTPError, OfflineModeIsEnabled  # type: ignore[attr-defined]

    with TemporaryDirectory() as folder:
        with Path(folder, "train.parquet").open("wb") as stream:
            _write_rows(stream, opened, rows, "parquet")
        Path(folder, "README.md").write_text(_hub_card(opened, options.license), encoding="utf-8")
        try:
            return _upload(folder, f"Add {counted(rows, 'row')}", options)
        except (HTTPError, OSError, RuntimeError, ValueError) as error:
            problem = " ".join(str(error).split())[:200] or type(error).__name__
            status = getattr(getattr(error, "response", None), "status_code", None)
            is_mistake = isinstance(error, HFValidationError | OfflineModeIsEnabled) or status in (401, 403)
            advice = (
                "check the name (hf:OWNER/NAME), your token (`hf auth login`, or HF_TOKEN) and the network"
            )
            kind = InputError if is_mistake else TwinviewsError
            raise kind(f"--to {options.to} failed ({problem}): {advice}") from None


def _upload(folder: str, message: str, options: ExportOptions) -> str:
    from huggingface_hub import HfApi

    api, kind, public = HfApi(), "dataset", options.public
    repository = api.create_repo(
        options.to.removeprefix("hf:"), repo_type=kind, private=not public, exist_ok=True
    )
    info = api.dataset_info(repository.repo_id)
    if info.private is public:
        state = "private: leave --public out" if public else "public: give --public"
        raise InputError(f"{repository} exists and is {state}, or choose another name")
    if not options.overwrite and any(file.rfilename != ".gitattributes" for file in info.siblings or ()):
        raise InputError(f"{repository} holds files: choose another name, or --overwrite it")
    api.upload_folder(repo_id=repository.repo_id, repo_type=kind, folder_path=folder, commit_message=message)
    return str(repository)


def _hub_card(opened: DatasetReader, license: str) -> str:
    """The dataset's card with the Hub's metadata in front: the licence, and where the rows are."""
    path = opened.path
    card = path / CARD_FILE if path.is_dir() else sibling_path(path, CARD_FILE)
    metadata = {
        "license": license,
        "tags": ["twinviews", opened.kind],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "train.parquet"}]}],
    }
    text = card.read_text(encoding="utf-8") if card.is_file() else f"# {path.stem}\n"
    return f"---\n{yaml.safe_dump(metadata, sort_keys=False)}---\n\n{text}"
