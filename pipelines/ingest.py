"""Sources to sentences: normalised, counted, without empty lines and exact duplicates, one folder."""

import math
import shutil
import tempfile
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import xxhash

from augment.errors import InputError
from pipelines.card import sentences_card
from pipelines.claim import ADVICE, STAGED, check_folder, put_in_place, remove_leftovers, standing_dataset
from pipelines.console import note
from pipelines.files import locate, temporary_of
from pipelines.folder import CARD_FILE, RECIPE_FILE, Dataset, finalise, open_dataset, sentence_schema
from pipelines.lock import locked_folder
from pipelines.plan import Input, Plan, read_plan
from pipelines.reading.rows import Columns
from pipelines.reading.sources import SAMPLE, Format, Source, check_source, read_rows
from pipelines.reading.spans import read_spans
from pipelines.recipe import recipe_text
from pipelines.seen import Seen
from pipelines.shards import Receipt, commit_shard, read_table

DATA = Path("data")
SENTENCES = DATA / "sentences"
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
        language: Split running text into its sentences by this language's rules; None where a row is a sentence.
        words: The fewest and the most words of a sentence that is kept, parted by white space; None for any number.
        labels: "spans" where the label column holds spans of characters; else it is kept as it is.
    """

    names: Sequence[str]
    columns: Columns = field(default_factory=Columns)
    format: Format | None = None
    limit: int | None = None
    shard_size: int = SHARD_ROWS
    language: str | None = None
    words: tuple[int, int | None] | None = None
    labels: Literal["spans"] | None = None

    @property
    def optional(self) -> tuple[str, str]:
        """The columns that are kept where the source has them."""
        return self.labels or "label", "pair"

    def plan(self, sources: Sequence[Source]) -> Plan:
        """The plan for sources that were looked at."""
        params: dict[str, Any] = {
            "label_column": self.columns.label,
            "pair_column": self.columns.pair,
            "format": self.format,
            "column": self.columns.text,
        }
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


def ingest(
    job: Ingest, out: Path, *, overwrite: bool = False, dry_run: bool = False, advice: str = ADVICE
) -> tuple[Dataset, bool]:
    """Write sentences to the folder `out`, all of them or nothing; in a dry run they are counted.

    Returns:
        The dataset, and whether it was made now (False: it was there already, made from the same).

    Raises:
        InputError: A bad source, no sentences in it, or a folder that belongs to another recipe.
    """
    check_folder(out)
    counts = dict.fromkeys(("read", "kept", "empty", "duplicate", *(["length"] if job.words else [])), 0)
    with tempfile.TemporaryDirectory() as spool, nullcontext() if dry_run else locked_folder(out):
        sources = [check_source(name, Path(spool), job.format) for name in job.names]
        plan = job.plan(sources)
        finished = standing_dataset(out, plan, overwrite=overwrite, advice=advice)
        if not dry_run:
            remove_leftovers(out)
        if finished is not None:
            return finished, False
        if not dry_run:
            return _write(job, sources, plan, out, counts), True
        deque(_sentences(job, sources, Path(spool), counts), maxlen=0)
        return Dataset(out, plan, (), counts), False


def sentences_for(names: Sequence[str], *, dry_run: bool = False) -> Dataset:
    """The sentences that SOURCE arguments name: a folder of ours, files, or with none `data/sentences` or the sample.

    Files are ingested to `data/sentences`; in a dry run they are counted.

    Raises:
        InputError: A bad source, or `data/sentences` holds others.
    """
    folder = locate(names[0]) if names else SENTENCES
    if len(names) < 2 and read_plan(folder) is not None:
        return open_dataset(folder, "sentences")
    if not names:
        note(f"no SOURCE and no {SENTENCES}/: taking the bundled sample corpus")
    sources = [*names] or [SAMPLE]
    advice = f"run `augment ingest {' '.join(sources)} --out {DATA}/other` and give {DATA}/other as SOURCE"
    dataset, made = ingest(Ingest(sources), SENTENCES, dry_run=dry_run, advice=advice)
    if made:
        note(f"{dataset.rows:,} sentences ingested to {dataset.path}/")
    return dataset


def _write(job: Ingest, sources: Sequence[Source], plan: Plan, out: Path, counts: dict[str, int]) -> Dataset:
    """Make the files in a folder within, and put them in place when they are whole."""
    staged = temporary_of(out / STAGED)
    staged.mkdir()
    try:
        receipts, schema = _write_shards(job, sources, staged, counts)
        options = {"sources": list(job.names), **plan.params, "limit": job.limit}
        recipe = recipe_text("ingest", options, shard_size=job.shard_size)
        beside = {RECIPE_FILE: recipe, CARD_FILE: sentences_card(plan, counts)}
        dataset = finalise(staged, plan, receipts, schema, beside, counts)
        put_in_place(staged, out)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return replace(dataset, path=out)


def _write_shards(
    job: Ingest, sources: Sequence[Source], folder: Path, counts: dict[str, int]
) -> tuple[list[Receipt], Any]:
    """Stream the sources into shards; a label, spans or pair column in which nothing stands is left out."""
    import pyarrow as pa

    schema, stale = sentence_schema([]), 0
    receipts: list[Receipt] = []
    for table in _cut(_sentences(job, sources, folder, counts), job):
        used = [name for name in job.optional if name in schema.names or table[name].null_count < len(table)]
        if len(schema) < 2 + len(used):
            stale, schema = len(receipts), sentence_schema(used)
        receipts.append(commit_shard(folder, len(receipts), table.select(schema.names)))
    # A column that comes late is wanting in the shards before it.
    for index, receipt in enumerate(receipts[:stale]):
        there = read_table(folder / receipt.file).to_pydict()
        columns = [there.get(name, [None] * receipt.rows) for name in schema.names]
        receipts[index] = commit_shard(folder, index, pa.Table.from_arrays(columns, schema=schema))
    return receipts, schema


def _cut(batches: Iterator[Sequence[list[Any]]], job: Ingest) -> Iterator[Any]:
    """The rows of batches, each a list a column, in tables of a shard's rows, of which only the last has fewer."""
    import pyarrow as pa

    schema, rows = sentence_schema(job.optional), job.shard_size
    waiting: list[list[Any]] = [[] for _ in schema]
    for batch in batches:
        for column, more in zip(waiting, batch, strict=True):
            column.extend(more)
        # Tables made of values: the bytes of a slice of a greater table would be in the shard too.
        while len(waiting[0]) >= rows:
            yield pa.Table.from_arrays([column[:rows] for column in waiting], schema=schema)
            waiting = [column[rows:] for column in waiting]
    if waiting[0]:
        yield pa.Table.from_arrays(waiting, schema=schema)


def _sentences(
    job: Ingest, sources: Sequence[Source], folder: Path, counts: dict[str, int]
) -> Iterator[Sequence[list[Any]]]:
    """Ids, texts, labels (or spans) and pairs of the sentences that are kept; `folder` takes the hashes beyond memory.

    Nothing is read, counted or complained of behind the last sentence that is wanted.

    Raises:
        InputError: There are no sentences, or a source whose labels are to be spans has none.
    """
    seen = Seen(folder)
    for source in sources:
        first, is_labelled = 1, False
        for given in read_rows(source, job.columns, language=job.language):
            texts, labels = [normalise(text) for text in given.texts], given.labels
            is_labelled = is_labelled or any(label is not None for label in labels)
            kept = _choose(job, texts, seen, counts)
            yield [
                [row_id(texts[place]) for place in kept],
                [texts[place] for place in kept],
                [
                    read_spans(f"{source.name}: row {first + place}", labels[place], given.texts[place], texts[place])
                    if job.labels
                    else labels[place]
                    for place in kept
                ],
                [normalise(given.pairs[place] or "") or None for place in kept],
            ]
            first += len(texts)
            if counts["kept"] == job.limit:
                break
        if job.labels and first > 1 and not is_labelled:
            column = job.columns.label
            raise InputError(
                f"{source.name} has nothing in a column {column!r} for --labels spans: give --label-column"
            )
        if counts["kept"] == job.limit:
            return
    if not counts["kept"]:
        names = ", ".join(source.name for source in sources)
        if counts.get("length"):
            raise InputError(f"no sentence in {names} has so many words: change --min-words or --max-words")
        raise InputError(f"no sentences in {names} ({counts['read']} lines, all empty): give one sentence a line")


def _choose(job: Ingest, texts: list[str], seen: Seen, counts: dict[str, int]) -> list[int]:
    """Places of the texts to keep: neither empty nor seen nor of another length, and no more than are wanted."""
    import numpy as np

    filled = long = np.flatnonzero([bool(text) for text in texts])
    if job.words is not None:
        fewest, most = job.words[0], math.inf if job.words[1] is None else job.words[1]
        long = filled[[fewest <= len(texts[place].split()) <= most for place in filled]]
    hashes = np.array([xxhash.xxh64_intdigest(texts[place].encode()) for place in long], dtype=np.uint64)
    kept, end = long[seen.add(hashes)], len(texts)
    if job.limit is not None and counts["kept"] + len(kept) >= job.limit:
        kept = kept[: job.limit - counts["kept"]]
        end = int(kept[-1]) + 1
    there, looked_at = (int(np.searchsorted(places, end)) for places in (filled, long))
    counts["read"] += end
    counts["empty"] += end - there
    if job.words is not None:
        counts["length"] += there - looked_at
    counts["duplicate"] += looked_at - len(kept)
    counts["kept"] += len(kept)
    places: list[int] = kept.tolist()
    return places
