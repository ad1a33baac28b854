"""Pairs and rejects on disk: written whole, one file or a folder of shards, with recipe and card beside them."""

import errno
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from pydantic import ValidationError

from augment.errors import InputError, TwinviewsError
from augment.view import Runtime
from pipelines.card import PAIRS_TITLE, pairs_card
from pipelines.claim import check_folder, clear_dataset, remove_leftovers, standing_dataset
from pipelines.console import note
from pipelines.files import (
    beside,
    is_sealed,
    is_written_by,
    remove_temporaries,
    sha256_of,
    temporary_of,
    whole_file,
    write_whole,
)
from pipelines.filter import Filter
from pipelines.folder import CARD_FILE, RECIPE_FILE, REPORT_FILE, finalise
from pipelines.lock import locked_file, locked_folder
from pipelines.look.report import report_pairs
from pipelines.pairing.judge import PairCounts, judged_batches
from pipelines.pairing.source import PairSource
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import PLAN_FILE, Plan
from pipelines.recipe import read_made, recipe_text
from pipelines.shards import BATCH_ROWS, commit_shard, read_table, shard_name

REASON = "reason"
REJECTS_SHA256 = "rejects_sha256"
"""Where the recipe of the pairs has the hash of the rejects: by it the next run knows that they are ours."""
CARD_MARKS = (PAIRS_TITLE.encode(), b"<!-- checksum ")
RECIPE_MARKS = (b'"command": "build-pairs"', b'"command": "mine-negatives"', b'"pairs": "')
"""By any of these a damaged card or recipe is still known as ours."""


@dataclass(frozen=True)
class PairsJob:
    """What is to be written, and where: one file, or with `shards` a folder of at most so many.

    What was dropped goes to `rejects`, with its reason, as an IPC stream file. The recipe says `command` and `options`.
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

    def plan(self) -> Plan:
        """Everything that decides the pairs."""
        source = self.source
        return Plan(
            kind="pairs",
            name=source.policy,
            params={**source.params, "filter": self._signatures, "shards": self.shards},
            seed=source.seed,
            limit=source.limit,
            shard_size=0,
            inputs=tuple(source.inputs),
        )

    @property
    def _signatures(self) -> list[str]:
        return [each.spec.signature() for each in self.filters]

    def recipe(self, made: Mapping[str, Any]) -> str:
        """The resolved recipe; what is under `made` is for the reader and for the next run."""
        options = {**self.options, "limit": self.source.limit, "shards": self.shards}
        return recipe_text(self.command, options, made=made or None)

    def card(self, plan: Plan, counts: Mapping[str, Any]) -> str:
        """The card."""
        source, columns = self.source, ", ".join(self.schema().names)
        return pairs_card(plan, counts, source.made_by, source.unit, self._signatures, columns)

    def schema(self) -> pa.Schema:
        """The columns of the pairs: what all have, what the source adds, and one a filter that gives scores.

        Raises:
            InputError: A filter would write a column that holds something else.
        """
        fields = {**dict.fromkeys(PAIR_COLUMNS, pa.string()), **self.source.columns}
        for spec in (each.spec for each in self.filters if each.spec.score is not None):
            if fields.get(spec.score, pa.float64()) != pa.float64() or spec.score == REASON:
                raise InputError(f"--filter {spec.name} writes {spec.score!r}, a column of the pairs: leave it out")
            fields[spec.score] = pa.float64()
        return pa.schema(list(fields.items()))


class PairStream:
    """Pairs into an IPC stream, in full batches however few come at once."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        self._stream = stream
        self._writer = pa.ipc.new_stream(pa.PythonFile(stream, "w"), schema)
        self._waiting = schema.empty_table()

    def add(self, pairs: pa.RecordBatch) -> None:
        """Write the batches that are full with these pairs."""
        self._waiting = pa.concat_tables([self._waiting, pa.Table.from_batches([pairs])])
        self._write(len(self._waiting) - len(self._waiting) % BATCH_ROWS)

    def _write(self, rows: int) -> None:
        """Write so many rows in copies, as the bytes that are written of a slice depend on what lies behind it."""
        for start in range(0, rows, BATCH_ROWS):
            part = self._waiting.slice(start, min(BATCH_ROWS, rows - start))
            self._writer.write_batch(pa.concat_batches(part.to_batches()))
        self._waiting = self._waiting.slice(rows)

    def close(self) -> None:
        """End the stream."""
        self._write(len(self._waiting))
        self._writer.close()
        self._stream.flush()


def check_out(out: Path, shards: int | None) -> None:
    """Make sure that pairs can be written to `out`, a file or with `shards` a folder, before anything is made for it.

    Raises:
        InputError: It is the other.
    """
    if shards:
        check_folder(out)
    elif out.is_dir():
        raise InputError(f"{out} is a folder, a file is to be written: choose another --out, or give --shards")


def check_job(job: PairsJob) -> None:
    """Look at what a job would write over, and write nothing.

    Raises:
        InputError: As for `write_pairs`.
    """
    _check_places(job)
    if job.shards:
        standing_dataset(job.out, job.plan(), overwrite=job.overwrite)
    else:
        _stands_or_may(job, job.plan(), read_made(_records(job.out)[1]))


def write_pairs(job: PairsJob) -> tuple[Mapping[str, Any], bool]:
    """Write pairs: one IPC stream file with recipe and card beside it, or a dataset folder; and their report.

    What was counted when they were made, and whether that was now.

    Raises:
        InputError: The output belongs to another recipe, is not ours or is read from, or something else is in the way
            of the rejects.
        TwinviewsError: No pair is left.
    """
    out, rejects, report = job.out, job.rejects, _report(job)
    _check_places(job)
    with ExitStack() as held:
        held.enter_context(locked_folder(out) if job.shards else locked_file(out))
        for each in (report, *([] if rejects is None else [rejects])):
            held.enter_context(locked_file(each))
            remove_temporaries(each)
        counts, digest, made = _write_folder(job) if job.shards else _write_file(job)
        content = report.read_bytes() if report.is_file() else b""
        if not (is_sealed(content) and digest.encode() in content):
            try:
                report_pairs(out, report)
            except (TwinviewsError, OSError) as error:  # the pairs are made
                note(f"no report was written: {error}")
    return counts, made


def _report(job: PairsJob) -> Path:
    return job.out / REPORT_FILE if job.shards else beside(job.out, REPORT_FILE)


def _check_places(job: PairsJob) -> None:
    """Make sure that no file is to be written twice or also read, and no column is to hold two things."""
    out, rejects = job.out, job.rejects
    if rejects is not None and rejects.absolute() in [each.absolute() for each in (out, _report(job), *_records(out))]:
        raise InputError(f"--rejects {rejects} is where the pairs are written: choose another file")
    if out.resolve() in [Path(item.name).resolve() for item in job.source.inputs]:
        raise InputError(f"--out {out} is what the pairs are made from: choose another --out")
    job.schema()


def _records(out: Path) -> tuple[Path, Path]:
    return beside(out, CARD_FILE), beside(out, RECIPE_FILE)


def _write_file(job: PairsJob) -> tuple[Mapping[str, Any], str, bool]:
    """What was counted, the hash of the file, and whether it was made now."""
    plan, out = job.plan(), job.out
    card, recipe = _records(out)
    remove_temporaries(out, card, recipe)
    made = read_made(recipe)
    if _stands_or_may(job, plan, made):
        if not (card.is_file() and is_sealed(card.read_bytes())):
            write_whole(card, job.card(Plan.model_validate(made["plan"]), made["counts"]))
        return made["counts"], made["sha256"], False
    # What was rejected is put in place first, then the pairs: whoever sees them sees all that belongs to them.
    with whole_file(out) as stream, _rejects(job) as rejects:
        counts, facts = _judge(job, stream, rejects)
        sha256 = sha256_of(Path(stream.name))
        # Recipe and card before both: pairs whose recipe is missing would belong to nobody.
        write_whole(card, job.card(plan, counts))
        write_whole(
            recipe, job.recipe({"plan": plan.model_dump(mode="json"), "counts": counts, "sha256": sha256} | facts)
        )
    return counts, sha256, True


def _write_folder(job: PairsJob) -> tuple[Mapping[str, Any], str, bool]:
    """What was counted, the hash of the shards, and whether they were made now."""
    plan, out = job.plan(), job.out
    made = read_made(out / RECIPE_FILE)
    dataset = standing_dataset(out, plan, overwrite=job.overwrite)
    remove_leftovers(out)
    if dataset is not None and _intact_rejects(job.rejects, made):
        return dataset.counts, dataset.digest, False
    _check_rejects(job, made)
    # Only when all pairs are judged is it known how many go into a shard.
    spool = temporary_of(out / shard_name(0))
    try:
        first = out / shard_name(0)
        # Within, before the rejects are blamed, and without, as closing the spool fails once more.
        with _on_full_disk(first), spool.open("wb") as stream, _rejects(job) as rejects, _on_full_disk(first):
            counts, facts = _judge(job, stream, rejects)
            clear_dataset(out)
            write_whole(out / PLAN_FILE, plan.to_json())
            table = read_table(spool)
            size = -(-len(table) // (job.shards or 1))
            starts = range(0, len(table), size)
            receipts = [commit_shard(out, index, table.slice(start, size)) for index, start in enumerate(starts)]
            texts = {RECIPE_FILE: job.recipe(facts), CARD_FILE: job.card(plan, counts)}
            return counts, finalise(out, plan, receipts, job.schema(), texts, counts).digest, True
    finally:
        spool.unlink(missing_ok=True)


@contextmanager
def _on_full_disk(out: Path) -> Iterator[None]:
    """Raise TwinviewsError that names the output when what is written for it finds no room."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise TwinviewsError(
            f"{out} cannot be written ({error.strerror}): make room, then run the same command again"
        ) from None


def _judge(job: PairsJob, stream: BinaryIO, rejects: BinaryIO | None) -> tuple[dict[str, Any], dict[str, str]]:
    """Write the pairs that are kept, and the others where wanted; what was counted, and the hash of the rejects."""
    schema, counts = job.schema(), PairCounts()
    pairs = PairStream(stream, schema)
    dropped = None if rejects is None else PairStream(rejects, schema.append(pa.field(REASON, pa.string())))
    for judged in judged_batches(job.source, job.filters, job.runtime, job.workers):
        counts.add(judged)
        batch = judged.pairs().select(schema.names)
        pairs.add(batch.filter(judged.reasons.is_null()))
        if dropped is not None:
            dropped.add(batch.append_column(REASON, judged.reasons).filter(judged.reasons.is_valid()))
    pairs.close()
    if dropped is None or rejects is None:
        return counts.as_dict(job.source), {}
    dropped.close()
    return counts.as_dict(job.source), {REJECTS_SHA256: sha256_of(Path(rejects.name))}


def _stands_or_may(job: PairsJob, plan: Plan, made: Mapping[str, Any]) -> bool:
    """Whether the pairs stand there; if not they, their recipe, card and rejects may be written."""
    if _stands(job, plan, made):
        return True
    card, recipe = _records(job.out)
    for path, marks in ((recipe, RECIPE_MARKS), (card, CARD_MARKS)):
        if path.exists() and not is_written_by(path, *marks):
            raise InputError(f"{path} is in the way and not ours: move it away, or choose another --out")
    _check_rejects(job, made)
    return False


def _stands(job: PairsJob, plan: Plan, made: Mapping[str, Any]) -> bool:
    """Whether the pairs stand there under this plan, whole."""
    out = job.out
    check_out(out, None)
    if not out.exists():
        return False
    card, recipe = _records(out)
    if job.overwrite and (is_written_by(recipe, *RECIPE_MARKS) or is_written_by(card, *CARD_MARKS)):
        return False
    if "plan" not in made:
        raise InputError(f"{out} has no recipe of ours beside it ({recipe.name}): choose another --out")
    try:
        difference = Plan.model_validate(made["plan"]).difference(plan)
    except ValidationError:
        difference = "of another version of twinviews"
    if difference is not None:
        raise InputError(f"{out} belongs to another recipe, {difference}: choose another --out, or --overwrite it")
    return bool(sha256_of(out) == made["sha256"]) and _intact_rejects(job.rejects, made)


def _rejects(job: PairsJob) -> AbstractContextManager[BinaryIO | None]:
    """A file of rejects that appears when the block ends well; None if none is wanted."""
    return nullcontext() if job.rejects is None else whole_file(job.rejects)


def _intact_rejects(rejects: Path | None, made: Mapping[str, Any]) -> bool:
    """Whether nothing is to be done about rejects: none wanted, or there as the recipe says."""
    return rejects is None or (rejects.is_file() and sha256_of(rejects) == made.get(REJECTS_SHA256))


def _check_rejects(job: PairsJob, made: Mapping[str, Any]) -> None:
    """Make sure that nothing of anybody else's is lost where rejects will be written.

    Raises:
        InputError: Something is there that the recipe does not know, and no rejects that `overwrite` covers.
    """
    rejects, names = job.rejects, set[str]()
    if rejects is None or not rejects.exists() or _intact_rejects(rejects, made):
        return
    with suppress(InputError):
        names.update(read_table(rejects).schema.names)
    if not job.overwrite or not {*PAIR_COLUMNS, REASON} <= names:
        raise InputError(f"--rejects {rejects} exists: choose another file, or --overwrite it if it holds rejects")
