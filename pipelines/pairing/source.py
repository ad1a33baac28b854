"""What every source of pairs says of itself, and its candidates: columns of pairs, and why some become none."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from pipelines.filter import About
from pipelines.pairs import NEGATIVE
from pipelines.plan import Input

ViewPolicy: TypeAlias = Literal["bsl", "original", "self", "multilingual"]
Policy: TypeAlias = Literal["bsl", "original", "self", "multilingual", "entailment", "mixture"]
Source: TypeAlias = Policy | Literal["mined"]
NO_NEGATIVE = "it has no negative"
VIEW_POLICIES: tuple[str, ...] = get_args(ViewPolicy)
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

    pairs: Any
    reasons: Any
    parts: Any
    notes: Sequence[Any] = ()

    def with_negatives(self, negatives: Any) -> "Candidates":  # noqa: ANN401 - Arrow strings
        """The same with a column of negatives, in the place of one that is there, and a note where there is none."""
        import pyarrow.compute as pc

        others = [name for name in self.pairs.schema.names if name != NEGATIVE]
        pairs = self.pairs.select(others).append_column(NEGATIVE, negatives)
        return self._replace(pairs=pairs, notes=(*self.notes, pc.if_else(negatives.is_null(), NO_NEGATIVE, None)))


@dataclass(frozen=True)
class PairSource(ABC):
    """Where candidates come from: views of sentences, an NLI corpus, or other files of pairs.

    Attributes:
        policy: Name of the policy.
        unit: What is read: sentences, rows, ...
        inputs: What the candidates are made from.
        params: What decides them beside the inputs.
        made_by: What a card says of sides or sources: by name, how they were made.
        columns: Columns beyond those that all pairs have, with their Arrow types.
        seed: The seed of what is drawn; None where nothing is.
        limit: The limit on rows; None for all.
        ways: How many candidates come of each that is read.
    """

    policy: Source
    unit: str
    inputs: Sequence[Input]
    params: Mapping[str, Any] = field(default_factory=dict)
    made_by: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    limit: int | None = None
    ways: int = 1

    @abstractmethod
    def tasks(self) -> Iterator[Any]:
        """What `candidates` are made of, TASK_ROWS of whatever is read at a time; each call starts from the first."""

    def candidates(self, task: Any) -> Candidates:  # noqa: ANN401 - whatever `tasks` yields
        """The candidates of a task, which any process may make; a task may be its candidates already."""
        made: Candidates = task
        return made

    def about(self, name: str) -> About:
        """What is known of the side that has this name."""
        return About(name)


def whole_reasons(table: Any) -> Any:  # noqa: ANN401 - a table, and Arrow strings
    """Why a row of other pairs is none: it may lack a view."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = pc.and_(table["view_a"].is_valid(), table["view_b"].is_valid())
    return pc.if_else(whole, pa.scalar(None, pa.string()), "a view is missing")
