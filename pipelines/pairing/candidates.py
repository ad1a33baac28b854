"""Candidates for pairs in columns, where they come from, and how filters judge and count them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from augment.errors import TwinviewsError
from augment.plugins import blamed
from augment.view import Runtime
from pipelines.filter import ENTRY_POINT_GROUP, About, Filter, PairColumns, Verdicts, make_filter
from pipelines.pairs import NEGATIVE
from pipelines.plan import Plan
from pipelines.shards import BATCH_ROWS
from pipelines.workers import run_workers

TASK_ROWS = 16_000
"""Rows that are read and judged together; a multiple of the rows in a batch of pairs."""
DROPPED, PART, NOTE = ".dropped", ".part", ".note"
"""Columns of candidates that are only counted: reasons, parts of the input, and remarks on pairs that are kept."""


def candidate_rows(
    pairs: Mapping[str, Any],
    reasons: Sequence[str | None] | pa.Array,
    part: str | None = None,
    notes: Sequence[pa.Array] = (),
    negatives: Sequence[str | None] | pa.Array | None = None,
) -> pa.RecordBatch:
    """Rows that may become pairs: the columns of pairs, negatives if there are any, and columns to be counted.

    Reasons say why a row is dropped; a row without both views (null) has one. The part of the input, if it has several,
    is that of all rows. Each of the notes is a remark on the pairs that are kept.
    """
    if negatives is not None:
        pairs = {**pairs, NEGATIVE: pa.array(negatives, pa.string())}
        notes = (*notes, pc.if_else(pairs[NEGATIVE].is_null(), "it has no negative", None))
    parts = pa.repeat(pa.scalar(part, pa.string()), len(reasons))
    counted = {DROPPED: pa.array(reasons, pa.string()), PART: parts}
    counted |= {f"{NOTE} {number}": note for number, note in enumerate(notes)}
    return pa.RecordBatch.from_pydict({**pairs, **counted})


@dataclass(frozen=True)
class PairSource:
    """Where candidates come from: views of sentences, an NLI corpus, or pairs.

    The plan is that of pairs without filters. `unit` names what is read: sentences, rows, ... Each of the `tasks` is
    the candidates of TASK_ROWS input rows, `ways` per row, or what `candidates` makes them from, in any process.
    `made_by` says in the card how each side or source was made, `known` maps the name of a side to what is known about
    it, `columns` has the Arrow types of additional columns.
    """

    plan: Plan
    unit: str
    tasks: Iterator[Any]
    made_by: Mapping[str, str]
    candidates: Callable[[Any], pa.RecordBatch] | None = None
    known: Mapping[str, About] = field(default_factory=dict)
    columns: Mapping[str, pa.DataType] = field(default_factory=dict)
    ways: int = 1


def judged_batches(
    source: PairSource, filters: Sequence[Filter], runtime: Runtime, workers: int
) -> Iterator[pa.RecordBatch]:
    """Judge all candidates, batch by batch in order; a filter does not see what an earlier one dropped.

    Workers run the filters up to the first one that remembers, and prepare what that one needs; their number does not
    change the result. Raises TwinviewsError if a filter breaks its contract or a worker dies.
    """
    first = next((n for n, each in enumerate(filters) if not each.by_row), len(filters))
    ahead, waiting = filters[: first + 1], iter(source.tasks)
    begun = list(islice(waiting, workers))
    tasks, shared = chain(begun, waiting), replace(source, tasks=iter(()))
    judged: Iterable[list[tuple[pa.RecordBatch, Any]]]
    if len(begun) > 1:  # a worker without a task would be started in vain
        written = [each.text() for each in ahead]
        judged = run_workers(partial(_worker, shared, written, runtime), tasks, len(begun))
    else:
        judged = map(partial(_judge_ahead, shared, ahead), tasks)
    for rows, prepared in chain.from_iterable(judged):
        for each in filters[first:]:
            rows, prepared = _judge(each, rows, source.known, prepared), None
        yield rows


def _worker(source: PairSource, filters: Sequence[str], runtime: Runtime, number: int) -> Any:  # noqa: ANN401
    return partial(map, partial(_judge_ahead, source, [make_filter(each, runtime) for each in filters]))


def _judge_ahead(source: PairSource, filters: Sequence[Filter], task: Any) -> list[tuple[pa.RecordBatch, Any]]:  # noqa: ANN401
    """The candidates of a task in batches, judged by filters that judge each pair by itself.

    With each batch comes what the first filter that remembers pairs prepared from those that it will see.
    """
    whole, batches = task if source.candidates is None else source.candidates(task), []
    for start in range(0, len(whole), BATCH_ROWS):
        # A copy: a slice that is sent to another process takes the whole columns along.
        rows, prepared = pa.concat_batches([whole.slice(start, BATCH_ROWS)]), None
        for each in filters:
            if each.by_row:
                rows = _judge(each, rows, source.known)
            elif hasattr(each, "prepare") and len(pairs := _left(rows, source.known)):
                with blamed(ENTRY_POINT_GROUP, each.name):
                    prepared = each.prepare(pairs)
        batches.append((rows, prepared))
    return batches


def _left(rows: pa.RecordBatch, known: Mapping[str, About]) -> PairColumns:
    """The pairs that no filter has dropped so far."""
    return PairColumns(rows.filter(rows[DROPPED].is_null()), known)


def _judge(filter: Filter, rows: pa.RecordBatch, known: Mapping[str, About], prepared: Any = None) -> pa.RecordBatch:  # noqa: ANN401
    """The rows with a filter's verdicts on the pairs left; raises TwinviewsError if their number is wrong."""
    left = rows[DROPPED].is_null()
    with blamed(ENTRY_POINT_GROUP, filter.name):
        if prepared is not None:
            verdicts = filter.settle(prepared)  # type: ignore[attr-defined]
        else:
            pairs = _left(rows, known)
            verdicts = filter(pairs) if len(pairs) else Verdicts([])
        reasons = pa.array(verdicts.reasons, pa.string())
        scores = pa.nulls(left.true_count) if verdicts.scores is None else verdicts.scores
        scores = pa.array(scores, pa.float64())
        for column in (reasons, scores):
            if len(column) != left.true_count:
                said = f"gave {len(column)} verdicts for {left.true_count} pairs: fix the filter"
                raise TwinviewsError(f"filter {filter.name!r} {said}")
    reasons = pc.replace_with_mask(rows[DROPPED], left, reasons)
    rows = rows.set_column(rows.schema.get_field_index(DROPPED), DROPPED, reasons)
    if filter.score is None:
        return rows
    return rows.append_column(filter.score, pc.replace_with_mask(pa.nulls(len(rows), pa.float64()), left, scores))


class PairCounts:
    """Counts of candidates, pairs (by part of the input, too), dropped rows by reason and kept rows by note."""

    def __init__(self) -> None:
        self.seen = self.pairs = 0
        self.groups: dict[str, Counter[str]] = {"parts": Counter(), "dropped": Counter(), "kept": Counter()}

    def add(self, judged: pa.RecordBatch) -> None:
        """Count a batch."""
        identical = pc.if_else(pc.equal(judged["view_a"], judged["view_b"]), "the two views are identical", None)
        kept = judged.append_column(f"{NOTE} identical", identical).filter(judged[DROPPED].is_null())
        self.seen += len(judged)
        self.pairs += len(kept)
        notes = [kept[name] for name in kept.schema.names if name.startswith(NOTE)]
        for group, columns in {"parts": [kept[PART]], "dropped": [judged[DROPPED]], "kept": notes}.items():
            for counted in (each for column in columns for each in column.drop_null().value_counts().to_pylist()):
                self.groups[group][counted["values"]] += counted["counts"]

    def as_dict(self, source: PairSource) -> dict[str, Any]:
        """The counts as JSON; raises TwinviewsError if no pair is left."""
        read = self.seen // source.ways
        if not self.pairs:
            reasons = ", ".join(f"{reason}: {rows}" for reason, rows in self.groups["dropped"].most_common(3))
            raise TwinviewsError(f"no pair is left of {read} {source.unit} ({reasons}): see the reasons")
        groups = {name: dict(sorted(group.items())) for name, group in self.groups.items() if group or name != "parts"}
        return {source.unit: read, "pairs": self.pairs, **groups}
