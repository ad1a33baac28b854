"""Candidates through the filters: judged in any process, then settled in one, in order, where filters may remember."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from augment.errors import TwinviewsError
from augment.plugins import blamed
from augment.view import Runtime
from pipelines.filter import ENTRY_POINT_GROUP, Filter, PairColumns, Verdicts, make_filter
from pipelines.pairing.source import Candidates, PairSource
from pipelines.shards import BATCH_ROWS
from pipelines.workers import run_workers

IDENTICAL = "the two views are identical"


@dataclass
class Judged:
    """A batch of candidates on its way through the filters.

    Attributes:
        candidates: The batch.
        reasons: Arrow strings: why each is dropped, null where it is not.
        stages: A numpy array: the number of the filter that dropped each; -1 where none had to, and the number of
            filters where none did.
        scores: By filter, its scores: Arrow floats, null for what it did not see.
        prepared: By filter that is still to settle, what it prepared, and a mask of the rows that it prepared it of.
    """

    candidates: Candidates
    reasons: Any
    stages: Any
    scores: dict[int, Any] = field(default_factory=dict)
    prepared: dict[int, Any] = field(default_factory=dict)

    def seen(self, number: int, source: PairSource) -> PairColumns:
        """The pairs that no filter before this one dropped."""
        import pyarrow as pa

        return PairColumns(self.candidates.pairs.filter(pa.array(self.stages > number)), source.about)

    def take(self, number: int, filter: Filter, verdicts: Verdicts) -> bool:
        """Take in what a filter says of the pairs that it saw; whether it dropped any.

        Raises:
            TwinviewsError: It gave another number of verdicts.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        left = self.stages > number
        found, scores = verdicts.columns(filter.spec, int(left.sum()))
        mask, rows = pa.array(left), len(left)
        self.scores[number] = pc.replace_with_mask(pa.nulls(rows, pa.float64()), mask, scores)
        reasons = pc.replace_with_mask(pa.nulls(rows, pa.string()), mask, found)
        self.reasons = pc.coalesce(reasons, self.reasons)
        self.stages[reasons.is_valid().to_numpy(zero_copy_only=False)] = number
        return bool(found.null_count < len(found))


class Judge:
    """Filters, and the source of their pairs; each process has its own."""

    def __init__(self, source: PairSource, filters: Sequence[Filter]) -> None:
        self.source = source
        self.filters = filters

    def look(self, task: Any) -> list[Judged]:  # noqa: ANN401 - whatever the source's tasks are
        """Judge candidates by the filters that judge each pair by itself, and prepare what the others need."""
        whole = self.source.candidates(task)
        starts = range(0, whole.pairs.num_rows, BATCH_ROWS)
        return [self._look(_slice(whole, start)) for start in starts]

    def _look(self, candidates: Candidates) -> Judged:
        import numpy as np

        stages = np.where(candidates.reasons.is_null(), len(self.filters), -1)
        judged = Judged(candidates, candidates.reasons, stages)
        seen: PairColumns | None = None
        for number, each in enumerate(self.filters):
            if not getattr(each, "by_row", False) and not hasattr(each, "prepare"):
                continue
            seen = judged.seen(number, self.source) if seen is None else seen
            with blamed(ENTRY_POINT_GROUP, each.spec.name):
                if hasattr(each, "prepare"):
                    judged.prepared[number] = each.prepare(seen), judged.stages > number
                elif judged.take(number, each, each(seen) if len(seen) else Verdicts([])):
                    seen = None
        return judged

    def settle(self, judged: Judged) -> tuple[Any, Any]:
        """Let the filters that remember judge a batch, after all batches before it; pairs with scores, and reasons."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for number, each in enumerate(self.filters):
            if number in judged.scores:
                continue
            seen = judged.seen(number, self.source)
            with blamed(ENTRY_POINT_GROUP, each.spec.name):
                if not len(seen):
                    verdicts = Verdicts([])
                elif number in judged.prepared:
                    rows, mask = judged.prepared[number]
                    verdicts = each.settle(rows[(judged.stages > number)[mask]])  # type: ignore[attr-defined]
                else:
                    verdicts = each(seen)
                judged.take(number, each, verdicts)
        pairs = judged.candidates.pairs
        for number, each in enumerate(self.filters):
            name = each.spec.score
            if name is not None:
                scores = pc.if_else(pa.array(judged.stages >= number), judged.scores[number], None)
                others = [other for other in pairs.schema.names if other != name]
                pairs = pairs.select(others).append_column(name, scores)
        return pairs, judged.reasons


def judged_batches(source: PairSource, filters: Sequence[Filter], runtime: Runtime, workers: int) -> Iterator[Any]:
    """Judge all candidates: pairs with scores, reasons and the candidates, batch after batch in their order.

    Args:
        source: Where they come from.
        filters: The filters, in the order in which they are applied; what one drops the next does not see.
        runtime: What workers build their filters with.
        workers: Processes; the batches do not depend on their number.

    Raises:
        TwinviewsError: A filter broke its contract, or a worker died.
    """
    judge = Judge(source, filters)
    build = partial(_build, source, [each.spec.text() for each in filters], runtime)
    tasks = source.tasks()
    looked = run_workers(build, tasks, workers) if workers > 1 else map(judge.look, tasks)
    for batches in looked:
        for judged in batches:
            yield *judge.settle(judged), judged.candidates


def _build(source: PairSource, filters: Sequence[str], runtime: Runtime, number: int) -> Any:  # noqa: ANN401 - a partial
    """What a worker does with tasks."""
    return partial(map, Judge(source, [make_filter(each, runtime) for each in filters]).look)


def _slice(whole: Candidates, start: int) -> Candidates:
    """A batch of candidates as copies, as a slice would be sent between processes with all that it was cut from."""
    import pyarrow as pa

    def cut(column: Any) -> Any:  # noqa: ANN401 - a pyarrow array
        return pa.concat_arrays([column.slice(start, BATCH_ROWS)])

    pairs = pa.concat_batches([whole.pairs.slice(start, BATCH_ROWS)])
    return Candidates(pairs, cut(whole.reasons), cut(whole.parts), [cut(each) for each in whole.notes])


@dataclass(slots=True)
class PairCounts:
    """Candidates seen, pairs kept (all, and by part of the input), rows dropped by reason, and kept ones to know of."""

    seen: int = 0
    pairs: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)

    def add(self, candidates: Candidates, reasons: Any) -> None:  # noqa: ANN401 - Arrow strings
        """Count candidates, and what became of them."""
        import pyarrow.compute as pc

        kept = reasons.is_null()
        self.seen += len(reasons)
        self.pairs += kept.true_count
        _tally(self.dropped, reasons)
        _tally(self.parts, candidates.parts.filter(kept))
        for note in candidates.notes:
            _tally(self.kept, note.filter(kept))
        same = pc.and_(kept, pc.equal(candidates.pairs["view_a"], candidates.pairs["view_b"]))
        self.kept += Counter({IDENTICAL: same.true_count})  # which leaves out what is none

    def as_dict(self, source: PairSource) -> dict[str, Any]:
        """The counts as JSON.

        Raises:
            TwinviewsError: No pair is left.
        """
        read = self.seen // source.ways
        if not self.pairs:
            reasons = ", ".join(f"{reason}: {rows}" for reason, rows in self.dropped.most_common(3))
            raise TwinviewsError(f"no pair is left of {read} {source.unit} ({reasons}): see the reasons")
        return {
            source.unit: read,
            "pairs": self.pairs,
            **({"parts": dict(sorted(self.parts.items()))} if self.parts else {}),
            "dropped": dict(sorted(self.dropped.items())),
            "kept": dict(sorted(self.kept.items())),
        }


def _tally(counts: Counter[str], column: Any) -> None:  # noqa: ANN401 - Arrow strings
    counts.update({each["values"]: each["counts"] for each in column.drop_null().value_counts().to_pylist()})
