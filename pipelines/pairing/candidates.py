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
from pipelines.plan import Input
from pipelines.shards import BATCH_ROWS
from pipelines.workers import run_workers

TASK_ROWS = 16_000
"""Rows that are read and judged together; a multiple of the rows in a batch of pairs."""


@dataclass
class Candidates:
    """Rows that may become pairs, in columns of one length.

    `pairs` is a record batch with the columns of pairs, then filters' scores; a row with a missing view (null) has a
    reason. The others are Arrow strings: `reasons` say why a row is dropped, `parts` under which part of the input it
    is counted (null: neither), and each of the `notes` is a remark on pairs that are kept. `prepared` is what the first
    filter that remembers pairs prepared from those that it will see.
    """

    pairs: pa.RecordBatch
    reasons: pa.Array
    parts: pa.Array
    notes: Sequence[pa.Array] = ()
    prepared: Any = None

    def add_negatives(self, negatives: pa.Array) -> "Candidates":
        """Add a column of negatives, and a note for each pair without one."""
        self.pairs = self.pairs.append_column(NEGATIVE, negatives)
        self.notes = (*self.notes, pc.if_else(negatives.is_null(), "it has no negative", None))
        return self

    def batch(self, start: int) -> "Candidates":
        """A copy of up to BATCH_ROWS rows; a slice sent to another process would take the whole column along."""
        columns = (self.reasons, self.parts, *self.notes)
        reasons, parts, *notes = (pa.concat_arrays([each.slice(start, BATCH_ROWS)]) for each in columns)
        return Candidates(pa.concat_batches([self.pairs.slice(start, BATCH_ROWS)]), reasons, parts, notes)

    def left(self, about: Callable[[str], About]) -> PairColumns:
        """The pairs that no filter has dropped so far."""
        return PairColumns(self.pairs.filter(self.reasons.is_null()), about)

    def judge(self, filter: Filter, about: Callable[[str], About]) -> None:
        """Record a filter's verdicts on the pairs left; raises TwinviewsError if their number is wrong."""
        with blamed(ENTRY_POINT_GROUP, filter.name):
            if self.prepared is not None:
                verdicts, self.prepared = filter.settle(self.prepared), None  # type: ignore[attr-defined]
            else:
                pairs = self.left(about)
                verdicts = filter(pairs) if len(pairs) else Verdicts([])
            left, rows = self.reasons.is_null(), len(self.reasons)
            scores = pa.nulls(left.true_count) if verdicts.scores is None else verdicts.scores
            columns = pa.array(verdicts.reasons, pa.string()), pa.array(scores, pa.float64())
            for column in columns:
                if len(column) != left.true_count:
                    said = f"gave {len(column)} verdicts for {left.true_count} pairs: fix the filter"
                    raise TwinviewsError(f"filter {filter.name!r} {said}")
            self.reasons = pc.replace_with_mask(self.reasons, left, columns[0])
            if filter.score is not None:
                scored = pc.replace_with_mask(pa.nulls(rows, pa.float64()), left, columns[1])
                self.pairs = self.pairs.append_column(filter.score, scored)


@dataclass(frozen=True)
class PairSource:
    """Where candidates come from: views of sentences, an NLI corpus, or pairs.

    `unit` names what is read: sentences, rows, ... Each of the `tasks` is the candidates of TASK_ROWS input rows,
    `ways` per row, or what `candidates` makes them from, in any process. `about` maps the name of a side to what is
    known about it, `columns` has the Arrow types of additional columns. `params`, inputs, seed and limit decide the
    candidates; `made_by` says in the card how each side or source was made.
    """

    policy: str
    unit: str
    inputs: Sequence[Input]
    tasks: Iterator[Any]
    candidates: Callable[[Any], Candidates] | None = None
    about: Callable[[str], About] = About
    params: Mapping[str, Any] = field(default_factory=dict)
    made_by: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, pa.DataType] = field(default_factory=dict)
    seed: int | None = None
    limit: int | None = None
    ways: int = 1


def judged_batches(
    source: PairSource, filters: Sequence[Filter], runtime: Runtime, workers: int
) -> Iterator[Candidates]:
    """Judge all candidates, batch by batch in order; a filter does not see what an earlier one dropped.

    Workers run the filters up to the first one that remembers, and prepare what that one needs; their number does not
    change the result. Raises TwinviewsError if a filter breaks its contract or a worker dies.
    """
    first = next((n for n, each in enumerate(filters) if not each.by_row), len(filters))
    ahead, waiting = filters[: first + 1], iter(source.tasks)
    begun = list(islice(waiting, workers))
    tasks, shared = chain(begun, waiting), replace(source, tasks=iter(()))
    judged: Iterable[list[Candidates]]
    if len(begun) > 1:  # a worker without a task would be started in vain
        written = [each.text() for each in ahead]
        judged = run_workers(partial(_worker, shared, written, runtime), tasks, len(begun), ordered=True)
    else:
        judged = map(partial(_judge_ahead, shared, ahead), tasks)
    for batch in chain.from_iterable(judged):
        for each in filters[first:]:
            batch.judge(each, source.about)
        yield batch


def _worker(source: PairSource, filters: Sequence[str], runtime: Runtime, number: int) -> Any:  # noqa: ANN401
    return partial(map, partial(_judge_ahead, source, [make_filter(each, runtime) for each in filters]))


def _judge_ahead(source: PairSource, filters: Sequence[Filter], task: Any) -> list[Candidates]:  # noqa: ANN401
    """The candidates of a task in batches, judged by filters that judge each pair by itself."""
    whole = task if source.candidates is None else source.candidates(task)
    batches = [whole.batch(start) for start in range(0, whole.pairs.num_rows, BATCH_ROWS)]
    for batch in batches:
        for each in filters:
            if each.by_row:
                batch.judge(each, source.about)
            elif hasattr(each, "prepare") and len(pairs := batch.left(source.about)):
                with blamed(ENTRY_POINT_GROUP, each.name):
                    batch.prepared = each.prepare(pairs)
    return batches


class PairCounts:
    """Counts of candidates, pairs (by part of the input, too), dropped rows by reason and kept rows by note."""

    def __init__(self) -> None:
        self.seen = self.pairs = 0
        self.groups: dict[str, Counter[str]] = {"parts": Counter(), "dropped": Counter(), "kept": Counter()}

    def add(self, judged: Candidates) -> None:
        """Count a batch."""
        kept, pairs = judged.reasons.is_null(), judged.pairs
        self.seen += len(kept)
        self.pairs += kept.true_count
        identical = pc.if_else(pc.equal(pairs["view_a"], pairs["view_b"]), "the two views are identical", None)
        notes = [each.filter(kept) for each in (*judged.notes, identical)]
        columns = {"parts": [judged.parts.filter(kept)], "dropped": [judged.reasons], "kept": notes}
        for group, arrays in columns.items():
            for counted in (each for array in arrays for each in array.drop_null().value_counts().to_pylist()):
                self.groups[group][counted["values"]] += counted["counts"]

    def as_dict(self, source: PairSource) -> dict[str, Any]:
        """The counts as JSON; raises TwinviewsError if no pair is left."""
        read = self.seen // source.ways
        if not self.pairs:
            reasons = ", ".join(f"{reason}: {rows}" for reason, rows in self.groups["dropped"].most_common(3))
            raise TwinviewsError(f"no pair is left of {read} {source.unit} ({reasons}): see the reasons")
        groups = {name: dict(sorted(group.items())) for name, group in self.groups.items() if group or name != "parts"}
        return {source.unit: read, "pairs": self.pairs, **groups}
