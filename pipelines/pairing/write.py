"""Pairs and rejects on disk: written whole, one file or a folder of shards, with recipe and card beside them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from augment.errors import InputError, TwinviewsError
from augment.view import Runtime
from pipelines.card import PAIRS_TITLE, pairs_card
from pipelines.claim import clear_dataset, remove_leftovers, standing_dataset
from pipelines.console import note
from pipelines.files import beside, is_sealed, is_written_by, remove_temporaries, sha256_of, whole_file, write_whole
from pipelines.filter import Filter
from pipelines.folder import CARD_FILE, RECIPE_FILE, REPORT_FILE, finalise
from pipelines.lock import locked_file, locked_folder
from pipelines.pairing.judge import PairCounts, judged_batches
from pipelines.pairing.source import PairSource
from pipelines.pairing.streams import PairStream, recut
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import PLAN_FILE, Plan
from pipelines.recipe import read_made, recipe_text
from pipelines.shards import BATCH_ROWS, Receipt, commit_shard, read_table

REASON = "reason"
REJECTS_SHA256 = "rejects_sha256"
"""Where the recipe of the pairs has the hash of the rejects: by it the next run knows that they are ours."""
CARD_MARKS = (PAIRS_TITLE.encode(), b"<!-- checksum ")
RECIPE_MARKS = (b'"command": "build-pairs"', b'"command": "mine-negatives"', b'"pairs": "')
"""By any of these a damaged card or recipe is still known as ours."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs on disk: where, what was counted, and whether they were made now."""

    path: Path
    counts: Mapping[str, Any]
    made: bool


@dataclass(frozen=True)
class PairsJob:
    """What is to be written, and where.

    Attributes:
        source: Where candidates come from.
        filters: What they pass in turn.
        out: The file, or with `shards` the folder.
        rejects: Where to write what was dropped, with its reason, as an IPC stream file.
        shards: The most shards of a folder; None for one file.
        options: What the recipe says beside the limit and the shards.
        overwrite: Replace pairs and rejects that we wrote before.
        runtime: What worker processes build their filters with.
        workers: How many there are.
        command: What makes the pairs.
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
        return recipe_text(self.command, options, **({"made": made} if made else {}))

    def card(self, plan: Plan, counts: Mapping[str, Any]) -> str:
        """The card."""
        source, columns = self.source, self.schema().names
        return pairs_card(plan, counts, source.made_by, unit=source.unit, filters=self._signatures, columns=columns)

    def schema(self) -> Any:  # noqa: ANN401 - a pyarrow schema
        """The columns of the pairs: what all have, what the source adds, and one a filter that gives scores.

        Raises:
            InputError: A filter would write a column that holds something else.
        """
        import pyarrow as pa

        fields = {**dict.fromkeys(PAIR_COLUMNS, pa.string()), **self.source.columns}
        for each in self.filters:
            score = each.spec.score
            if score is None:
                continue
            if fields.get(score, pa.float64()) != pa.float64() or score == REASON:
                raise InputError(f"--filter {each.spec.name} writes {score!r}, a column of the pairs: leave it out")
            fields[score] = pa.float64()
        return pa.schema(list(fields.items()))


def write_pairs(job: PairsJob) -> Pairs:
    """Write pairs: one IPC stream file with recipe and card beside it, or a dataset folder; and their report.

    Raises:
        InputError: The output belongs to another recipe, is not ours or is read from, or something else is in the way
            of the rejects.
        TwinviewsError: No pair is left.
    """
    out, rejects = job.out, job.rejects
    report = out / REPORT_FILE if job.shards else beside(out, REPORT_FILE)
    written = [path.absolute() for path in (out, report, *_records(out))]
    if rejects is not None and rejects.absolute() in written:
        raise InputError(f"--rejects {rejects} is where the pairs are written: choose another file")
    _check_out(job)
    job.schema()  # a clash of columns is told before anything is looked at or written
    with ExitStack() as held:
        held.enter_context(locked_folder(out) if job.shards else locked_file(out))
        for each in (report, *([] if rejects is None else [rejects])):
            held.enter_context(locked_file(each))
            remove_temporaries(each)
        pairs, digest = _write_folder(job) if job.shards else _write_file(job)
        _write_report(report, pairs, digest)
    return pairs


def is_there(job: PairsJob) -> bool:
    """Whether `write_pairs` would find the file of these pairs whole in its place.

    Raises:
        InputError: Something else is there, or the pairs are made from it.
    """
    _check_out(job)
    return _stands(job, job.plan(), read_made(_records(job.out)[1]))


def _check_out(job: PairsJob) -> None:
    if job.out.resolve() in [Path(item.name).resolve() for item in job.source.inputs]:
        raise InputError(f"--out {job.out} is what the pairs are made from: choose another --out")


def _write_report(report: Path, pairs: Pairs, digest: str) -> None:
    """Write the report, if none of these very pairs is there; they are made, so what prevents it is a note."""
    from pipelines.look.report import report_pairs

    content = report.read_bytes() if report.is_file() else b""
    if not (is_sealed(content) and digest.encode() in content):
        try:
            report_pairs(pairs.path, report)
        except (TwinviewsError, OSError) as error:
            note(f"no report was written: {error}")


def _records(out: Path) -> tuple[Path, Path]:
    return beside(out, CARD_FILE), beside(out, RECIPE_FILE)


def _write_file(job: PairsJob) -> tuple[Pairs, str]:
    """The pairs, and the hash of their file."""
    plan, out = job.plan(), job.out
    card, recipe = _records(out)
    remove_temporaries(out, card, recipe)
    made = read_made(recipe)
    if _stands(job, plan, made):
        if not (card.is_file() and is_sealed(card.read_bytes())):
            write_whole(card, job.card(Plan.model_validate(made["plan"]), made["counts"]))
        return Pairs(out, made["counts"], made=False), made["sha256"]
    for path, marks in ((recipe, RECIPE_MARKS), (card, CARD_MARKS)):
        if path.exists() and not is_written_by(path, *marks):
            raise InputError(f"{path} is in the way and not ours: move it away, or choose another --out")
    _check_rejects(job, made)
    # What was rejected is put in place first, then the pairs: whoever sees them sees all that belongs to them.
    with whole_file(out) as stream, _rejects(job) as rejects:
        counts, pairs = PairCounts(), PairStream(stream, job.schema())
        for batch, kept in _filtered(job, counts, rejects):
            pairs.add(batch.filter(kept))
        counted, sha256 = counts.as_dict(job.source), pairs.close()
        facts = {"plan": plan.model_dump(mode="json"), "counts": counted, "sha256": sha256}
        facts |= {} if rejects is None else {REJECTS_SHA256: rejects.close()}
        # Recipe and card before both: pairs whose recipe is missing would belong to nobody.
        write_whole(card, job.card(plan, counted))
        write_whole(recipe, job.recipe(facts))
    return Pairs(out, counted, made=True), sha256


def _filtered(job: PairsJob, counts: PairCounts, rejects: PairStream | None) -> Iterator[tuple[Any, Any]]:
    """Batches of pairs in the columns of the job, and which are kept; counted, the others written as rejects."""
    names = job.schema().names
    for judged, reasons, candidates in judged_batches(job.source, job.filters, job.runtime, job.workers):
        counts.add(candidates, reasons)
        pairs = judged.select(names)
        yield pairs, reasons.is_null()
        if rejects is not None:
            rejects.add(pairs.append_column(REASON, reasons).filter(reasons.is_valid()))


def _stands(job: PairsJob, plan: Plan, made: Mapping[str, Any]) -> bool:
    """Whether the pairs stand there under this plan, whole; if not they may be written."""
    out = job.out
    if out.is_dir():
        raise InputError(f"{out} is a folder, a file is to be written: choose another --out, or give --shards")
    if not out.exists():
        return False
    card, recipe = _records(out)
    if job.overwrite and (is_written_by(recipe, *RECIPE_MARKS) or is_written_by(card, *CARD_MARKS)):
        return False
    if "plan" not in made:
        raise InputError(f"{out} has no recipe of ours beside it ({recipe.name}): choose another --out")
    difference = Plan.model_validate(made["plan"]).difference(plan)
    if difference is not None:
        raise InputError(f"{out} belongs to another recipe, {difference}: choose another --out, or --overwrite it")
    return bool(sha256_of(out) == made["sha256"]) and _intact_rejects(job.rejects, made)


def _write_folder(job: PairsJob) -> tuple[Pairs, str]:
    """The pairs, and the hash of their shards."""
    plan, out = job.plan(), job.out
    made = read_made(out / RECIPE_FILE)
    dataset = standing_dataset(out, plan, overwrite=job.overwrite)
    remove_leftovers(out)
    if dataset is not None and _intact_rejects(job.rejects, made):
        return Pairs(out, dataset.counts, made=False), dataset.digest
    _check_rejects(job, made)
    with _rejects(job) as rejects:
        counts = PairCounts()
        scores = [each.spec.score for each in job.filters if each.spec.score is not None]
        chosen = []
        for batch, kept in _filtered(job, counts, rejects):
            chosen.append((kept, batch.filter(kept).select(scores)))
        counted = counts.as_dict(job.source)
        clear_dataset(out)
        write_whole(out / PLAN_FILE, plan.to_json())
        receipts = _commit_shards(job, recut(_chosen(job, chosen), BATCH_ROWS), counted["pairs"])
        facts = {} if rejects is None else {REJECTS_SHA256: rejects.close()}
        texts = {RECIPE_FILE: job.recipe(facts), CARD_FILE: job.card(plan, counted)}
        dataset = finalise(out, plan, receipts, job.schema(), texts, counted)
    return Pairs(out, counted, made=True), dataset.digest


def _chosen(job: PairsJob, chosen: Sequence[tuple[Any, Any]]) -> Iterator[Any]:
    """The pairs that were kept, read again: what is judged may be more than memory holds, the choice is not."""
    import pyarrow as pa

    left = iter(chosen)
    for task in job.source.tasks():
        pairs = job.source.candidates(task).pairs
        for start in range(0, pairs.num_rows, BATCH_ROWS):
            kept, scores = next(left)
            batch = pairs.slice(start, BATCH_ROWS).filter(kept)
            columns = {name: each[name] for each in (batch, scores) for name in each.schema.names}
            yield pa.RecordBatch.from_pydict({name: columns[name] for name in job.schema().names})


def _commit_shards(job: PairsJob, batches: Iterator[Any], count: int) -> list[Receipt]:
    """Write pairs, `count` in all, as at most so many shards of a folder as were asked for."""
    import pyarrow as pa

    size = -(-count // (job.shards or 1))
    waiting = job.schema().empty_table()
    receipts: list[Receipt] = []
    for index, start in enumerate(range(0, count, size)):
        rows = min(size, count - start)
        while waiting.num_rows < rows:
            waiting = pa.concat_tables([waiting, pa.Table.from_batches([next(batches)])])
        receipts.append(commit_shard(job.out, index, waiting.slice(0, rows)))
        waiting = waiting.slice(rows)
    return receipts


@contextmanager
def _rejects(job: PairsJob) -> Iterator[PairStream | None]:
    """A stream of rejects that appears when the block ends well; None if none is wanted."""
    import pyarrow as pa

    if job.rejects is None:
        yield None
        return
    with whole_file(job.rejects) as stream:
        yield PairStream(stream, job.schema().append(pa.field(REASON, pa.string())))


def _intact_rejects(rejects: Path | None, made: Mapping[str, Any]) -> bool:
    """Whether nothing is to be done about rejects: none wanted, or there as the recipe says."""
    return rejects is None or (rejects.is_file() and sha256_of(rejects) == made.get(REJECTS_SHA256))


def _check_rejects(job: PairsJob, made: Mapping[str, Any]) -> None:
    """Make sure that nothing of anybody else's is lost where rejects will be written.

    Raises:
        InputError: Something is there that the recipe does not know and that `overwrite` does not cover.
    """
    rejects = job.rejects
    if rejects is None or not rejects.exists() or _intact_rejects(rejects, made):
        return
    if not job.overwrite:
        raise InputError(f"--rejects {rejects} exists: choose another file, or --overwrite it")
    try:
        names = set(read_table(rejects).schema.names)
    except InputError:
        names = set()
    if not {*PAIR_COLUMNS, REASON} <= names:
        raise InputError(f"--rejects {rejects} is no file of rejects of ours: choose another file")
