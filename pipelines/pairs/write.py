"""Pairs and rejects on disk: one file or a folder of shards, with recipe, card and report."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from augment.errors import InputError, TwinviewsError
from pipelines.base.console import note
from pipelines.base.files import (
    atomic_write,
    is_sealed,
    is_written_by,
    locked_file,
    locked_folder,
    sha256_of,
    sibling_path,
    write_if_changed,
)
from pipelines.base.recipe import check_recipe_collision, read_made, recipe_text
from pipelines.inspection.opened import open_path
from pipelines.inspection.report import write_report
from pipelines.options import PairsOptions, ReportOptions
from pipelines.pairs.candidates import Candidates, PairCounts, judged_blocks, pairs_batch, pairs_schema
from pipelines.pairs.filter import Filter
from pipelines.pairs.pair import Candidate
from pipelines.storage.card import dataset_card
from pipelines.storage.dataset import (
    CARD_FILE,
    PLAN_FILE,
    RECIPE_FILE,
    REPORT_FILE,
    Plan,
    claim_folder,
    clear_dataset,
    finalise,
)
from pipelines.storage.pair_files import PAIR_COLUMNS, REASON, REJECTS, REJECTS_SHA256, made_plan
from pipelines.storage.shards import BATCH_ROWS, commit_shards, read_table, shard_name

CARD_MARKS = (b"# Pairs: ", b"<!-- checksum ")
RECIPE_MARKS = (b'"command": "build-pairs"', b'"pairs": "')
"""Any of these identifies a damaged card or recipe as one that we wrote."""


class PairsJob(NamedTuple):
    """What to write and, by the options, where: dropped rows to `rejects`.

    The plan has no filters yet; `made_by` tells the card how each side or source was made.
    """

    candidates: Candidates
    source_plan: Plan
    made_by: Mapping[str, str]
    filters: Sequence[Filter]
    options: PairsOptions

    @property
    def plan(self) -> Plan:
        """Everything that decides the pairs."""
        plan, filters = self.source_plan, [filter.signature() for filter in self.filters]
        return plan.model_copy(
            update={"params": {**plan.params, "filter": filters, "shards": self.options.shards}}
        )

    @property
    def schema(self) -> pa.Schema:
        """The columns of the pairs."""
        return pairs_schema(self.candidates, self.filters)

    def recipe(self, results: Mapping[str, Any]) -> str:
        """The resolved recipe, with counts and hashes of the `results` for the reader and for the next run."""
        options, plan = self.options, self.source_plan
        settings = {
            "sources": options.sources,
            "pairs": plan.name,
            "view": options.view or plan.params.get("view") or None,
            "negatives": options.negatives or None,
            "negative_view": options.negative_view,
            "columns": options.columns,
            "labels": options.labels,
            "per_sentence": plan.params.get("per_sentence"),
            "alternatives": options.alternatives,
            "seed": options.seed,
            "filter": [filter.text() for filter in self.filters] or None,
            "default_filters": None if options.default_filters else False,
            "limit": plan.limit,
            "shards": options.shards,
            "made": results or None,
        }
        return recipe_text("build-pairs", settings)

    def card(self, counts: Mapping[str, Any]) -> str:
        """The card."""
        columns = ", ".join(self.schema.names)
        return dataset_card(
            self.plan, counts, made_by=self.made_by, unit=self.candidates.unit, columns=columns
        )


def save_pairs(job: PairsJob) -> tuple[Mapping[str, Any], bool]:
    """Write pairs with recipe, card and report; returns the counts, and whether they were made now.

    Raises InputError if outputs would replace another recipe's, a foreign file or an input, TwinviewsError for
    no pair.
    """
    out, rejects, shards = job.options.target, job.options.rejects, job.options.shards
    report = out / REPORT_FILE if shards else sibling_path(out, REPORT_FILE)
    if out.resolve() in [Path(item.name).resolve() for item in job.source_plan.inputs]:
        raise InputError(f"--out {out} is what the pairs are made from: choose another --out")
    with ExitStack() as locks:
        locks.enter_context(locked_folder(out) if shards else locked_file(out))
        if rejects is not None:
            locks.enter_context(locked_file(rejects))
        counts, digest, made_now = _write_folder(job) if shards else _write_file(job)
        with locked_file(report):  # which removes what a killed run left of it
            content = report.read_bytes() if report.is_file() else b""
        if not (is_sealed(content) and digest.encode() in content):
            try:
                write_report(report, open_path(out), ReportOptions(path=out, overwrite=True))
            except (TwinviewsError, OSError) as error:  # the pairs are made
                note(f"no report was written: {error}")
    return counts, made_now


def _write_file(job: PairsJob) -> tuple[Mapping[str, Any], str, bool]:
    """The counts, the hash of the file, and whether it was made now."""
    out = job.options.target
    card, recipe = sibling_path(out, CARD_FILE), sibling_path(out, RECIPE_FILE)
    check_recipe_collision(out)
    recorded = read_made(recipe)
    is_ours = is_written_by(recipe, *RECIPE_MARKS) or is_written_by(card, *CARD_MARKS)
    if out.exists() and not (job.options.overwrite and is_ours):
        plan = made_plan(recorded)
        if plan is None:
            raise InputError(f"{out} has no recipe of its own ({recipe.name}): choose another --out")
        plan.check_same(job.plan, out)
        if sha256_of(out) == recorded["sha256"] and _has_rejects(job, recorded):
            write_if_changed(card, job.card(recorded["counts"]))
            return recorded["counts"], recorded["sha256"], False
    for path, marks in ((recipe, RECIPE_MARKS), (card, CARD_MARKS)):
        if path.exists() and not is_written_by(path, *marks):
            raise InputError(f"{path} was not written by this command: move it, or choose another --out")
    with _judged_pairs(job, out, recorded) as (counts, rejects_facts, draft):
        sha256 = sha256_of(draft)
        # Recipe and card come first: without a recipe, the next run would not recognise the pairs.
        write_if_changed(card, job.card(counts))
        results = {
            "plan": job.plan.model_dump(mode="json"),
            "counts": counts,
            "sha256": sha256,
            **rejects_facts,
        }
        write_if_changed(recipe, job.recipe(results))
    return counts, sha256, True


def _write_folder(job: PairsJob) -> tuple[Mapping[str, Any], str, bool]:
    """The counts, the hash of the shards, and whether they were made now."""
    plan, out = job.plan, job.options.target
    recorded = read_made(out / RECIPE_FILE)
    dataset = claim_folder(out, plan, overwrite=job.options.overwrite)
    if dataset is not None and _has_rejects(job, recorded):
        return dataset.counts, dataset.digest, False
    # All pairs go to the first shard until we know how many a shard gets.
    first = out / shard_name(0)
    with _judged_pairs(job, first, recorded) as (counts, rejects_facts, _):
        clear_dataset(out)
        recipe = job.recipe(rejects_facts)
        write_if_changed(out / PLAN_FILE, plan.to_json())
        write_if_changed(out / RECIPE_FILE, recipe)  # first: it identifies the rejects
    table = read_table(first)
    size = -(-len(table) // (job.options.shards or 1))
    starts = range(0, len(table), size)
    receipts = [commit_shards(out, {index: table.slice(start, size)})[0] for index, start in enumerate(starts)]
    dataset = finalise(out, plan, receipts, job.schema, counts, recipe=recipe, card=job.card(counts))
    return counts, dataset.digest, True


@contextmanager
def _judged_pairs(
    job: PairsJob, out: Path, recorded: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, str], Path]]:
    """Write pairs and rejects, which appear when the block ends; yields counts, facts about rejects, and the draft."""
    options, path, counts = job.options, job.options.rejects, PairCounts(job.candidates)
    if path is not None and path.exists() and not _has_rejects(job, recorded):
        names = set[str]()
        with suppress(InputError):
            names.update(read_table(path).schema.names)
        if not options.overwrite or not {*PAIR_COLUMNS, REASON} <= names:
            raise InputError(
                f"--rejects {path} exists: choose another file, or --overwrite it if it holds rejects"
            )
    with ExitStack() as files:
        streams = [PairStream(files.enter_context(atomic_write(out)), job.schema)]
        if path is not None:
            schema = job.schema.append(pa.field(REASON, pa.string()))
            streams.append(PairStream(files.enter_context(atomic_write(path)), schema))
        for block in judged_blocks(job.candidates, job.filters, options.view_options.runtime, options.workers):
            counts.add(block)
            streams[0].write([candidate for candidate in block if candidate.reason is None])
            for rejects in streams[1:]:
                rejects.write([candidate for candidate in block if candidate.reason is not None])
        for stream in streams:
            stream.write((), is_last=True)
        facts = {}
        if path is not None:
            place = os.path.relpath(path.resolve(), options.target.parent.resolve())
            facts = {REJECTS: place, REJECTS_SHA256: sha256_of(streams[1].path)}
        yield counts.as_dict(), facts, streams[0].path


class PairStream:
    """Pairs into an IPC stream in full batches, however few come at once; system errors name the stream's file."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        self.path, self._stream, self._schema = Path(stream.name), stream, schema
        self._pending = list[Candidate]()
        self._writer = pa.ipc.new_stream(pa.PythonFile(stream, "w"), schema)

    def write(self, pairs: Sequence[Candidate], *, is_last: bool = False) -> None:
        """Write the batches that these pairs fill; the last time, the rest and the end of the stream."""
        self._pending += pairs
        full = len(self._pending) if is_last else len(self._pending) // BATCH_ROWS * BATCH_ROWS
        try:
            for start in range(0, full, BATCH_ROWS):
                batch = self._pending[start : start + BATCH_ROWS]
                self._writer.write_batch(pairs_batch(batch, self._schema))
            if is_last:
                self._writer.close()
                self._stream.flush()
        except OSError as error:  # two files are open: say which one cannot be written
            error.filename = str(self.path)
            raise
        del self._pending[:full]


def _has_rejects(job: PairsJob, recorded: Mapping[str, Any]) -> bool:
    """Whether the options name no rejects, or the file has the recorded hash."""
    path = job.options.rejects
    return path is None or (path.is_file() and sha256_of(path) == recorded.get(REJECTS_SHA256))
