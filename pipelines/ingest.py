"""Sources to sentences: normalised, counted, without empty lines and exact duplicates, one folder."""

import shutil
import tempfile
import unicodedata
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import xxhash

from augment.errors import InputError
from pipelines.card import sentences_card
from pipelines.claim import ADVICE, STAGED, put_in_place, remove_leftovers, standing_dataset
from pipelines.files import temporary_of, write_whole
from pipelines.folder import CARD_FILE, RECIPE_FILE, Dataset, finalise, sentence_schema
from pipelines.lock import locked_folder
from pipelines.plan import PLAN_FILE, Input, Plan
from pipelines.reading.lines import MAX_LINE_BYTES
from pipelines.reading.rows import Columns, Rows
from pipelines.reading.sources import Format, Source, check_source, read_rows
from pipelines.reading.spans import read_spans
from pipelines.recipe import recipe_text
from pipelines.seen import Seen
from pipelines.shards import Receipt, commit_shard, read_table

SHARD_ROWS = 50_000


def normalise(text: str) -> str:
    """NFC, without outer white space; normalising twice changes nothing."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()


def row_id(text: str) -> str:
    """The id of a normalised text: its xxh64 as 16 hex digits."""
    return xxhash.xxh64_hexdigest(text.encode())


@dataclass(frozen=True, slots=True)
class Ingest:
    """What to ingest and how.

    Attributes:
        limit: Of kept sentences.
        max_line_bytes: Bounds memory and decides no row.
        language: Split running text into its sentences by this language's rules; None where a row is a sentence.
        words: The fewest and the most words of a sentence that is kept, parted by white space; None for any number.
        labels: "spans" where the label column holds spans of characters; else it is kept as it is.
    """

    names: Sequence[str]
    columns: Columns = field(default_factory=Columns)
    format: Format | None = None
    limit: int | None = None
    shard_size: int = SHARD_ROWS
    max_line_bytes: int = MAX_LINE_BYTES
    language: str | None = None
    words: tuple[int, int | None] | None = None
    labels: Literal["spans"] | None = None

    @property
    def optional(self) -> tuple[str, str]:
        """The columns that are kept where the source has them."""
        return self.labels or "label", "pair"

    def plan(self, sources: Sequence[Source]) -> Plan:
        """The plan for sources that were looked at."""
        params = {**{f"{key}_column": value for key, value in asdict(self.columns).items()}, "format": self.format}
        params["column"] = params.pop("text_column")
        if self.language is not None:
            params |= {"split": "sentences", "language": self.language}
        if self.words is not None:
            params |= dict(zip(("min_words", "max_words"), self.words, strict=True))
        if self.labels is not None:
            params["labels"] = self.labels
        return Plan(
            kind="sentences",
            name="sentences",
            params=params,
            limit=self.limit,
            shard_size=self.shard_size,
            inputs=tuple(Input(name=source.name, sha256=source.sha256) for source in sources),
        )

    def counts(self) -> dict[str, int]:
        """No rows yet: read, and kept or dropped as empty, as an exact duplicate or by their length."""
        return dict.fromkeys(("read", "kept", "empty", "duplicate", *(["length"] if self.words else [])), 0)

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
        finished = standing_dataset(out, plan, overwrite=overwrite, advice=advice)
        remove_leftovers(out)
        return (finished, False) if finished is not None else (_write(job, sources, plan, out), True)


def count_sentences(job: Ingest, out: Path, *, overwrite: bool = False, advice: str = ADVICE) -> Dataset:
    """What `ingest` would write, counted and not written; the dataset itself, if it is there already.

    Raises:
        InputError: As for `ingest`.
    """
    with _checked_sources(job) as (sources, spool):
        plan, counts = job.plan(sources), job.counts()
        finished = standing_dataset(out, plan, overwrite=overwrite, advice=advice)
        if finished is None:
            deque(_sentences(job, sources, spool, counts), maxlen=0)
            _check_any(sources, counts)
        return finished or Dataset(out, plan, (), counts)


@contextmanager
def _checked_sources(job: Ingest) -> Iterator[tuple[list[Source], Path]]:
    """The sources, looked at, and a temporary folder, which holds those that can be read only once."""
    with tempfile.TemporaryDirectory() as spool:
        yield [check_source(name, Path(spool), job.format) for name in job.names], Path(spool)


def _check_any(sources: Sequence[Source], counts: Mapping[str, int]) -> None:
    if not counts["kept"]:
        names = ", ".join(source.name for source in sources)
        if counts.get("length"):
            raise InputError(f"no sentence in {names} has so many words: change --min-words or --max-words")
        raise InputError(f"no sentences in {names} ({counts['read']} lines, all empty): give one sentence a line")


def _write(job: Ingest, sources: Sequence[Source], plan: Plan, out: Path) -> Dataset:
    """Make the files in a folder within, and put them in place when they are whole."""
    staged = temporary_of(out / STAGED)
    staged.mkdir()
    try:
        counts = job.counts()
        receipts, schema = _write_shards(job, sources, staged, counts)
        _check_any(sources, counts)
        write_whole(staged / PLAN_FILE, plan.to_json())
        beside = {RECIPE_FILE: job.recipe(), CARD_FILE: sentences_card(plan, counts)}
        dataset = finalise(staged, plan, receipts, schema, beside, counts)
        put_in_place(staged, out)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return replace(dataset, path=out)


def _write_shards(
    job: Ingest, sources: Sequence[Source], folder: Path, counts: dict[str, int]
) -> tuple[list[Receipt], Any]:
    """Stream the sources into shards; a label, spans or pair column in which nothing stands is left out."""
    schema = sentence_schema([])
    receipts: list[Receipt] = []
    stale = 0
    for table in _cut(_sentences(job, sources, folder, counts), job):
        used = [name for name in job.optional if name in schema.names or table.column(name).null_count < len(table)]
        if len(schema) < 2 + len(used):
            stale, schema = len(receipts), sentence_schema(used)
        receipts.append(commit_shard(folder, len(receipts), table.select(schema.names)))
    # A column that comes late is wanting in the shards before it.
    for index in range(stale):
        table = read_table(folder / receipts[index].file)
        there = table.schema.names
        columns = [table[name].to_pylist() if name in there else [None] * len(table) for name in schema.names]
        receipts[index] = commit_shard(folder, index, _table(columns, schema))
    return receipts, schema


def _fits(text: str, words: tuple[int, int | None]) -> bool:
    fewest, most = words
    return fewest <= len(text.split()) and (most is None or len(text.split()) <= most)


def _table(columns: Sequence[list[Any]], schema: Any) -> Any:  # noqa: ANN401 - pyarrow tables and schemas
    import pyarrow as pa

    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def _cut(batches: Iterator[Sequence[list[Any]]], job: Ingest) -> Iterator[Any]:
    """The rows of batches, each a list a column, in tables of a shard's rows, of which only the last has fewer."""
    schema, rows = sentence_schema(job.optional), job.shard_size
    waiting: list[list[Any]] = [[] for _ in schema]
    for batch in batches:
        for column, more in zip(waiting, batch, strict=True):
            column.extend(more)
        # Tables made of values: the bytes of a slice of a greater table would be in the shard too.
        while len(waiting[0]) >= rows:
            yield _table([column[:rows] for column in waiting], schema)
            waiting = [column[rows:] for column in waiting]
    if waiting[0]:
        yield _table(waiting, schema)


def _rows_of(job: Ingest, sources: Sequence[Source]) -> Iterator[tuple[str, int, Rows]]:
    """The rows of all sources, with the name of theirs and the number of the first of them there, from 1."""
    for source in sources:
        first = 1
        for rows in read_rows(source, job.columns, job.max_line_bytes, job.language):
            yield source.name, first, rows
            first += len(rows.texts)


def _sentences(
    job: Ingest, sources: Sequence[Source], folder: Path, counts: dict[str, int]
) -> Iterator[Sequence[list[Any]]]:
    """Ids, texts, labels (or spans) and pairs of the sentences that are kept; `folder` takes the hashes beyond memory.

    Nothing is read, counted or complained of behind the last sentence that is wanted.

    Raises:
        InputError: A source whose labels are to be spans has none.
    """
    import numpy as np

    seen = Seen(folder)
    labelled: dict[str, bool] = {}
    for name, first, rows in _rows_of(job, sources):
        labelled[name] = labelled.get(name, False) or any(label is not None for label in rows.labels)
        texts = [normalise(text) for text in rows.texts]
        filled = np.flatnonzero([bool(text) for text in texts])
        full = filled[[_fits(texts[place], job.words) for place in filled]] if job.words else filled
        hashes = np.array([xxhash.xxh64_intdigest(texts[place].encode()) for place in full], dtype=np.uint64)
        kept = full[seen.add(hashes)]
        end = len(texts)
        if job.limit is not None and counts["kept"] + len(kept) >= job.limit:
            kept = kept[: job.limit - counts["kept"]]
            end = int(kept[-1]) + 1
        there, looked_at = (int(np.searchsorted(places, end)) for places in (filled, full))
        counts["read"] += end
        counts["empty"] += end - there
        if job.words:
            counts["length"] += there - looked_at
        counts["duplicate"] += looked_at - len(kept)
        counts["kept"] += len(kept)
        places = kept.tolist()
        yield [
            [row_id(texts[place]) for place in places],
            [texts[place] for place in places],
            [
                read_spans(f"{name}: row {first + place}", rows.labels[place], rows.texts[place], texts[place])
                if job.labels
                else rows.labels[place]
                for place in places
            ],
            [normalise(rows.pairs[place] or "") or None for place in places],
        ]
        if counts["kept"] == job.limit:
            break
    without = [name for name, found in labelled.items() if job.labels and not found]
    if without:
        column = job.columns.label
        raise InputError(f"{without[0]} has nothing in a column {column!r} for --labels spans: give --label-column")
