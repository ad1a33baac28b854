"""Candidates for pairs in columns, where they come from, and how filters judge and count them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augment.errors import TwinviewsError
from augment.view import Runtime
from pipelines.pairs.filter import FILTERS, SIDES, Filter, PairColumns, SideInfo, Verdicts, make_filter, sentence_column
from pipelines.storage.pair_files import NEGATIVE
from pipelines.storage.plan import Plan
from pipelines.storage.shards import BATCH_ROWS
from pipelines.views.workers import run_workers

TASK_ROWS = 16_000
"""Rows that are read and judged together; a multiple of the rows in a batch of pairs."""
ORIGINAL = "original"
"""The name of the sentence itself as a side of a pair."""
DROPPED, UNUSED, RANK = ".dropped", ".unused", ".rank"
"""Additional columns of candidates: why a row is dropped, null if it is kept; of views, how many alternatives of its
sentence are in no candidate; where only a sentence's first that passes is a pair, its number from 0."""


@dataclass(frozen=True)
class PairSource:
    """Where candidates come from: views of sentences, or a table such as an NLI corpus.

    The plan has no filters yet. `unit` names what is read (sentences, rows, ...). A task is the candidates of up to
    TASK_ROWS input rows, or what `candidates` makes them from in any process: a record batch with the columns of pairs
    and DROPPED, which has a reason if a view is missing (null). `made_by` tells the card how each side or source was
    made. `sides` describes views and the sentence itself by their names. `columns` are those of text that not all pairs
    have. `rows` is the number of input rows, None if each has one candidate.
    """

    plan: Plan
    unit: str
    tasks: Iterator[Any]
    made_by: Mapping[str, str]
    candidates: Callable[[Any], pa.RecordBatch] | None = None
    sides: Mapping[str, SideInfo] = field(default_factory=dict)
    columns: Sequence[str] = ()
    rows: int | None = None


def judged_batches(
    source: PairSource, filters: Sequence[Filter], runtime: Runtime, workers: int
) -> Iterator[pa.RecordBatch]:
    """Judge all candidates, batch by batch in order; a filter does not see what an earlier one dropped.

    Workers run the filters up to the first one that remembers; their number does not change the result. Raises
    TwinviewsError if a filter breaks its contract or a worker dies.
    """
    first = next((n for n, filter in enumerate(filters) if not filter.by_row), len(filters))
    parallel, tasks = filters[:first], iter(source.tasks)
    head = list(islice(tasks, workers))
    tasks, shared = chain(head, tasks), replace(source, tasks=iter(()))
    batches: Iterable[list[pa.RecordBatch]]
    if len(head) > 1:  # start no worker that has no task
        worker = partial(_worker, shared, [filter.text() for filter in parallel], runtime)
        batches = run_workers(worker, tasks, len(head), ordered=True)
    else:
        batches = map(partial(_judge_task, shared, parallel), tasks)
    for rows in chain.from_iterable(batches):
        for filter in filters[first:]:
            rows = _judge(filter, rows, source.sides)
        yield rows


def _worker(source: PairSource, filters: Sequence[str], runtime: Runtime, number: int) -> Any:  # noqa: ANN401
    return partial(map, partial(_judge_task, source, [make_filter(text, runtime) for text in filters]))


def _judge_task(source: PairSource, filters: Sequence[Filter], task: Any) -> list[pa.RecordBatch]:  # noqa: ANN401
    """The candidates of a task in batches, judged by filters that remember nothing."""
    candidates = task if source.candidates is None else source.candidates(task)
    judged = []
    for rows in _batches(candidates):
        for filter in filters:
            rows = _judge(filter, rows, source.sides)
        judged.append(rows)
    if RANK in candidates.schema.names and judged:
        judged = [*_batches(_first_passing(pa.concat_batches(judged)))]
    return judged


def _batches(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    # Copies: a slice that is sent to another process takes the whole columns along.
    return (pa.concat_batches([rows.slice(start, BATCH_ROWS)]) for start in range(0, len(rows), BATCH_ROWS))


def _first_passing(rows: pa.RecordBatch) -> pa.RecordBatch:
    """One row for each sentence: its first candidate that is not dropped, or its first."""
    groups = np.cumsum(rows[RANK].to_numpy() == 0)
    order = np.lexsort((np.arange(len(rows)), rows[DROPPED].is_valid().to_numpy(zero_copy_only=False), groups))
    return rows.take(pa.array(order[np.unique(groups[order], return_index=True)[1]]))


def _judge(filter: Filter, rows: pa.RecordBatch, sides: Mapping[str, SideInfo]) -> pa.RecordBatch:
    """The rows with a filter's verdicts on those not yet dropped; raises TwinviewsError if their number is wrong."""
    mask = rows[DROPPED].is_null()
    count = mask.true_count
    with FILTERS.errors_of(filter.name):
        pairs = rows.filter(mask) if count < len(rows) else rows
        verdicts = filter(PairColumns(pairs, sides)) if count else Verdicts([])
        reasons = pa.array(verdicts.reasons, pa.string())
        scores = pa.array(pa.nulls(count) if verdicts.scores is None else verdicts.scores, pa.float64())
        for column in (reasons, scores):
            if len(column) != count:
                message = f"filter {filter.name!r} gave {len(column)} verdicts for {count} pairs: fix the filter"
                raise TwinviewsError(message)
    reasons = pc.replace_with_mask(rows[DROPPED], mask, reasons)
    rows = rows.set_column(rows.schema.get_field_index(DROPPED), DROPPED, reasons)
    if filter.score is None:
        return rows
    return rows.append_column(filter.score, pc.replace_with_mask(pa.nulls(len(rows), pa.float64()), mask, scores))


class PairCounts:
    """Counts of candidates and pairs, of dropped rows by reason, and of kept pairs by what is odd about them."""

    def __init__(self, source: PairSource) -> None:
        self._source, self._views = source, source.sides.keys() - {ORIGINAL}
        self._candidates = self._pairs = self._unused = 0
        self._reasons, self._oddities = Counter[str](), Counter[str]()

    def add(self, candidates: pa.RecordBatch) -> None:
        """Count a batch of judged candidates."""
        pairs = candidates.filter(candidates[DROPPED].is_null())
        self._candidates += len(candidates)
        self._pairs += len(pairs)
        self._unused += pc.sum(candidates[UNUSED]).as_py() if UNUSED in candidates.schema.names else 0
        self._reasons.update(candidates[DROPPED].drop_null().to_pylist())
        self._oddities["the two views are identical"] += pc.equal(pairs["view_a"], pairs["view_b"]).true_count
        if NEGATIVE in pairs.schema.names:
            self._oddities["it has no negative"] += pairs[NEGATIVE].null_count
        for side in SIDES if self._views else ():
            sentences = pairs[sentence_column(pairs.schema.names, side)]
            unchanged = pairs[f"{side}_name"].filter(pc.equal(pairs[side], sentences)).to_pylist()
            self._oddities.update(f"{name} left it unchanged" for name in unchanged if name in self._views)

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON; raises TwinviewsError if no pair is left."""
        rows, unit = self._candidates if self._source.rows is None else self._source.rows, self._source.unit
        if not self._pairs:
            reasons = ", ".join(f"{reason}: {count}" for reason, count in self._reasons.most_common(3))
            reasons = f" ({reasons})" if reasons else ""
            raise TwinviewsError(f"no pair is left of {rows} {unit}{reasons}: change the filters or the input")
        groups = {"dropped": self._reasons, "kept": +self._oddities}  # + leaves out zeros
        groups |= {"unused": Counter(alternatives=self._unused)} if self._unused else {}
        sorted_groups = {name: dict(sorted(counter.items())) for name, counter in groups.items()}
        return {unit: rows, "pairs": self._pairs, **sorted_groups}
