"""Candidates through the filters: judged in any process, then in one, in order, where filters may remember."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from augment.errors import TwinviewsError
from augment.plugins import blamed
from augment.view import Runtime
from pipelines.filter import ENTRY_POINT_GROUP, About, Filter, PairColumns, Verdicts, make_filter
from pipelines.pairing.source import Candidates, PairSource
from pipelines.shards import BATCH_ROWS
from pipelines.workers import run_workers


@dataclass
class Judged:
    """A batch of candidates on its way through the filters.

    Attributes:
        candidates: The batch.
        reasons: Arrow strings: why each is dropped, null where it is not.
        scores: By column, a filter's scores: Arrow floats, null for what it did not see.
        prepared: What the first filter that remembers prepared of those that it will see.
    """

    candidates: Candidates
    reasons: pa.Array
    scores: dict[str, pa.Array] = field(default_factory=dict)
    prepared: Any = None

    def seen(self, about: Callable[[str], About]) -> PairColumns:
        """The pairs that no filter dropped so far."""
        return PairColumns(self.candidates.pairs.filter(self.reasons.is_null()), about)

    def take(self, filter: Filter, verdicts: Verdicts) -> None:
        """Take in what a filter says of the pairs that it saw.

        Raises:
            TwinviewsError: It gave another number of verdicts.
        """
        seen, rows = self.reasons.is_null(), len(self.reasons)
        reasons, scores = verdicts.columns(filter.spec.name, seen.true_count)
        if filter.spec.score is not None:
            self.scores[filter.spec.score] = pc.replace_with_mask(pa.nulls(rows, pa.float64()), seen, scores)
        self.reasons = pc.replace_with_mask(self.reasons, seen, reasons)

    def pairs(self) -> pa.RecordBatch:
        """The candidates with their scores."""
        pairs = self.candidates.pairs
        for name, scores in self.scores.items():
            others = [other for other in pairs.schema.names if other != name]
            pairs = pairs.select(others).append_column(name, scores)
        return pairs


def judged_batches(source: PairSource, filters: Sequence[Filter], runtime: Runtime, workers: int) -> Iterator[Judged]:
    """Judge all candidates, batch after batch in their order; what one filter drops the next does not see.

    Workers, whose number decides nothing else, judge up to the first filter that does not judge each pair by itself,
    and prepare what that one needs.

    Raises:
        TwinviewsError: A filter broke its contract, or a worker died.
    """
    first = next((n for n, each in enumerate(filters) if not getattr(each, "by_row", False)), len(filters))
    written = [each.spec.text() for each in filters[: first + 1]]
    waiting = iter(source.tasks)
    begun = list(islice(waiting, workers))
    workers, tasks = len(begun), chain(begun, waiting)  # no process without a task
    looked: Iterable[list[Judged]] = map(partial(_look, source.candidates, source.about, filters[: first + 1]), tasks)
    if workers > 1:
        build = partial(_build, source.candidates, source.about, written, runtime)
        looked = run_workers(build, tasks, workers)
    for batches in looked:
        for judged in batches:
            for each in filters[first:]:
                seen = judged.seen(source.about)
                with blamed(ENTRY_POINT_GROUP, each.spec.name):
                    if judged.prepared is None:
                        judged.take(each, each(seen) if len(seen) else Verdicts([]))
                    else:
                        judged.take(each, each.settle(judged.prepared))  # type: ignore[attr-defined]
                        judged.prepared = None
            yield judged


def _build(candidates: Any, about: Any, filters: Sequence[str], runtime: Runtime, number: int) -> Any:  # noqa: ANN401
    """What a worker does with tasks."""
    return partial(map, partial(_look, candidates, about, [make_filter(each, runtime) for each in filters]))


def _look(
    candidates: Callable[[Any], Candidates],
    about: Callable[[str], About],
    filters: Sequence[Filter],
    task: Any,  # noqa: ANN401 - whatever the source's tasks are
) -> list[Judged]:
    """Judge the candidates of a task by the filters that judge each pair by itself."""
    whole, batches = candidates(task), []
    for start in range(0, whole.pairs.num_rows, BATCH_ROWS):
        batch = _slice(whole, start)
        judged = Judged(batch, batch.reasons)
        for each in filters:
            seen = judged.seen(about)
            with blamed(ENTRY_POINT_GROUP, each.spec.name):
                if getattr(each, "by_row", False):
                    judged.take(each, each(seen) if len(seen) else Verdicts([]))
                elif hasattr(each, "prepare") and len(seen):
                    judged.prepared = each.prepare(seen)
        batches.append(judged)
    return batches


def _slice(whole: Candidates, start: int) -> Candidates:
    """A batch of candidates as copies, as a slice would be sent between processes with all that it was cut from."""

    def cut(column: pa.Array) -> pa.Array:
        return pa.concat_arrays([column.slice(start, BATCH_ROWS)])

    pairs = pa.concat_batches([whole.pairs.slice(start, BATCH_ROWS)])
    return Candidates(pairs, cut(whole.reasons), cut(whole.parts), [cut(each) for each in whole.notes])


class PairCounts:
    """Candidates seen, pairs kept (by part of the input, too), rows dropped by reason, and kept ones to know of."""

    def __init__(self) -> None:
        self.seen = self.pairs = 0
        self.groups: dict[str, Counter[str]] = {"parts": Counter(), "dropped": Counter(), "kept": Counter()}

    def add(self, judged: Judged) -> None:
        """Count candidates, and what became of them."""
        kept, candidates = judged.reasons.is_null(), judged.candidates
        self.seen += len(kept)
        self.pairs += kept.true_count
        same = pc.equal(candidates.pairs["view_a"], candidates.pairs["view_b"])
        identical = pc.if_else(same, "the two views are identical", None)
        notes = [each.filter(kept) for each in (*candidates.notes, identical)]
        columns = {"parts": [candidates.parts.filter(kept)], "dropped": [judged.reasons], "kept": notes}
        for group, arrays in columns.items():
            for counted in (each for array in arrays for each in array.drop_null().value_counts().to_pylist()):
                self.groups[group][counted["values"]] += counted["counts"]

    def as_dict(self, source: PairSource) -> dict[str, Any]:
        """The counts as JSON.

        Raises:
            TwinviewsError: No pair is left.
        """
        read = self.seen // source.ways
        if not self.pairs:
            reasons = ", ".join(f"{reason}: {rows}" for reason, rows in self.groups["dropped"].most_common(3))
            raise TwinviewsError(f"no pair is left of {read} {source.unit} ({reasons}): see the reasons")
        groups = {name: dict(sorted(group.items())) for name, group in self.groups.items() if group or name != "parts"}
        return {source.unit: read, "pairs": self.pairs, **groups}
