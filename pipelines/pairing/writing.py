"""Candidates to pairs on disk: filtered, counted by reason, written whole, with recipe and card beside them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeAlias

from augment.errors import InputError, TwinviewsError
from augment.plugins import blamed
from pipelines.card import PAIRS_TITLE, pairs_card
from pipelines.claim import claim, remove_leftovers
from pipelines.files import beside, remove_temporaries, sha256_of, whole_file, write_whole
from pipelines.filter import ENTRY_POINT_GROUP, Filter, PairColumns, Verdicts
from pipelines.folder import CARD_FILE, RECIPE_FILE, finalise, finished_dataset, valid_counts
from pipelines.lock import locked_file, locked_folder
from pipelines.pairing.candidates import PairCounts, PairSource, Rows
from pipelines.pairing.rejects import REASON, check_rejects, intact_rejects, open_rejects, rejects_facts
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import PLAN_FILE, Plan
from pipelines.recipe import is_recipe_of, read_made, recipe_text
from pipelines.shards import BATCH_ROWS, Receipt, commit_shard

Choice: TypeAlias = tuple[Any, Any]
"""Of a batch of pairs, an Arrow array of which are kept, and a record batch of the scores of those."""


@dataclass(frozen=True, slots=True)
class PairsJob:
    """Where candidates come from, the filters that they pass in turn, and what the recipe says of all that."""

    source: PairSource
    filters: tuple[Filter, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    shards: int | None = None

    def plan(self) -> Plan:
        """Everything that decides the pairs."""
        source = self.source
        filters = [each.spec.signature() for each in self.filters]
        return Plan(
            kind="pairs",
            name=source.policy,
            params={**source.params(), "filter": filters, "shards": self.shards},
            seed=source.seed,
            limit=source.limit,
            shard_size=0,
            inputs=tuple(source.inputs()),
        )

    def recipe(self, **made: Any) -> str:  # noqa: ANN401 - JSON values
        """The resolved recipe; what is under `made` is for the reader and for the next run."""
        options = {**self.options, "limit": self.source.limit, "shards": self.shards}
        return recipe_text("build-pairs", options, **({"made": made} if made else {}))

    def card(self, plan: Plan, counts: Mapping[str, Any]) -> str:
        """The card."""
        return pairs_card(
            plan,
            counts,
            self.source.made_by(),
            unit=self.source.unit,
            filters=[each.spec.signature() for each in self.filters],
            columns=self.schema().names,
        )

    def schema(self) -> Any:  # noqa: ANN401 - a pyarrow schema
        """The columns of the pairs: what all have, what the source adds, and one a filter that gives scores.

        Raises:
            InputError: A filter would write a column that holds something else.
        """
        import pyarrow as pa

        fields = {**dict.fromkeys(PAIR_COLUMNS, pa.string()), **self.source.columns()}
        for each in self.filters:
            score = each.spec.score
            if score is None:
                continue
            if fields.get(score, pa.float64()) != pa.float64() or score == REASON:
                raise InputError(f"--filter {each.spec.name} writes {score!r}, a column of the pairs: leave it out")
            fields[score] = pa.float64()
        return pa.schema(list(fields.items()))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs on disk: where, what was counted, and whether they were made now."""

    path: Path
    counts: Mapping[str, Any]
    made: bool


def judged(job: PairsJob, counts: PairCounts) -> Iterator[tuple[Any, Any]]:
    """Batches of pairs in the columns of the job, each with an Arrow array of why they are dropped; null where not.

    Filters are applied in turn, and what one drops the next does not see: its column is null there.

    Raises:
        TwinviewsError: A filter broke its contract (other number of verdicts).
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = job.schema().names
    for batch in Rows(job.source.candidates()).cut(BATCH_ROWS):
        pairs, reasons = pa.RecordBatch.from_struct_array(batch["pair"]), batch["reason"]
        seen: PairColumns | None = None
        for each in job.filters:
            left = reasons.is_null()
            if seen is None:
                seen = PairColumns(pairs.filter(left), job.source.about)
            with blamed(ENTRY_POINT_GROUP, each.spec.name):
                found, scores = (each(seen) if len(seen) else Verdicts([])).columns(each.spec, len(seen))
            if each.spec.score is not None:
                pairs = _scored(pairs, each.spec.score, left, scores)
            reasons = pc.replace_with_mask(reasons, left, found)
            if found.null_count < len(found):
                seen = None
        counts.add(batch, reasons)
        yield pairs.select(names), reasons


def _scored(pairs: Any, name: str, judged: Any, scores: Any) -> Any:  # noqa: ANN401 - pyarrow values
    """The pairs with scores in a column for those that were judged."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = pairs.schema.get_field_index(name)
    column = pairs.column(place) if place >= 0 else pa.nulls(pairs.num_rows, pa.float64())
    column = pc.replace_with_mask(column, judged, scores)
    return pairs.set_column(place, name, column) if place >= 0 else pairs.append_column(name, column)


def write_pairs(job: PairsJob, out: Path, *, rejects: Path | None = None, overwrite: bool = False) -> Pairs:
    """Write pairs: one IPC stream file with recipe and card beside it, or with `shards` a dataset folder.

    Args:
        job: What to write.
        out: The file, or the folder.
        rejects: Where to write the candidates that were dropped, with their reason, as an IPC stream file.
        overwrite: Replace pairs and rejects that we wrote before.

    Raises:
        InputError: `out` belongs to another recipe, is not ours or is read from, or something else is at `rejects`.
        TwinviewsError: No pair is left.
    """
    if rejects is not None and rejects.absolute() in (out.absolute(), *(path.absolute() for path in _records(out))):
        raise InputError(f"--rejects {rejects} is where the pairs are written: choose another file")
    if out.resolve() in [Path(item.name).resolve() for item in job.source.inputs()]:
        raise InputError(f"--out {out} is what the pairs are made from: choose another --out")
    job.schema()  # a clash of columns is told before anything is looked at or written
    with ExitStack() as held:
        held.enter_context(locked_folder(out) if job.shards else locked_file(out))
        if rejects is not None:
            held.enter_context(locked_file(rejects))
            remove_temporaries(rejects)
        return (_write_folder if job.shards else _write_file)(job, out, rejects, overwrite)


def _records(out: Path) -> tuple[Path, Path]:
    return beside(out, "card.md"), beside(out, "recipe.json")


def _write_file(job: PairsJob, out: Path, rejects: Path | None, overwrite: bool) -> Pairs:
    plan = job.plan()
    card, recipe = _records(out)
    remove_temporaries(out, card, recipe)
    made = read_made(recipe)
    counts = _standing_file(out, plan, made, rejects, overwrite)
    if counts is not None:
        return Pairs(out, counts, made=False)
    _check_records(card, recipe)
    check_rejects(rejects, made, overwrite=overwrite)
    # What was rejected is put in place first, then the pairs: whoever sees them sees all that belongs to them.
    with whole_file(out) as stream, open_rejects(rejects) as rejected:
        with _Writer(stream, job.schema()) as writer:
            counts = _fill(job, lambda pairs, kept: writer.add(pairs.filter(kept)), rejected)
        stream.flush()
        facts = {"plan": plan.model_dump(mode="json"), "counts": counts, "sha256": sha256_of(Path(stream.name))}
        # Recipe and card before both: pairs whose recipe is missing would belong to nobody.
        write_whole(card, job.card(plan, counts))
        write_whole(recipe, job.recipe(**facts, **rejects_facts(rejected)))
    return Pairs(out, counts, made=True)


def _check_records(card: Path, recipe: Path) -> None:
    """Make sure that what the card and the recipe will replace is a card and a recipe of pairs, or nothing.

    Raises:
        InputError: It is something else.
    """
    ours = {recipe: is_recipe_of("build-pairs", recipe)}
    if card.is_file():
        with card.open("rb") as stream:
            ours[card] = stream.read(len(PAIRS_TITLE)) == PAIRS_TITLE.encode()
    for path, is_ours in ours.items():
        if path.exists() and not is_ours:
            raise InputError(f"{path} is in the way and not ours: move it away, or choose another --out")


def _write_folder(job: PairsJob, out: Path, rejects: Path | None, overwrite: bool) -> Pairs:
    plan = job.plan()
    made = read_made(out / RECIPE_FILE)
    standing = claim(out, plan, overwrite=overwrite)
    remove_leftovers(out)
    finished = None if standing is None else finished_dataset(out, standing)
    if finished is not None and intact_rejects(rejects, made):
        return Pairs(out, finished.counts, made=False)
    check_rejects(rejects, made, overwrite=overwrite)
    with open_rejects(rejects) as rejected:
        scored = [each.spec.score for each in job.filters if each.spec.score is not None]
        choices: list[Choice] = []
        counts = _fill(job, lambda pairs, kept: choices.append((kept, pairs.filter(kept).select(scored))), rejected)
        write_whole(out / PLAN_FILE, plan.to_json())
        receipts = _cut(Rows(Rows(_chosen(job, choices)).cut(BATCH_ROWS)), counts["pairs"], job, out)
        texts = {RECIPE_FILE: job.recipe(**rejects_facts(rejected)), CARD_FILE: job.card(plan, counts)}
        return Pairs(out, finalise(out, plan, receipts, job.schema(), texts, counts).counts, made=True)


def _chosen(job: PairsJob, choices: Sequence[Choice]) -> Iterator[Any]:
    """The pairs that were chosen, read again: what is judged may be more than memory holds, the choice is not."""
    import pyarrow as pa

    names = job.schema().names
    batches = Rows(job.source.candidates()).cut(BATCH_ROWS)
    for batch, (kept, scores) in zip(batches, choices, strict=True):
        pairs = pa.RecordBatch.from_struct_array(batch["pair"]).filter(kept)
        columns = {name: pairs[name] for name in pairs.schema.names} | {
            name: scores[name] for name in scores.schema.names
        }
        yield pa.RecordBatch.from_pydict({name: columns[name] for name in names})


def _cut(pairs: Rows, count: int, job: PairsJob, out: Path) -> list[Receipt]:
    """Write pairs, `count` in all, as at most so many shards of a folder as were asked for."""
    import pyarrow as pa

    size = -(-count // (job.shards or 1))
    starts = enumerate(range(0, count, size))
    return [commit_shard(out, index, pa.Table.from_batches(pairs.take_parts(size))) for index, _ in starts]


def _fill(job: PairsJob, keep: Callable[[Any, Any], None], rejected: BinaryIO | None) -> dict[str, Any]:
    """Judge all pairs and write rejects into an open file; return the counts.

    Args:
        job: What to judge.
        keep: Takes every batch of pairs and an Arrow array of which are kept.
        rejected: Where what was dropped is written, if it is.

    Raises:
        TwinviewsError: No pair is left.
    """
    import pyarrow as pa

    counts = PairCounts(job.source.ways)
    with ExitStack() as held:
        schema = job.schema().append(pa.field(REASON, pa.string()))
        lost = None if rejected is None else held.enter_context(_Writer(rejected, schema))
        for pairs, reasons in judged(job, counts):
            keep(pairs, reasons.is_null())
            if lost is not None:
                lost.add(pairs.append_column(REASON, reasons).filter(reasons.is_valid()))
    if not counts.pairs:
        reasons = ", ".join(f"{reason}: {rows}" for reason, rows in counts.dropped.most_common(3))
        raise TwinviewsError(f"no pair is left of {counts.read} {job.source.unit} ({reasons}): see the reasons")
    if rejected is not None:
        rejected.flush()
    return counts.as_dict(job.source.unit)


class _Writer(AbstractContextManager["_Writer"]):
    """Pairs into an IPC stream, in full batches however few come at once."""

    def __init__(self, stream: BinaryIO, schema: Any) -> None:  # noqa: ANN401 - a pyarrow schema
        import pyarrow as pa

        self._waiting: list[Any] = []
        self._writer = pa.ipc.new_stream(pa.PythonFile(stream, "w"), schema)

    def add(self, pairs: Any) -> None:  # noqa: ANN401 - a record batch
        self._waiting.append(pairs)
        if sum(map(len, self._waiting)) >= BATCH_ROWS:
            self._write()

    def _write(self) -> None:
        """Write a batch of what waits."""
        rows = Rows(self._waiting)
        self._writer.write_batch(rows.take(BATCH_ROWS))
        self._waiting = rows.take_parts(BATCH_ROWS)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            if any(map(len, self._waiting)):
                self._write()
            self._writer.close()


def _standing_file(
    out: Path, plan: Plan, made: Mapping[str, Any], rejects: Path | None, overwrite: bool
) -> Mapping[str, Any] | None:
    """The counts of the pairs that stand at `out` under this plan, None if they are to be written."""
    if out.is_dir():
        raise InputError(f"{out} is a folder, a file is to be written: choose another --out, or give --shards")
    if not out.exists():
        return None
    try:
        standing, counts, sha256 = Plan.model_validate(made["plan"]), made["counts"], made["sha256"]
    except (ValueError, KeyError):
        recipe = beside(out, "recipe.json").name
        raise InputError(f"{out} has no recipe of ours beside it ({recipe}): choose another --out") from None
    if overwrite:
        return None
    difference = standing.difference(plan)
    if difference is not None:
        raise InputError(f"{out} belongs to another recipe, {difference}: choose another --out, or --overwrite it")
    is_whole = sha256_of(out) == sha256 and intact_rejects(rejects, made)
    return valid_counts("pairs", counts) if is_whole else None
