"""Pairs and rejects on disk: one file or a folder of shards, with recipe, card and report."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from augment.errors import InputError, TwinviewsError
from augment.view import Runtime
from pipelines.card import PAIRS_TITLE, pairs_card
from pipelines.console import note
from pipelines.files import beside, is_sealed, is_written_by, remove_temporaries, sha256_of, whole_file, write_whole
from pipelines.filter import Filter
from pipelines.folder import CARD_FILE, RECIPE_FILE, REPORT_FILE, claim_folder, clear_dataset, finalise
from pipelines.lock import locked_file, locked_folder
from pipelines.look import REPORT_ROWS, SAMPLE_ROWS
from pipelines.look.opened import open_path
from pipelines.look.report import check_free, report_html
from pipelines.pairing.candidates import PairCounts, PairSource, judged_batches
from pipelines.pairs import PAIR_COLUMNS, made_plan
from pipelines.plan import PLAN_FILE, Plan
from pipelines.recipe import read_made, recipe_text
from pipelines.shards import BATCH_ROWS, commit_shards, read_table, shard_name

REASON = "reason"
REJECTS_SHA256 = "rejects_sha256"
"""The key, in the recipe of the pairs, of the rejects' hash, by which the next run recognises them."""
CARD_MARKS = (PAIRS_TITLE.encode(), b"<!-- checksum ")
RECIPE_MARKS = (b'"command": "build-pairs"', b'"command": "mine-negatives"', b'"pairs": "')
"""Any of these identifies a damaged card or recipe as one that we wrote."""


@dataclass(frozen=True)
class PairsJob:
    """What to write and where: one file, or with `shards` a folder of at most that many.

    Dropped rows go to `rejects`, with their reasons, as an IPC stream file. `command` and `options` go into the recipe.
    """

    source: PairSource
    filters: tuple[Filter, ...]
    out: Path
    rejects: Path | None = None
    shards: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    overwrite: bool = False
    runtime: Runtime = field(default_factory=Runtime)
    workers: int = 1
    command: str = "build-pairs"

    @property
    def plan(self) -> Plan:
        """Everything that decides the pairs."""
        source = self.source
        return Plan(
            kind="pairs",
            name=source.policy,
            params={**source.params, "filter": [each.signature() for each in self.filters], "shards": self.shards},
            seed=source.seed,
            limit=source.limit,
            shard_size=0,
            inputs=tuple(source.inputs),
        )

    @property
    def schema(self) -> pa.Schema:
        """The columns: those of all pairs, those of the source, and one for each filter that gives scores."""
        scores = (each.score for each in self.filters if each.score is not None)
        columns = {**dict.fromkeys(PAIR_COLUMNS, pa.string()), **self.source.columns}
        return pa.schema([*columns.items(), *((score, pa.float64()) for score in scores)])

    def recipe(self, made: Mapping[str, Any]) -> str:
        """The resolved recipe, with what was `made`, for the reader and for the next run."""
        options = {**self.options, "limit": self.source.limit, "shards": self.shards}
        return recipe_text(self.command, options, made=made or None)

    def card(self, counts: Mapping[str, Any]) -> str:
        """The card."""
        source, plan = self.source, self.plan
        return pairs_card(plan, counts, source.made_by, source.unit, ", ".join(self.schema.names))


def write_pairs(job: PairsJob) -> tuple[Mapping[str, Any], bool]:
    """Write pairs with recipe, card and report; what was counted, and whether they were made now.

    Raises InputError if the output belongs to another recipe, is another program's or an input, or the rejects would
    replace another file; TwinviewsError if no pair is left.
    """
    out, rejects = job.out, job.rejects
    report = out / REPORT_FILE if job.shards else beside(out, REPORT_FILE)
    written = (out, report, *(beside(out, name) for name in (CARD_FILE, RECIPE_FILE)))
    if rejects is not None and rejects.absolute() in [each.absolute() for each in written]:
        raise InputError(f"--rejects {rejects} is where the pairs are written: choose another file")
    if out.resolve() in [Path(item.name).resolve() for item in job.source.inputs]:
        raise InputError(f"--out {out} is what the pairs are made from: choose another --out")
    with ExitStack() as held:
        held.enter_context(locked_folder(out) if job.shards else locked_file(out))
        for each in (report, *([] if rejects is None else [rejects])):
            held.enter_context(locked_file(each))
            remove_temporaries(each)
        counts, digest, made = _write_folder(job) if job.shards else _write_file(job)
        content = report.read_bytes() if report.is_file() else b""
        if not (is_sealed(content) and digest.encode() in content):
            try:
                check_free(report, overwrite=True)
                write_whole(report, report_html(open_path(out), REPORT_ROWS, SAMPLE_ROWS, 0))
            except (TwinviewsError, OSError) as error:  # the pairs are made
                note(f"no report was written: {error}")
    return counts, made


def _write_file(job: PairsJob) -> tuple[Mapping[str, Any], str, bool]:
    """What was counted, the hash of the file, and whether it was made now."""
    out, (card, recipe) = job.out, (beside(job.out, name) for name in (CARD_FILE, RECIPE_FILE))
    remove_temporaries(out, card, recipe)
    made = read_made(recipe)
    known = is_written_by(recipe, *RECIPE_MARKS) or is_written_by(card, *CARD_MARKS)
    if out.exists() and not (job.overwrite and known):
        plan = made_plan(made)
        if plan is None:
            raise InputError(f"{out} has no recipe of its own ({recipe.name}): choose another --out")
        difference = plan.difference(job.plan)
        if difference is not None:
            raise InputError(f"{out} belongs to another recipe, {difference}: choose another --out, or --overwrite it")
        if sha256_of(out) == made["sha256"] and _has_rejects(job, made):
            if not (card.is_file() and is_sealed(card.read_bytes())):
                write_whole(card, job.card(made["counts"]))
            return made["counts"], made["sha256"], False
    for path, marks in ((recipe, RECIPE_MARKS), (card, CARD_MARKS)):
        if path.exists() and not is_written_by(path, *marks):
            raise InputError(f"{path} was not written by this command: move it, or choose another --out")
    with _judged(job, out, made) as (counts, facts, written):
        sha256 = sha256_of(written)
        # Recipe and card come first: without a recipe, the next run would not recognise the pairs.
        write_whole(card, job.card(counts))
        described = {"plan": job.plan.model_dump(mode="json"), "counts": counts, "sha256": sha256}
        write_whole(recipe, job.recipe({**described, **facts}))
    return counts, sha256, True


def _write_folder(job: PairsJob) -> tuple[Mapping[str, Any], str, bool]:
    """What was counted, the hash of the shards, and whether they were made now."""
    plan, out = job.plan, job.out
    made = read_made(out / RECIPE_FILE)
    dataset = claim_folder(out, plan, overwrite=job.overwrite)
    if dataset is not None and _has_rejects(job, made):
        return dataset.counts, dataset.digest, False
    # All pairs are in the first shard until their number, and so that of a shard, is known.
    first = out / shard_name(0)
    with _judged(job, first, made) as (counts, facts, _):
        clear_dataset(out)
        write_whole(out / PLAN_FILE, plan.to_json())
        write_whole(out / RECIPE_FILE, job.recipe(facts))  # before the rejects, which it identifies
    table = read_table(first)
    size = -(-len(table) // (job.shards or 1))
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
    path, schema, counts, facts = job.rejects, job.schema, PairCounts(), dict[str, str]()
    if path is not None and path.exists() and not _has_rejects(job, made):
        names = set[str]()
        with suppress(InputError):
            names.update(read_table(path).schema.names)
        if not job.overwrite or not {*PAIR_COLUMNS, REASON} <= names:
            raise InputError(f"--rejects {path} exists: choose another file, or --overwrite it if it holds rejects")
    with whole_file(out) as stream, nullcontext() if path is None else whole_file(path) as dropped:
        pairs = PairStream(stream, schema)
        rejects = None if dropped is None else PairStream(dropped, schema.append(pa.field(REASON, pa.string())))
        for batch in judged_batches(job.source, job.filters, job.runtime, job.workers):
            counts.add(batch)
            rows = batch.pairs.select(schema.names)
            pairs.add(rows.filter(batch.reasons.is_null()))
            if rejects is not None:
                rejects.add(rows.append_column(REASON, batch.reasons).filter(batch.reasons.is_valid()))
        pairs.close()
        if rejects is not None and dropped is not None:
            rejects.close()
            facts[REJECTS_SHA256] = sha256_of(Path(dropped.name))
        yield counts.as_dict(job.source), facts, Path(stream.name)


class PairStream:
    """Pairs into an IPC stream in full batches, however few come at once; system errors name the stream's file."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        self._stream, self._waiting = stream, schema.empty_table()
        self._writer = pa.ipc.new_stream(pa.PythonFile(stream, "w"), schema)

    def add(self, pairs: pa.RecordBatch) -> None:
        """Write the batches that these pairs fill."""
        self._waiting = pa.concat_tables([self._waiting, pa.Table.from_batches([pairs])])
        self._write(len(self._waiting) - len(self._waiting) % BATCH_ROWS)

    def close(self) -> None:
        """Write the rest and end the stream."""
        self._write(len(self._waiting), last=True)

    def _write(self, rows: int, *, last: bool = False) -> None:
        try:
            for start in range(0, rows, BATCH_ROWS):
                part = self._waiting.slice(start, min(BATCH_ROWS, rows - start))
                # A copy: the bytes written for a slice depend on what lies behind it.
                self._writer.write_batch(pa.concat_batches(part.to_batches()))
            if last:
                self._writer.close()
                self._stream.flush()
        except OSError as error:  # pairs and rejects are open together: say which one cannot be written
            error.filename = str(self._stream.name)
            raise
        self._waiting = self._waiting.slice(rows)


def _has_rejects(job: PairsJob, made: Mapping[str, Any]) -> bool:
    """Whether no rejects are wanted, or they are there as recorded."""
    path = job.rejects
    return path is None or (path.is_file() and sha256_of(path) == made.get(REJECTS_SHA256))
