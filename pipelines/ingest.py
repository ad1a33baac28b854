"""Sources to sentences in one folder: normalised and counted, without empty lines and exact duplicates."""

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
    """NFC, without outer white space."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).strip()


def row_id(text: str) -> str:
    """The id of a normalised text: its xxh64 as 16 hex digits."""
    return xxhash.xxh64_hexdigest(text.encode())


@dataclass(frozen=True, slots=True)
class Ingest:
    """What to ingest and how.

    Attributes:
        limit: The number of sentences to keep.
        language: The language by whose rules running text is split into sentences; None if a row is a sentence.
        words: The fewest and the most words (separated by white space) of a sentence that is kept; None for any number.
        labels: "spans" if the label column holds spans of characters; otherwise it is kept as it is.
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
        """The columns that are kept if the source has them."""
        return self.labels or "label", "pair"

    def plan(self, sources: Sequence[Source]) -> Plan:
        """The plan for sources that were checked."""
        columns = self.columns
        params: dict[str, Any] = {"label_column": columns.label, "pair_column": columns.pair}
        params |= {"format": self.format, "column": columns.text}
        if self.language is not None:
            params |= {"split": "sentences", "language": self.language}
        if self.words is not None:
            params |= dict(zip(("min_words", "max_words"), self.words, strict=True))
        if self.labels is not None:
            params["labels"] = self.labels
        inputs = tuple(Input(name=source.name, sha256=source.sha256) for source in sources)
        size = self.shard_size
        return Plan(kind="sentences", name="sentences", params=params, limit=self.limit, shard_size=size, inputs=inputs)


def ingest(
    job: Ingest, out: Path, *, overwrite: bool = False, dry_run: bool = False, advice: str = ADVICE
) -> tuple[Dataset, bool]:
    """Write all sentences to the folder `out`, or none; a dry run only counts them.

    Returns the dataset, and whether it was made now. Raises InputError for a bad source, one without sentences, or a
    folder that belongs to another recipe.
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
    """The sentences that SOURCE arguments name: a folder of ours, or files, which are ingested to `data/sentences`.

    Without names, `data/sentences` or the sample. A dry run only counts the sentences of files. Raises InputError for a
    bad source, or if `data/sentences` holds other sentences.
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
    """Make the files in a folder inside `out`, and move them into place when they are complete."""
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
    """Stream the sources into shards; leave out a label, spans or pair column that is empty throughout."""
    import pyarrow as pa

    schema, stale = sentence_schema([]), 0
    receipts: list[Receipt] = []
    for columns in _cut(_sentences(job, sources, folder, counts), job.shard_size):
        table = pa.Table.from_arrays(columns, schema=sentence_schema(job.optional))
        used = [name for name in job.optional if name in schema.names or table[name].null_count < len(table)]
        if len(schema) < 2 + len(used):
            stale, schema = len(receipts), sentence_schema(used)
        receipts.append(commit_shard(folder, len(receipts), table.select(schema.names)))
    # A column that first has a value here is missing from the shards before it.
    for index, receipt in enumerate(receipts[:stale]):
        there = read_table(folder / receipt.file).to_pydict()
        columns = [there.get(name, [None] * receipt.rows) for name in schema.names]
        receipts[index] = commit_shard(folder, index, pa.Table.from_arrays(columns, schema=schema))
    return receipts, schema


def _cut(batches: Iterator[Sequence[list[Any]]], rows: int) -> Iterator[list[list[Any]]]:
    """Columns of exactly `rows` values, the last ones shorter, out of batches of columns."""
    waiting: list[list[Any]] = [[], [], [], []]
    for batch in batches:
        for column, more in zip(waiting, batch, strict=True):
            column.extend(more)
        while len(waiting[0]) >= rows:
            yield [column[:rows] for column in waiting]
            waiting = [column[rows:] for column in waiting]
    if waiting[0]:
        yield waiting


def _sentences(
    job: Ingest, sources: Sequence[Source], folder: Path, counts: dict[str, int]
) -> Iterator[Sequence[list[Any]]]:
    """Ids, texts, labels (or spans) and pairs of the sentences to keep; hashes that exceed memory go to `folder`.

    Nothing after the last sentence to keep is read, counted or checked. Raises InputError if there are no sentences, or
    if a source has no labels that could be spans.
    """
    seen = Seen(folder)
    for source in sources:
        first, is_labelled = 1, False
        for given in read_rows(source, job.columns, language=job.language):
            texts, labels = [normalise(text) for text in given.texts], list[Any](given.labels)
            is_labelled = is_labelled or any(label is not None for label in labels)
            kept = _choose(job, texts, seen, counts)
            for place in kept if job.labels else ():
                where = f"{source.name}: row {first + place}"
                labels[place] = read_spans(where, labels[place], given.texts[place], texts[place])
            ids = [row_id(texts[place]) for place in kept]
            pairs = [normalise(given.pairs[place] or "") or None for place in kept]
            yield ids, [texts[place] for place in kept], [labels[place] for place in kept], pairs
            first += len(texts)
            if counts["kept"] == job.limit:
                break
        if job.labels and first > 1 and not is_labelled:
            column = job.columns.label
            raise InputError(f"{source.name} has no spans in a column {column!r}: give --label-column")
        if counts["kept"] == job.limit:
            return
    if not counts["kept"]:
        names = ", ".join(source.name for source in sources)
        raise InputError(
            f"no sentences to keep in {names} ({counts['read']} lines, {counts['empty']} of them empty): "
            "give one sentence a line, and see --min-words and --max-words"
        )


def _choose(job: Ingest, texts: list[str], seen: Seen, counts: dict[str, int]) -> list[int]:
    """Places of the texts to keep: those that are not empty, not seen before, of the right length, within the limit."""
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
    found = {"read": end, "empty": end - there, "duplicate": looked_at - len(kept), "kept": len(kept)}
    for name, number in (found | {"length": there - looked_at}).items():
        if name in counts:
            counts[name] += number
    places: list[int] = kept.tolist()
    return places
