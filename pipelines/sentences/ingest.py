"""Sources to sentences in one folder: normalised and counted, without empty lines and exact duplicates."""

import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from augment.errors import InputError, OtherOutputError
from augment.record import Record
from augment.view import normalise, row_id
from pipelines.base.console import counted, note
from pipelines.base.files import locked_folder, resolve_path, sibling_path
from pipelines.base.recipe import recipe_text
from pipelines.base.tables.arrow import BATCH_ROWS
from pipelines.base.tables.sources import SAMPLE, TEXT_FORMATS, Source, check_source
from pipelines.base.tables.table import Row
from pipelines.options import SENTENCES, IngestOptions
from pipelines.sentences.documents import language_code
from pipelines.sentences.rows import read_rows
from pipelines.sentences.selection import Selection
from pipelines.storage.card import dataset_card
from pipelines.storage.dataset import (
    Dataset,
    Input,
    Plan,
    begin,
    claim_dataset,
    clear_dataset,
    finish,
    finished_dataset,
    open_dataset,
    read_plan,
    remove_leftovers,
)
from pipelines.storage.shards import commit_shards, dataset_schema, read_table, shard_name

Sentence: TypeAlias = tuple[str, str, str | None]
"""Id, text and label."""


def ingest(options: IngestOptions) -> tuple[Dataset, bool]:
    """Write all sentences or none; returns the dataset and whether it was made now. Raises InputError."""
    if options.split:
        options = options.model_copy(update={"language": language_code(options.language)})
    out, overwrite = resolve_path(options.out), options.overwrite
    with tempfile.TemporaryDirectory() as spool, locked_folder(out):
        sources = [check_source(name, Path(spool), options.format) for name in options.sources]
        for source in sources:
            path = source.path.resolve()
            if out.resolve() == path or out.resolve() in path.parents:
                raise InputError(
                    f"{source.name} is part of {out}, which would be replaced: choose another --out"
                )
        is_running_text = all(source.format in TEXT_FORMATS for source in sources)
        for name in ("column", "label_column") if is_running_text else ():
            if (value := getattr(options, name)) != IngestOptions.model_fields[name].default:
                raise InputError(
                    f"--{name.replace('_', '-')} {value}: {sources[0].name} is read as {sources[0].format}, "
                    "which has no columns: leave it out, or give --format"
                )
        plan = _plan(options, sources)
        status = claim_dataset(out, plan, overwrite=overwrite)
        remove_leftovers(out)
        if status == "finished" and not overwrite:
            return open_dataset(out), False
        # A bad line must not cost the old sentences: read everything before they are removed.
        if overwrite and status != "new":
            deque(_sentences(options, sources, Selection(options.words, options.limit)), maxlen=0)
        selection = Selection(options.words, options.limit)
        sentences = _sentences(options, sources, selection)
        return _write(options, plan, out, sentences, selection.counts), True


def sentences_for(names: Sequence[str], out: Path | None = None) -> Dataset:
    """The sentences that SOURCE arguments name: a folder of ours, or files, which are ingested to `data/sentences`.

    If that holds others, they are ingested beside `out`, which is made of them. Without names,
    `data/sentences` or the sample. Raises InputError for a bad source, or if its sentences have no place.
    """
    folder = resolve_path(names[0]) if names else SENTENCES
    plan = read_plan(folder) if len(names) < 2 else None
    # Without a SOURCE, a killed run may have been ingesting the sample: this run does it again.
    is_sample = not names and plan is not None and plan.inputs[0].name == SAMPLE
    if plan is not None and not (is_sample and finished_dataset(folder) is None):
        return open_dataset(folder, "sentences")
    if not names:
        note(f"no SOURCE and no {SENTENCES}/: taking the bundled sample corpus")
    options = IngestOptions(sources=[*names] or [SAMPLE])
    try:
        dataset, is_new = ingest(options)
    except OtherOutputError:
        if out is None:
            raise
        dataset, is_new = ingest(options.model_copy(update={"out": sibling_path(out, "sentences")}))
    if is_new:
        note(f"{counted(dataset.rows, 'sentence')} ingested to {dataset.path}/")
    return dataset


def _plan(options: IngestOptions, sources: Sequence[Source]) -> Plan:
    params = {key: getattr(options, key) for key in ("label_column", "format", "column")}
    if options.split:
        params |= {"split": options.split, "language": options.language}
    if options.words:
        params["min_words"], params["max_words"] = options.words
    inputs = tuple(Input(name=source.name, sha256=source.sha256) for source in sources)
    limit, size = options.limit, options.shard_size
    return Plan(kind="sentences", name="sentences", params=params, limit=limit, shard_size=size, inputs=inputs)


def _write(
    options: IngestOptions, plan: Plan, out: Path, sentences: Iterator[Sentence], counts: dict[str, int]
) -> Dataset:
    """Write the dataset, or nothing at all if that fails; a column of labels without values is left out."""
    schema, has_labels = dataset_schema(["id", "text", "label"]), False
    shards = list[Record]()
    clear_dataset(out)
    try:
        begin(out, plan)
        while shard := [*islice(sentences, options.shard_size)]:
            table = pa.Table.from_arrays([*zip(*shard, strict=True)], schema=schema)
            if not has_labels and table["label"].null_count < len(table):
                has_labels = True
                for index in range(len(shards)):
                    earlier = read_table(out / shard_name(index))
                    labels = pa.nulls(len(earlier), pa.string())
                    labelled = earlier.append_column("label", labels)
                    shards[index] = commit_shards(out, {index: labelled})[0]
            kept = table if has_labels else table.drop_columns(["label"])
            shards += commit_shards(out, {len(shards): kept})
        settings = {"sources": options.sources, **plan.params, "limit": options.limit}
        recipe = recipe_text("ingest", settings, shard_size=options.shard_size)
        card = dataset_card(plan, counts)
        return finish(out, plan, shards, counts, recipe=recipe, card=card)
    except BaseException:
        clear_dataset(out, record_too=True)
        raise


def _sentences(options: IngestOptions, sources: Sequence[Source], selection: Selection) -> Iterator[Sentence]:
    """The sentences to keep, up to the limit; may raise."""
    counts = selection.counts
    for source in sources:
        has_labels = options.label_column == "label" or source.format in TEXT_FORMATS
        rows = read_rows(source, options)
        while batch := [*islice(rows, BATCH_ROWS)]:
            has_labels = has_labels or any(row.get("label") is not None for row in batch)
            yield from _kept(batch, selection)
            if selection.is_full:
                source.check_unchanged()
                break
        counts.update(+source.skipped)
        if not has_labels:
            column = options.label_column
            raise InputError(f"{source.name} has nothing in a column {column!r}: check --label-column")
        if selection.is_full:
            break
    if not counts["kept"]:
        names = ", ".join(source.name for source in sources)
        problem = f"no sentences to keep in {names} ({counts['read']} lines, {counts['empty']} of them empty)"
        raise InputError(f"{problem}: give one sentence a line, and see --min-words and --max-words")


def _kept(rows: Sequence[Row], selection: Selection) -> Iterator[Sentence]:
    """The sentences of a batch to keep, up to the limit; counts what becomes of each row."""
    texts, labels = ([normalise(row.get(role) or "") for row in rows] for role in ("text", "label"))
    fates = selection.fates(texts, labels)
    for fate, text, label in zip(fates, texts, labels, strict=True):
        selection.counts.update(("read", fate))
        if fate == "kept":
            yield row_id(text), text, label or None
        if selection.is_full:
            return
