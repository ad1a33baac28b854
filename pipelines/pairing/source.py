"""What every source of pairs says of itself, and its candidates: columns of pairs, and why some become none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.filter import About
from pipelines.pairs import NEGATIVE
from pipelines.plan import Input

TASK_ROWS = 16_000
"""Rows that are read and judged together; a multiple of the rows in a batch of pairs."""


class Candidates(NamedTuple):
    """What may become pairs, in columns of one length.

    Attributes:
        pairs: A record batch of the columns of pairs; a view that is not there is null, and then there is a reason.
        reasons: Arrow strings: why a row is dropped; null as long as nothing speaks against it.
        parts: Arrow strings: the part of the input that a pair is counted under; null where there are no parts.
        notes: Arrow strings, one column a side: what a reader should know of a pair that is kept.
    """

    pairs: pa.RecordBatch
    reasons: pa.Array
    parts: pa.Array
    notes: Sequence[pa.Array] = ()

    def with_negatives(self, negatives: pa.Array) -> "Candidates":
        """The same with a column of negatives, in the place of one that is there, and a note where there is none."""
        others = [name for name in self.pairs.schema.names if name != NEGATIVE]
        pairs = self.pairs.select(others).append_column(NEGATIVE, negatives)
        note = pc.if_else(negatives.is_null(), "it has no negative", None)
        return self._replace(pairs=pairs, notes=(*self.notes, note))


def _made(task: Any) -> Candidates:  # noqa: ANN401 - a task that is its candidates
    return cast(Candidates, task)


@dataclass(frozen=True)
class PairSource:
    """Where candidates come from: views of sentences, an NLI corpus, or other files of pairs.

    Attributes:
        policy: Name of the policy.
        unit: What is read: sentences, rows, ...
        inputs: What the candidates are made from.
        tasks: What `candidates` are made of, TASK_ROWS of whatever is read at a time.
        candidates: The candidates of a task, which any process may make; a task may be its candidates already.
        about: What is known of the side that has a name.
        params: What decides the candidates beside inputs, seed and limit.
        made_by: What a card says of sides or sources: by name, how they were made.
        columns: Columns beyond those that all pairs have, with their Arrow types.
        ways: How many candidates come of each that is read.
    """

    policy: str
    unit: str
    inputs: Sequence[Input]
    tasks: Iterator[Any]
    candidates: Callable[[Any], Candidates] = _made
    about: Callable[[str], About] = About
    params: Mapping[str, Any] = field(default_factory=dict)
    made_by: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, pa.DataType] = field(default_factory=dict)
    seed: int | None = None
    limit: int | None = None
    ways: int = 1


def whole_reasons(table: pa.Table) -> pa.Array:
    """Why a row of other pairs is none: it may lack a view."""
    whole = pc.and_(table["view_a"].is_valid(), table["view_b"].is_valid())
    return pc.if_else(whole, pa.scalar(None, pa.string()), "a view is missing")
