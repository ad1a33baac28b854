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
from augment.view import Runtime
from pipelines.pairs.filter import FILTERS, SIDES, Filter, PairColumns, SideInfo, Verdicts, make_filter
from pipelines.storage.pair_files import NEGATIVE
from pipelines.storage.plan import Plan
from pipelines.storage.shards import BATCH_ROWS
from pipelines.views.workers import run_workers

TASK_ROWS = 16_000
"""Rows that are read and judged together; a multiple of the rows in a batch of pairs."""
ORIGINAL = "original"
"""The name of the sentence itself as a side of a pair."""
DROPPED = ".dropped"
"""An additional column of candidates: why a row is dropped, null if it is kept."""
UNUSED = ".unused"
"""An additional column of candidates of views: how many alternatives of its sentence are in no candidate."""


@dataclass(frozen=True)
class PairSource:
    """Where candidates come from: views of sentences, an NLI corpus, or pairs.

    The plan has no filters yet. `unit` names what is read (sentences, rows, ...). A task is the candidates of up to
    TASK_ROWS input rows, or what `candidates` makes them from in any process: a record batch with the columns of pairs
    and DROPPED, which has a reason if a view is missing (null). `made_by` tells the card how each side or source was
    made. `known` describes views and the sentence itself by their names. `columns` has the Arrow types of additional
    columns. `rows` is the number of input rows, None if each has one candidate.
    """

    plan: Plan
    unit: str
    tasks: Iterator[Any]
    made_by: Mapping[str, str]
    candidates: Callable[[Any], pa.RecordBatch] | None = None
    known: Mapping[str, SideInfo] = field(default_factory=dict)
    columns: Mapping[str, pa.DataType] = field(default_factory=dict)
    rows: int | None = None


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
    if len(begun) > 1:  # start no worker that has no task
        written = [each.text() for each in ahead]
        judged = run_workers(partial(_worker, shared, written, runtime), tasks, len(begun), ordered=True)
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
            elif hasattr(each, "prepare") and rows[DROPPED].null_count:
                with FILTERS.blamed(each.name):
                    prepared = each.prepare(PairColumns(rows.filter(rows[DROPPED].is_null()), source.known))
        batches.append((rows, prepared))
    return batches


def _judge(filter: Filter, rows: pa.RecordBatch, known: Mapping[str, SideInfo], prepared: Any = None) -> pa.RecordBatch:  # noqa: ANN401
    """The rows with a filter's verdicts on the pairs left; raises TwinviewsError if their number is wrong."""
    left = rows[DROPPED].is_null()
    with FILTERS.blamed(filter.name):
        if prepared is not None:
            verdicts = filter.settle(prepared)  # type: ignore[attr-defined]
        else:
            pairs = rows.filter(left) if rows[DROPPED].null_count < len(rows) else rows
            verdicts = filter(PairColumns(pairs, known)) if len(pairs) else Verdicts([])
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
    """Counts of candidates and pairs, of dropped rows by reason, and of kept pairs by what is odd about them."""

    def __init__(self, source: PairSource) -> None:
        self._source, self._views = source, source.known.keys() - {ORIGINAL}
        self.seen = self.pairs = self.unused = 0
        self.dropped, self.kept = Counter[str](), Counter[str]()

    def add(self, judged: pa.RecordBatch) -> None:
        """Count a batch."""
        kept = judged.filter(judged[DROPPED].is_null())
        self.seen += len(judged)
        self.pairs += len(kept)
        self.unused += pc.sum(judged[UNUSED]).as_py() if UNUSED in judged.schema.names else 0
        self.dropped.update(judged[DROPPED].drop_null().to_pylist())
        self.kept["the two views are identical"] += pc.equal(kept["view_a"], kept["view_b"]).true_count
        if NEGATIVE in kept.schema.names:
            self.kept["it has no negative"] += kept[NEGATIVE].null_count
        for side in SIDES if self._views else ():
            unchanged = kept[f"{side}_name"].filter(pc.equal(kept[side], kept["text"])).to_pylist()
            self.kept.update(f"{name} left it unchanged" for name in unchanged if name in self._views)

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON; raises TwinviewsError if no pair is left."""
        read, unit = self.seen if self._source.rows is None else self._source.rows, self._source.unit
        if not self.pairs:
            reasons = ", ".join(f"{reason}: {rows}" for reason, rows in self.dropped.most_common(3))
            raise TwinviewsError(f"no pair is left of {read} {unit} ({reasons}): change the filters or the input")
        groups = {"dropped": self.dropped, "kept": +self.kept}  # + leaves out zeros
        groups |= {"unused": Counter(alternatives=self.unused)} if self.unused else {}
        return {unit: read, "pairs": self.pairs, **{name: dict(sorted(each.items())) for name, each in groups.items()}}
