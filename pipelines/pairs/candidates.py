"""Candidates for pairs, block by block: how filters judge them, which of a sentence become pairs, and their counts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa

from augment.errors import TwinviewsError
from augment.view import Runtime
from pipelines.pairs.filter import FILTERS, Filter, PairColumns, Verdicts, make_filter
from pipelines.pairs.pair import ORIGINAL, Candidate, SideInfo
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS
from pipelines.storage.shards import BATCH_ROWS
from pipelines.views.workers import run_workers


class Candidates(NamedTuple):
    """Candidates of sentences and their views, or of a table such as an NLI corpus.

    Attributes:
        blocks: They themselves, as many at a time as are judged together; those of a sentence are side by
            side.
        sides: What is known of views, and of the sentence itself, by their names.
        columns: Those of text that only some pairs have.
        unit: What was read: "sentences" or "rows".
        rows: How many of these there are; None if each has one candidate.
    """

    blocks: Iterator[list[Candidate]]
    sides: Mapping[str, SideInfo] = {}
    columns: Sequence[str] = ()
    unit: str = "sentences"
    rows: int | None = None


def pairs_schema(candidates: Candidates, filters: Sequence[Filter]) -> pa.Schema:
    """The columns: those of all pairs, those of these candidates, and one for each filter that gives scores."""
    scores = [(filter.score, pa.float64()) for filter in filters if filter.score is not None]
    return pa.schema([*((name, pa.string()) for name in (*PAIR_COLUMNS, *candidates.columns)), *scores])


def pairs_batch(candidates: Sequence[Candidate], schema: pa.Schema) -> pa.RecordBatch:
    """Candidates as rows with these columns."""
    columns = {
        field.name: [candidate.scores.get(field.name) for candidate in candidates]
        if pa.types.is_floating(field.type)
        else [*map(attrgetter(field.name), candidates)]
        for field in schema
    }
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def judged_blocks(
    candidates: Candidates, filters: Sequence[Filter], runtime: Runtime, workers: int = 1
) -> Iterator[list[Candidate]]:
    """Judge all candidates in order; a filter does not see what an earlier one dropped.

    Workers run the filters up to the first one that remembers; their number does not change the result. Raises
    TwinviewsError if a filter breaks its contract or a worker dies.
    """
    first = next((n for n, filter in enumerate(filters) if not filter.by_row), len(filters))
    parallel, blocks = filters[:first], candidates.blocks
    judged: Iterable[list[Candidate]]
    if workers > 1:
        worker = partial(_worker, candidates.sides, [filter.text() for filter in parallel], runtime)
        judged = run_workers(worker, blocks, workers, ordered=True)
    else:
        judged = map(partial(_judged, candidates.sides, parallel), blocks)
    for block in judged:
        _judge(candidates.sides, filters[first:], block)
        yield block


def _worker(sides: Mapping[str, SideInfo], filters: Sequence[str], runtime: Runtime, number: int) -> Any:  # noqa: ANN401
    return partial(map, partial(_judged, sides, [make_filter(text, runtime) for text in filters]))


def _judged(
    sides: Mapping[str, SideInfo], filters: Sequence[Filter], block: list[Candidate]
) -> list[Candidate]:
    """A block, judged by filters that remember nothing, without spare candidates that are not needed."""
    _judge(sides, filters, block)
    return [candidate for _, group in groupby(block, attrgetter("id")) for candidate in _settled([*group])]


def _settled(candidates: list[Candidate]) -> list[Candidate]:
    """The candidates of one sentence that are no spares.

    If none of them is kept, the first spare one that is.
    """
    own = [candidate for candidate in candidates if not candidate.is_spare]
    if any(candidate.reason is None for candidate in own):
        return own
    kept = (candidate for candidate in candidates if candidate.reason is None)
    return next(([candidate] for candidate in kept), own)


def _judge(sides: Mapping[str, SideInfo], filters: Sequence[Filter], block: Sequence[Candidate]) -> None:
    """Give candidates that are not yet dropped a filter's reasons and scores.

    Raises TwinviewsError for a wrong one.
    """
    for start in range(0, len(block), BATCH_ROWS):
        for filter in filters:
            kept = [candidate for candidate in block[start : start + BATCH_ROWS] if candidate.reason is None]
            with FILTERS.errors_of(filter.name):
                verdicts = filter(PairColumns(kept, sides)) if kept else Verdicts([])
                reasons = pa.array(verdicts.reasons, pa.string()).to_pylist()
                scores = [None] * len(kept)
                if verdicts.scores is not None:
                    scores = pa.array(verdicts.scores, pa.float64()).to_pylist()
                for candidate, reason, score in zip(kept, reasons, scores, strict=True):
                    candidate.reason = reason
                    if filter.score is not None:
                        candidate.scores[filter.score] = score


class PairCounts:
    """Counts of candidates and pairs, of dropped rows by reason, and of kept pairs by what is odd about them."""

    def __init__(self, candidates: Candidates) -> None:
        self._source, self._views = candidates, candidates.sides.keys() - {ORIGINAL}
        self._candidates = 0
        self._dropped, self._kept = Counter[str](), Counter[str]()

    def add(self, candidates: Sequence[Candidate]) -> None:
        """Count judged candidates."""
        self._candidates += len(candidates)
        for candidate in candidates:
            if candidate.reason is not None:
                self._dropped[candidate.reason] += 1
            else:
                self._kept.update(self._oddities(candidate))

    def _oddities(self, candidate: Candidate) -> Iterator[str]:
        if candidate.is_itself:
            yield "the sentence itself"
        elif candidate.view_a == candidate.view_b:
            yield "the two views are identical"
        if NEGATIVE in self._source.columns and candidate.negative is None:
            yield "it has no negative"
        for name, text, sentence in (
            (candidate.view_a_name, candidate.view_a, candidate.text),
            (candidate.view_b_name, candidate.view_b, candidate.right_sentence),
        ):
            if name in self._views and text == sentence:
                yield f"{name} left it unchanged"

    def as_dict(self) -> dict[str, Any]:
        """The counts as JSON; raises TwinviewsError if no pair is left."""
        rows, unit = self._candidates if self._source.rows is None else self._source.rows, self._source.unit
        pairs = self._candidates - self._dropped.total()
        if not pairs:
            reasons = ", ".join(f"{reason}: {count}" for reason, count in self._dropped.most_common(3))
            reasons = f" ({reasons})" if reasons else ""
            raise TwinviewsError(f"no pair is left of {rows} {unit}{reasons}: change the filters or the input")
        dropped, kept = (dict(sorted(counter.items())) for counter in (self._dropped, self._kept))
        return {unit: rows, "pairs": pairs, "dropped": dropped, "kept": kept}
