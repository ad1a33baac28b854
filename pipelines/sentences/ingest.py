"""Sources to sentences in one folder: normalised and counted, without empty lines and exact duplicates."""

import math
import mmap
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from augment.errors import InputError
from augment.view import normalise, row_id
from pipelines.options import SENTENCES, IngestOptions
from pipelines.sentences.rows import Columns, read_spans
from pipelines.sentences.sources import SAMPLE, TEXT_FORMATS, Source, check_source, read_rows
from pipelines.similarity import word_count
from pipelines.storage.card import dataset_card
from pipelines.storage.dataset import (
    PLACE,
    STATE_FILE,
    Dataset,
    claim_folder,
    clear_dataset,
    dataset_schema,
    finalise,
    open_dataset,
)
from pipelines.storage.files import is_remote, resolve_path, write_if_changed
from pipelines.storage.lock import locked_folder
from pipelines.storage.plan import PLAN_FILE, Input, Plan, read_plan
from pipelines.storage.recipe import recipe_text
from pipelines.storage.shards import Receipt, commit_shards, read_table
from pipelines.terminal.console import counted, note

MEMORY_HASHES = 1 << 20
"""Hashes of the longest run in memory; all such runs together are less than twice as long, 16 MiB."""
Hashes: TypeAlias = NDArray[np.uint64]
Sentence: TypeAlias = tuple[Any, ...]
"""Id, text, label (or spans), pair and, if text was split, the document, the position there and the heading."""


class Seen:
    """A set of 64-bit hashes in bounded memory: sorted runs, each more than twice as long as the next.

    Runs of more than `memory_hashes` go to files in `folder` that have no name and vanish with the process.
    """

    def __init__(self, folder: Path, memory_hashes: int = MEMORY_HASHES) -> None:
        self._folder, self._memory_hashes, self._runs = folder, memory_hashes, list[Hashes]()

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Add hashes, and return which of them are new; raises OSError, naming the folder, if its disk is full."""
        values, indices = np.unique(hashes, return_index=True)
        for run in self._runs:
            positions = np.searchsorted(run, values)
            is_new = run[np.minimum(positions, len(run) - 1)] != values
            values, indices = values[is_new], indices[is_new]
            _release(run)
        mask = np.zeros(len(hashes), dtype=np.bool_)
        mask[indices] = True
        if len(values):
            while self._runs and len(self._runs[-1]) <= 2 * len(values):
                values = self._merge([self._runs.pop(), values])
            self._runs.append(values)
        return mask

    def _merge(self, runs: list[Hashes]) -> Hashes:
        size = sum(map(len, runs))
        if size <= self._memory_hashes:
            return np.sort(np.concatenate(runs), kind="stable")
        try:
            with tempfile.TemporaryFile(dir=self._folder) as stream:
                # The hashes are spread evenly, so equal ranges of them make parts of about equal size.
                width = 2**64 * (self._memory_hashes // 4) // size
                edges = np.array(range(width, 2**64, width), dtype=np.uint64)
                for parts in zip(*(np.split(run, np.searchsorted(run, edges)) for run in runs), strict=True):
                    stream.write(np.sort(np.concatenate(parts), kind="stable").data)
                    for run in runs:
                        _release(run)
                stream.flush()
                return np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint64)
        except OSError as error:
            error.filename = str(self._folder)  # the file itself has no name
            raise


def _release(run: Hashes) -> None:
    """Release the pages that were read of a run in a file; the system's cache may keep them."""
    mapped = getattr(run.base, "obj", None)
    if isinstance(mapped, mmap.mmap):
        mapped.madvise(mmap.MADV_DONTNEED)


def ingest(options: IngestOptions) -> tuple[Dataset, bool]:
    """Write all sentences or none; returns the dataset, and whether it was made now. A dry run only counts them.

    Raises InputError for a bad source, one without sentences, or a folder that belongs to another recipe.
    """
    out, dry_run, overwrite = resolve_path(options.out), options.dry_run, options.overwrite
    with tempfile.TemporaryDirectory() as spool, nullcontext() if dry_run else locked_folder(out):
        sources = [check_source(name, Path(spool), options.format) for name in options.sources]
        for source in sources:
            if out.resolve() in source.path.resolve().parents:
                raise InputError(f"{source.name} is a file of {out}, which would be replaced: choose another --out")
        is_running_text = all(source.format in TEXT_FORMATS for source in sources)
        for name in ("column", "label_column", "pair_column") if is_running_text else ():
            if (value := getattr(options, name)) != getattr(IngestOptions, name):
                problem = f"{sources[0].name} is read as {sources[0].format}, which has no columns"
                raise InputError(f"--{name.replace('_', '-')} {value}: {problem}: leave it out, or give --format")
        plan = _plan(options, sources)
        finished = claim_folder(out, plan, overwrite=overwrite, dry_run=dry_run)
        if finished is not None:
            return finished, False
        counts = dict.fromkeys(("read", "kept", "empty", "duplicate", *(["length"] if options.words else [])), 0)
        if overwrite and not dry_run and (out / STATE_FILE).exists():
            # A bad line must not cost the old sentences: read everything before they are removed.
            deque(_sentences(options, sources, Path(spool), {**counts}), maxlen=0)
        sentences = _sentences(options, sources, Path(spool) if dry_run or is_remote(out) else out, counts)
        if not dry_run:
            return _write(options, plan, out, sentences, counts), True
        deque(sentences, maxlen=0)
        return Dataset(out, plan, (), counts), False


def sentences_for(names: Sequence[str], *, dry_run: bool = False) -> Dataset:
    """The sentences that SOURCE arguments name: a folder of ours, or files, which are ingested to `data/sentences`.

    Without names, `data/sentences` or the sample. A dry run only counts the sentences of files. Raises InputError for a
    bad source, or if `data/sentences` holds other sentences.
    """
    folder = resolve_path(names[0]) if names else SENTENCES
    plan = read_plan(folder) if len(names) < 2 else None
    # Without a SOURCE, a killed run may have been ingesting the sample: this run does it again.
    is_sample = not names and plan is not None and plan.inputs[0].name == SAMPLE
    if plan is not None and not (is_sample and not (folder / STATE_FILE).exists()):
        return open_dataset(folder, "sentences")
    if not names:
        note(f"no SOURCE and no {SENTENCES}/: taking the bundled sample corpus")
    dataset, is_new = ingest(IngestOptions([*names] or [SAMPLE], dry_run=dry_run))
    if is_new:
        note(f"{counted(dataset.rows, 'sentence')} ingested to {dataset.path}/")
    return dataset


def _plan(options: IngestOptions, sources: Sequence[Source]) -> Plan:
    """The plan for sources that were checked."""
    params = {key: getattr(options, key) for key in ("label_column", "pair_column", "format", "column")}
    params |= {} if options.split is None else {"split": options.split, "language": options.language}
    params |= {} if options.words is None else dict(zip(("min_words", "max_words"), options.words, strict=True))
    params |= {} if options.labels is None else {"labels": options.labels}
    inputs = tuple(Input(name=source.name, sha256=source.sha256) for source in sources)
    limit, size = options.limit, options.shard_size
    return Plan(kind="sentences", name="sentences", params=params, limit=limit, shard_size=size, inputs=inputs)


def _write(
    options: IngestOptions, plan: Plan, out: Path, sentences: Iterator[Sentence], counts: dict[str, int]
) -> Dataset:
    """Write the dataset, or nothing at all if that fails; a further column without values is left out."""
    columns, optional = ["id", "text"], [options.labels or "label", "pair", *(PLACE if options.split else ())]
    receipts: list[Receipt] = []
    stale, shard = 0, [*islice(sentences, options.shard_size)]
    clear_dataset(out)
    try:
        write_if_changed(out / PLAN_FILE, plan.to_json())
        while shard:
            table = pa.Table.from_arrays([*zip(*shard, strict=True)], schema=dataset_schema([*columns[:2], *optional]))
            filled = [name for name in optional if name in columns or table[name].null_count < len(table)]
            if len(columns) < 2 + len(filled):
                stale, columns = len(receipts), [*columns[:2], *filled]
            receipts += commit_shards(out, {len(receipts): table.select(columns)})
            shard = [*islice(sentences, options.shard_size)]
        # A column whose first value came late is missing from the shards before it.
        schema = dataset_schema(columns)
        for index, receipt in enumerate(receipts[:stale]):
            table = read_table(out / receipt.file).to_pydict()
            arrays = [table.get(name, [None] * receipt.rows) for name in columns]
            (receipts[index],) = commit_shards(out, {index: pa.Table.from_arrays(arrays, schema=schema)})
        settings = {"sources": options.sources, **plan.params, "limit": options.limit}
        recipe = recipe_text("ingest", settings, shard_size=options.shard_size)
        return finalise(out, plan, receipts, schema, counts, recipe=recipe, card=dataset_card(plan, counts))
    except BaseException:
        clear_dataset(out, plan_too=True)
        raise


def _sentences(
    options: IngestOptions, sources: Sequence[Source], folder: Path, counts: dict[str, int]
) -> Iterator[Sentence]:
    """The sentences to keep, up to the limit; raises InputError if there are none, or a named column is empty."""
    hashes, columns = Seen(folder), Columns(options.column, options.label_column, options.pair_column)
    language = options.language if options.split else None
    for source in sources:
        number, filled = 1, set[str]()
        for rows in read_rows(source, columns, language):
            texts = [normalise(text) for text in rows.texts]
            cells = {"label": rows.labels, "pair": rows.pairs}
            filled |= {name for name in cells.keys() - filled if any(cell is not None for cell in cells[name])}
            for index in _select(options, texts, hashes, counts):
                text = texts[index]
                label: Any = rows.labels[index]
                if options.labels:
                    label = read_spans(f"{source.name}: row {number + index}", label, rows.texts[index], text)
                place = rows.places[index] if rows.places else ()
                yield row_id(text), text, label, normalise(rows.pairs[index] or "") or None, *place
            number += len(texts)
            if counts["kept"] == options.limit:
                break
        if options.labels and number > 1 and "label" not in filled:
            raise InputError(f"{source.name} has no spans in a column {columns.label!r}: give --label-column")
        for name, column in (("label", columns.label), ("pair", columns.pair)):
            is_required = column != name and source.format not in TEXT_FORMATS
            if is_required and number > 1 and name not in filled:
                raise InputError(f"{source.name} has nothing in a column {column!r}: check --{name}-column")
        if counts["kept"] == options.limit:
            return
    if not counts["kept"]:
        names = ", ".join(source.name for source in sources)
        raise InputError(
            f"no sentences to keep in {names} ({counts['read']} lines, {counts['empty']} of them empty): "
            "give one sentence a line, and see --min-words and --max-words"
        )


def _select(options: IngestOptions, texts: list[str], hashes: Seen, counts: dict[str, int]) -> list[int]:
    """The indices of the texts to keep, up to the limit; counts what happens to each text up to the last one."""
    fates = ["" if text else "empty" for text in texts]
    if options.words is not None:
        fewest, most = options.words[0], math.inf if options.words[1] is None else options.words[1]
        lengths = [*map(word_count, texts)]
        fates = [fate or ("" if fewest <= n <= most else "length") for fate, n in zip(fates, lengths, strict=True)]
    new_hashes = [xxhash.xxh64_intdigest(text.encode()) for text, fate in zip(texts, fates, strict=True) if not fate]
    is_new = iter(hashes.add(np.array(new_hashes, dtype=np.uint64)).tolist())
    fates = [fate or ("kept" if next(is_new) else "duplicate") for fate in fates]
    indices = [index for index, fate in enumerate(fates) if fate == "kept"]
    if options.limit is not None and counts["kept"] + len(indices) >= options.limit:
        indices = indices[: options.limit - counts["kept"]]
        fates = fates[: indices[-1] + 1]
    for fate, number in Counter(fates).items():
        counts[fate] += number
    counts["read"] += len(fates)
    return indices
