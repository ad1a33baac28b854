"""Sources to sentences: normalised, counted, without empty lines and exact duplicates, one folder."""

import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain
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
from pipelines.seen import Seen
from pipelines.shards import Receipt, commit_shard, read_table

SHARD_ROWS = 50_000
OPTIONAL = ("label", "pair")


def normalise(text: str) -> str:
    """NFC, without outer white space; normalising twice changes nothing."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()


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
    with _checked_sources(job) as (sources, _), locked_folder(out):
        plan = job.plan(sources)
        finished = _finished(out, plan, overwrite, advice)
        remove_leftovers(out)
        if finished is not None:
            return finished, False
        return _stage(job, sources, plan, out, overwrite=overwrite), True


def count_sentences(job: Ingest, out: Path, *, overwrite: bool = False, advice: str = ADVICE) -> Dataset:
    """What `ingest` would write, counted and not written; the dataset itself, if it is there already.

    Raises:
        InputError: As for `ingest`.
    """
    with _checked_sources(job) as (sources, spool):
        plan = job.plan(sources)
        finished = _finished(out, plan, overwrite, advice)
        if finished is not None:
            return finished
        counts = Counts()
        for _ in _sentences(job, sources, spool, counts):
            pass
        _check_any(sources, counts)
        return CountedDataset(out, plan, (), asdict(counts))


@contextmanager
def _checked_sources(job: Ingest) -> Iterator[tuple[list[Source], Path]]:
    """The sources, looked at, and a temporary folder, which holds those that can be read only once."""
    with tempfile.TemporaryDirectory() as spool:
        yield [check_source(name, Path(spool), job.format) for name in job.names], Path(spool)


def _finished(out: Path, plan: Plan, overwrite: bool, advice: str) -> Dataset | None:
    """The dataset that is there under this plan, if it is to stay."""
    standing = None if overwrite else claim(out, plan, overwrite=False, advice=advice)
    return finished_dataset(out, standing) if standing is not None else None


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
    schema = sentence_schema([])
    receipts: list[Receipt] = []
    stale: list[int] = []
    for table in _cut(_sentences(job, sources, folder, counts), job.shard_size):
        used = [name for name in OPTIONAL if name in schema.names or table.column(name).null_count < len(table)]
        if len(schema) < 2 + len(used):
            stale = list(range(len(receipts)))
            schema = sentence_schema(used)
        receipts.append(commit_shard(folder, len(receipts), table.select(schema.names)))
    # A column that comes late is wanting in the shards before it.
    for index in stale:
        table = read_table(folder / receipts[index].file)
        receipts[index] = commit_shard(folder, index, _with_columns(table, schema))
    return receipts, schema


def _with_columns(table: Any, schema: Any) -> Any:  # noqa: ANN401 - pyarrow tables and schemas
    """The table with the columns of `schema`, in which nothing stands where it has none."""
    import pyarrow as pa

    empty = pa.nulls(len(table), pa.string())
    columns = [table.column(name) if name in table.schema.names else empty for name in schema.names]
    return pa.table(columns, schema=schema)


def _cut(batches: Iterator[Sequence[list[Any]]], rows: int) -> Iterator[Any]:
    """The rows of batches, each a list a column, in tables of `rows`, of which only the last has fewer."""
    import pyarrow as pa

    schema = sentence_schema(OPTIONAL)
    waiting: list[list[Any]] = [[] for _ in schema]
    for batch in batches:
        for column, more in zip(waiting, batch, strict=True):
            column.extend(more)
        whole = len(waiting[0]) - len(waiting[0]) % rows
        for start in range(0, whole, rows):
            # Made of values and not cut from a greater table, whose bytes would be in the shard too.
            parts = (column[start : start + rows] for column in waiting)
            yield pa.table([pa.array(part, pa.string()) for part in parts], schema=schema)
        waiting = [column[whole:] for column in waiting]
    if waiting[0]:
        yield pa.table([pa.array(column, pa.string()) for column in waiting], schema=schema)


def _sentences(
    job: Ingest, sources: Sequence[Source], folder: Path, counts: Counts
) -> Iterator[Sequence[list[str | None]]]:
    """Ids, texts, labels and pairs of the sentences that are kept; `folder` takes the hashes that memory does not.

    Nothing is read, counted or complained of behind the last sentence that is wanted.
    """
    import numpy as np

    seen = Seen(folder)
    for rows in chain.from_iterable(read_rows(source, job.columns, job.max_line_bytes) for source in sources):
        texts = [normalise(text) for text in rows.texts]
        full = np.flatnonzero([bool(text) for text in texts])
        hashes = np.array([xxhash.xxh64_intdigest(text.encode()) for text in texts if text], dtype=np.uint64)
        kept = full[seen.add(hashes)]
        end = len(texts)
        if job.limit is not None and counts.kept + len(kept) >= job.limit:
            kept = kept[: job.limit - counts.kept]
            end = int(kept[-1]) + 1
        looked_at = int(np.searchsorted(full, end))
        counts.read += end
        counts.empty += end - looked_at
        counts.duplicate += looked_at - len(kept)
        counts.kept += len(kept)
        places = kept.tolist()
        ids: list[str | None] = [row_id(texts[place]) for place in places]
        pairs = [rows.pairs[place] for place in places]
        yield [
            ids,
            [texts[place] for place in places],
            [rows.labels[place] for place in places],
            [(normalise(pair) or None) if pair else None for pair in pairs],
        ]
        if counts.kept == job.limit:
            return
