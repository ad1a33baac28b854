"""Pairs and rejects on disk: one file or a folder of shards, with recipe, card and report."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from augment.errors import InputError, TwinviewsError
from pipelines.inspection import REPORT_ROWS, SAMPLE_ROWS
from pipelines.inspection.opened import open_path
from pipelines.inspection.report import check_free, report_html
from pipelines.options import PairsOptions
from pipelines.pairs.candidates import DROPPED, PairCounts, PairSource, judged_batches
from pipelines.pairs.filter import Filter
from pipelines.storage.card import PAIRS_TITLE, pairs_card
from pipelines.storage.dataset import CARD_FILE, RECIPE_FILE, REPORT_FILE, claim_folder, clear_dataset, finalise
from pipelines.storage.files import (
    atomic_write,
    is_sealed,
    is_written_by,
    remove_temporaries,
    sha256_of,
    sibling_path,
    write_if_changed,
)
from pipelines.storage.lock import locked_file, locked_folder
from pipelines.storage.pair_files import PAIR_COLUMNS, REASON, REJECTS, REJECTS_SHA256, made_plan
from pipelines.storage.plan import PLAN_FILE, Plan
from pipelines.storage.recipe import check_recipe_collision, read_made, recipe_text
from pipelines.storage.shards import BATCH_ROWS, commit_shards, read_table, shard_name
from pipelines.terminal.console import note

CARD_MARKS = (PAIRS_TITLE.encode(), b"<!-- checksum ")
RECIPE_MARKS = (b'"command": "build-pairs"', b'"command": "mine-negatives"', b'"pairs": "')
"""Any of these identifies a damaged card or recipe as one that we wrote."""


@dataclass(frozen=True)
class PairsJob:
    """What to write, and by the options where: one file, or with `shards` a folder of at most that many.

    Dropped rows go to `rejects`, with their reasons, as an IPC stream file; `command` and `settings` into the recipe.
    """

    source: PairSource
    filters: Sequence[Filter]
    options: PairsOptions
    settings: Mapping[str, Any]
    command: str = "build-pairs"

    @property
    def plan(self) -> Plan:
        """Everything that decides the pairs."""
        plan, filters = self.source.plan, [each.signature() for each in self.filters]
        return plan.model_copy(update={"params": {**plan.params, "filter": filters, "shards": self.options.shards}})

    @property
    def schema(self) -> pa.Schema:
        """The columns: those of all pairs, those of the source, and one for each filter that gives scores."""
        scores = (each.score for each in self.filters if each.score is not None)
        columns = {**dict.fromkeys(PAIR_COLUMNS, pa.string()), **self.source.columns}
        return pa.schema([*columns.items(), *((score, pa.float64()) for score in scores)])

    def recipe(self, made: Mapping[str, Any]) -> str:
        """The resolved recipe, with what was `made`, for the reader and for the next run."""
        more = {"limit": self.source.plan.limit, "shards": self.options.shards, "made": made or None}
        return recipe_text(self.command, self.settings, **more)

    def card(self, counts: Mapping[str, Any]) -> str:
        """The card."""
        source, plan = self.source, self.plan
        return pairs_card(plan, counts, source.made_by, source.unit, ", ".join(self.schema.names))


def write_pairs(job: PairsJob) -> tuple[Mapping[str, Any], bool]:
    """Write pairs with recipe, card and report; what was counted, and whether they were made now.

    Raises InputError if the output belongs to another recipe, is another program's or an input, or the rejects would
    replace another file; TwinviewsError if no pair is left.
    """
    out, rejects, shards = job.options.target, job.options.rejects, job.options.shards
    report = out / REPORT_FILE if shards else sibling_path(out, REPORT_FILE)
    if out.resolve() in [Path(item.name).resolve() for item in job.source.plan.inputs]:
        raise InputError(f"--out {out} is what the pairs are made from: choose another --out")
    with ExitStack() as held:
        held.enter_context(locked_folder(out) if shards else locked_file(out))
        for each in (report, *([] if rejects is None else [rejects])):
            held.enter_context(locked_file(each))
            remove_temporaries(each)
        counts, digest, made = _write_folder(job) if shards else _write_file(job)
        content = report.read_bytes() if report.is_file() else b""
        if not (is_sealed(content) and digest.encode() in content):
            try:
                check_free(report, overwrite=True)
                write_if_changed(report, report_html(open_path(out), REPORT_ROWS, SAMPLE_ROWS, 0))
            except (TwinviewsError, OSError) as error:  # the pairs are made
                note(f"no report was written: {error}")
    return counts, made


def _write_file(job: PairsJob) -> tuple[Mapping[str, Any], str, bool]:
    """What was counted, the hash of the file, and whether it was made now."""
    out = job.options.target
    card, recipe = sibling_path(out, CARD_FILE), sibling_path(out, RECIPE_FILE)
    check_recipe_collision(out)
    remove_temporaries(out, card, recipe)
    made = read_made(recipe)
    known = is_written_by(recipe, *RECIPE_MARKS) or is_written_by(card, *CARD_MARKS)
    if out.exists() and not (job.options.overwrite and known):
        plan = made_plan(made)
        if plan is None:
            raise InputError(f"{out} has no recipe of its own ({recipe.name}): choose another --out")
        plan.check_same(job.plan, out)
        if sha256_of(out) == made["sha256"] and _has_rejects(job, made):
            write_if_changed(card, job.card(made["counts"]))
            return made["counts"], made["sha256"], False
    for path, marks in ((recipe, RECIPE_MARKS), (card, CARD_MARKS)):
        if path.exists() and not is_written_by(path, *marks):
            raise InputError(f"{path} was not written by this command: move it, or choose another --out")
    with _judged(job, out, made) as (counts, facts, written):
        sha256 = sha256_of(written)
        # Recipe and card come first: without a recipe, the next run would not recognise the pairs.
        write_if_changed(card, job.card(counts))
        described = {"plan": job.plan.model_dump(mode="json"), "counts": counts, "sha256": sha256}
        write_if_changed(recipe, job.recipe({**described, **facts}))
    return counts, sha256, True


def _write_folder(job: PairsJob) -> tuple[Mapping[str, Any], str, bool]:
    """What was counted, the hash of the shards, and whether they were made now."""
    plan, out = job.plan, job.options.target
    made = read_made(out / RECIPE_FILE)
    dataset = claim_folder(out, plan, overwrite=job.options.overwrite)
    if dataset is not None and _has_rejects(job, made):
        return dataset.counts, dataset.digest, False
    # All pairs go to the first shard until we know how many a shard gets.
    first = out / shard_name(0)
    with _judged(job, first, made) as (counts, facts, _):
        clear_dataset(out)
        write_if_changed(out / PLAN_FILE, plan.to_json())
        write_if_changed(out / RECIPE_FILE, job.recipe(facts))  # first: it identifies the rejects
    table = read_table(first)
    size = -(-len(table) // (job.options.shards or 1))
    starts = range(0, len(table), size)
    receipts = [commit_shards(out, {index: table.slice(at, size)})[0] for index, at in enumerate(starts)]
    made_now = finalise(out, plan, receipts, job.schema, counts, recipe=job.recipe(facts), card=job.card(counts))
    return counts, made_now.digest, True


@contextmanager
def _judged(job: PairsJob, out: Path, made: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, str], Path]]:
    """Write the pairs that are kept to `out`, and the others to the rejects; both appear when the block ends.

    Yields what was counted, the hash of the rejects for the recipe, and where the pairs are written. Raises InputError
    if the rejects would replace another file, or rejects without `overwrite`.
    """
    options, path, counts = job.options, job.options.rejects, PairCounts(job.source)
    if path is not None and path.exists() and not _has_rejects(job, made):
        names = set[str]()
        with suppress(InputError):
            names.update(read_table(path).schema.names)
        if not options.overwrite or not {*PAIR_COLUMNS, REASON} <= names:
            raise InputError(f"--rejects {path} exists: choose another file, or --overwrite it if it holds rejects")
    with ExitStack() as files:
        streams = [PairStream(files.enter_context(atomic_write(out)), job.schema)]
        if path is not None:
            schema = job.schema.append(pa.field(REASON, pa.string()))
            streams.append(PairStream(files.enter_context(atomic_write(path)), schema))
        for batch in judged_batches(job.source, job.filters, options.view_options.runtime, options.workers):
            counts.add(batch)
            is_kept = batch[DROPPED].is_null()
            streams[0].write(batch.filter(is_kept))
            for rejects in streams[1:]:
                rejects.write(batch.append_column(REASON, batch[DROPPED]).filter(pc.invert(is_kept)))
        for each in streams:
            each.write(None)
        facts = {} if path is None else {REJECTS_SHA256: sha256_of(streams[1].path)}
        here = options.target.parent.resolve()
        if path is not None and path.parent.resolve() != here:
            facts[REJECTS] = os.path.relpath(path.resolve(), here)
        yield counts.as_dict(), facts, streams[0].path


class PairStream:
    """Pairs into an IPC stream in full batches, however few come at once; system errors name the stream's file."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        self.path = Path(stream.name)
        self._stream, self._waiting = stream, schema.empty_table()
        self._writer = pa.ipc.new_stream(pa.PythonFile(stream, "w"), schema)

    def write(self, rows: pa.RecordBatch | None) -> None:
        """Write the batches that these rows fill, in the columns of the stream; with None what is left, and the end."""
        names = self._waiting.schema.names
        more = [] if rows is None else [pa.Table.from_batches([rows.select(names)])]
        waiting = pa.concat_tables([self._waiting, *more])
        end = len(waiting) - (0 if rows is None else len(waiting) % BATCH_ROWS)
        try:
            for start in range(0, end, BATCH_ROWS):
                part = waiting.slice(start, min(BATCH_ROWS, end - start))
                # A copy: the bytes written for a slice depend on what lies behind it.
                self._writer.write_batch(pa.concat_batches(part.to_batches()))
            if rows is None:
                self._writer.close()
                self._stream.flush()
        except OSError as error:  # two files are open: say which one cannot be written
            error.filename = str(self.path)
            raise
        self._waiting = waiting.slice(end)


def _has_rejects(job: PairsJob, made: Mapping[str, Any]) -> bool:
    """Whether no rejects are wanted, or they are there as recorded."""
    path = job.options.rejects
    return path is None or (path.is_file() and sha256_of(path) == made.get(REJECTS_SHA256))
