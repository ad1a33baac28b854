"""Sources to sentences: normalised, counted, without empty lines and exact duplicates, one folder."""

import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import xxhash

from augment.errors import InputError
from pipelines.card import sentences_card
from pipelines.claim import ADVICE, STAGED, claim, remove_dataset, remove_leftovers
from pipelines.files import sync_folder, temporary_of, write_whole
from pipelines.folder import (
    CARD_FILE,
    RECIPE_FILE,
    STATE_FILE,
    CountedDataset,
    Dataset,
    finalise,
    finished_dataset,
    sentence_schema,
)
from pipelines.lock import locked_folder
from pipelines.plan import PLAN_FILE, Input, Plan
from pipelines.reading.lines import MAX_LINE_BYTES
from pipelines.reading.rows import Columns
from pipelines.reading.sources import Format, Source, check_source, read_rows
from pipelines.recipe import recipe_text
from pipelines.shards import Receipt, commit_shard, read_table

SHARD_ROWS = 50_000


def normalise(text: str) -> str:
    """NFC, without outer white space; normalising twice changes nothing."""
    return unicodedata.normalize("NFC", text).strip()


def row_id(text: str) -> str:
    """The id of a normalised text: its xxh64 as 16 hex digits."""
    return xxhash.xxh64_hexdigest(text.encode())


@dataclass(slots=True)
class Counts:
    """What became of the lines read: kept, or dropped as empty or as an exact duplicate of an earlier one."""

    read: int = 0
    kept: int = 0
    empty: int = 0
    duplicate: int = 0


@dataclass(frozen=True, slots=True)
class Ingest:
    """What to ingest and how; `limit` counts kept sentences, `max_line_bytes` bounds memory and decides no row."""

    names: Sequence[str]
    columns: Columns = field(default_factory=Columns)
    format: Format | None = None
    limit: int | None = None
    shard_size: int = SHARD_ROWS
    max_line_bytes: int = MAX_LINE_BYTES

    def plan(self, sources: Sequence[Source]) -> Plan:
        """The plan for sources that were looked at."""
        params = {**{f"{key}_column": value for key, value in asdict(self.columns).items()}, "format": self.format}
        params["column"] = params.pop("text_column")
        return Plan(
            kind="sentences",
            name="sentences",
            params=params,
            limit=self.limit,
            shard_size=self.shard_size,
            inputs=tuple(Input(name=source.name, sha256=source.sha256) for source in sources),
        )

    def recipe(self) -> str:
        """The resolved recipe of `augment ingest`."""
        plan = self.plan([])
        longer = self.max_line_bytes if self.max_line_bytes != MAX_LINE_BYTES else None
        options = {"sources": list(self.names), **plan.params, "limit": self.limit, "max_line_bytes": longer}
        return recipe_text("ingest", options, shard_size=self.shard_size)


def ingest(job: Ingest, out: Path, *, overwrite: bool = False, advice: str = ADVICE) -> tuple[Dataset, bool]:
    """Write sentences to the folder `out`, all of them or nothing.

    Returns:
        The dataset, and whether it was made now (False: it was there already, made from the same).

    Raises:
        InputError: A bad source, no sentences in it, or a folder that belongs to another recipe.
    """
    with tempfile.TemporaryDirectory() as spool:
        sources = [check_source(name, Path(spool), job.format) for name in job.names]
        plan = job.plan(sources)
        with locked_folder(out):
            standing = None if overwrite else claim(out, plan, overwrite=False, advice=advice)
            remove_leftovers(out)
            finished = finished_dataset(out, standing) if standing is not None else None
            if finished is not None:
                return finished, False
            return _stage(job, sources, plan, out, overwrite=overwrite), True


def count_sentences(job: Ingest, out: Path, *, overwrite: bool = False, advice: str = ADVICE) -> Dataset:
    """What `ingest` would write, counted and not written; the dataset itself, if it is there already.

    Raises:
        InputError: As for `ingest`.
    """
    with tempfile.TemporaryDirectory() as spool:
        sources = [check_source(name, Path(spool), job.format) for name in job.names]
        plan = job.plan(sources)
        standing = None if overwrite else claim(out, plan, overwrite=False, advice=advice)
        finished = finished_dataset(out, standing) if standing is not None else None
        if finished is not None:
            return finished
        counts = Counts()
        for _ in islice(_sentences(job, sources, counts), job.limit):
            pass
        _check_any(sources, counts)
        return CountedDataset(out, plan, (), asdict(counts))


def _check_any(sources: Sequence[Source], counts: Counts) -> None:
    if not counts.kept:
        names = ", ".join(source.name for source in sources)
        raise InputError(f"no sentences in {names} ({counts.read} lines, all empty): give one sentence a line")


def _stage(job: Ingest, sources: Sequence[Source], plan: Plan, out: Path, *, overwrite: bool) -> Dataset:
    """Make the files in a folder within, and put them in place when they are whole."""
    staged = temporary_of(out / STAGED)
    staged.mkdir()
    try:
        counts = Counts()
        receipts, schema = _write_shards(job, sources, staged, counts)
        _check_any(sources, counts)
        write_whole(staged / PLAN_FILE, plan.to_json())
        beside = {RECIPE_FILE: job.recipe(), CARD_FILE: sentences_card(plan, asdict(counts))}
        dataset = finalise(staged, plan, receipts, schema, beside, asdict(counts))
        if claim(out, plan, overwrite=overwrite) is not None:
            remove_dataset(out)  # the same plan, but unfinished or damaged
        # The plan first, which says whose the folder is, and last what says that it is finished.
        for path in sorted(staged.iterdir(), key=lambda path: (path.name == STATE_FILE, path.name != PLAN_FILE)):
            path.replace(out / path.name)
        sync_folder(out)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return Dataset(out, plan, dataset.receipts, dataset.counts)


def _write_shards(job: Ingest, sources: Sequence[Source], folder: Path, counts: Counts) -> tuple[list[Receipt], Any]:
    """Stream the sources into shards; a label or pair column in which nothing stands is left out."""
    import pyarrow as pa

    optional = [] if all(source.format == "text" for source in sources) else ["label", "pair"]
    schema = sentence_schema(optional)
    rows = islice(_sentences(job, sources, counts), job.limit)
    used: set[str] = set()
    receipts: list[Receipt] = []
    while part := list(islice(rows, job.shard_size)):
        used.update(name for name in optional if any(row[name] is not None for row in part))
        receipts.append(commit_shard(folder, len(receipts), pa.Table.from_pylist(part, schema=schema)))
    if len(used) == len(optional):
        return receipts, schema
    schema = sentence_schema([name for name in optional if name in used])
    tables = (read_table(folder / receipt.file) for receipt in receipts)
    return [commit_shard(folder, index, table.select(schema.names)) for index, table in enumerate(tables)], schema


def _sentences(job: Ingest, sources: Sequence[Source], counts: Counts) -> Iterator[dict[str, str | None]]:
    # One 64-bit integer a sentence, rather than the sentence, keeps ten million of them under a gigabyte.
    seen: set[int] = set()
    for source in sources:
        for row in read_rows(source, job.columns, job.max_line_bytes):
            counts.read += row.repeats
            text = normalise(row.text)
            if not text:
                counts.empty += row.repeats
                continue
            identity = row_id(text)
            if int(identity, 16) in seen:
                counts.duplicate += 1
                continue
            seen.add(int(identity, 16))
            counts.kept += 1
            yield {"id": identity, "text": text, "label": row.label, "pair": normalise(row.pair or "") or None}
