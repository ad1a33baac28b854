"""What may become a pair, as record batches: the pair's columns, and beside them why it becomes none."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, get_args

from pipelines.filter import About
from pipelines.plan import Input

ViewPolicy: TypeAlias = Literal["bsl", "original", "self", "multilingual"]
Policy: TypeAlias = Literal["bsl", "original", "self", "multilingual", "entailment", "mixture"]
VIEW_POLICIES: tuple[str, ...] = get_args(ViewPolicy)
IDENTICAL = "the two views are identical"


class PairSource(Protocol):
    """Where candidates come from: views of sentences, an NLI corpus, or other files of pairs."""

    @property
    def policy(self) -> Policy:
        """Name of the policy."""
        ...

    @property
    def unit(self) -> str:
        """What is read: sentences, rows, ..."""
        ...

    @property
    def ways(self) -> int:
        """How many candidates come of each that is read."""
        ...

    @property
    def seed(self) -> int | None:
        """The seed of what is drawn; None where nothing is."""
        ...

    @property
    def limit(self) -> int | None:
        """The limit on rows; None for all."""
        ...

    def params(self) -> Mapping[str, Any]:
        """What decides the candidates beside the inputs."""
        ...

    def inputs(self) -> Sequence[Input]:
        """What they are made from."""
        ...

    def made_by(self) -> Mapping[str, str]:
        """What a card says of sides or sources: by name, how they were made."""
        ...

    def columns(self) -> Mapping[str, Any]:
        """Columns beyond those that all pairs have, with their Arrow types."""
        ...

    def about(self, name: str) -> About:
        """What is known of the side that has this name."""
        ...

    def candidates(self) -> Iterator[Any]:
        """Record batches of `candidates`, in order and of any length; each call starts from the first."""
        ...


def candidates(
    pairs: Mapping[str, Any],
    reason: Any,  # noqa: ANN401 - a pyarrow array
    part: Any = None,  # noqa: ANN401
    notes: Sequence[Any] = (None, None),
) -> Any:  # noqa: ANN401 - a record batch
    """What may become pairs, as a record batch with a row each.

    Args:
        pairs: The columns of the pairs; a view that is not there is null, and then there is a reason.
        reason: Arrow strings: why it is dropped; null as long as nothing speaks against it.
        part: Arrow strings: the part of the input that its pair is counted under, if there are several.
        notes: Arrow strings, twice: what a reader should know of either side if the pair is kept.
    """
    import pyarrow as pa

    rows = pa.RecordBatch.from_pydict(pairs)
    marks = {"reason": reason, "part": part, "note_a": notes[0], "note_b": notes[1]}
    none = pa.nulls(rows.num_rows, pa.string())
    filled = {name: none if column is None else column for name, column in marks.items()}
    # The pair is one column of its own, so that whatever else it holds has no name in common with these.
    return pa.RecordBatch.from_pydict({"pair": rows.to_struct_array(), **filled})


@dataclass(slots=True)
class PairCounts:
    """Candidates seen, pairs kept (all, and by part of the input), rows dropped by reason, and kept ones to know of.

    `ways` says how many candidates come of each row that is read.
    """

    ways: int = 1
    seen: int = 0
    pairs: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)

    def add(self, batch: Any, reasons: Any) -> None:  # noqa: ANN401 - as above
        """Count candidates, and what became of them."""
        import pyarrow.compute as pc

        self.seen += batch.num_rows
        self.dropped.update(_tally(reasons))
        chosen = batch.filter(reasons.is_null())
        self.pairs += chosen.num_rows
        self.parts.update(_tally(chosen["part"]))
        for note in ("note_a", "note_b"):
            self.kept.update(_tally(chosen[note]))
        views = (pc.struct_field(chosen["pair"], name) for name in ("view_a", "view_b"))
        self.kept += Counter({IDENTICAL: pc.equal(*views).true_count})  # which leaves out what is none

    @property
    def read(self) -> int:
        """Rows read."""
        return self.seen // self.ways

    def as_dict(self, unit: str) -> dict[str, Any]:
        """The counts as JSON; `unit` says what was read."""
        return {
            unit: self.read,
            "pairs": self.pairs,
            **({"parts": dict(sorted(self.parts.items()))} if self.parts else {}),
            "dropped": dict(sorted(self.dropped.items())),
            "kept": dict(sorted(self.kept.items())),
        }


def _tally(column: Any) -> dict[str, int]:  # noqa: ANN401 - a pyarrow array
    return {each["values"]: each["counts"] for each in column.drop_null().value_counts().to_pylist()}


class Rows:
    """Rows of successive record batches, handed over in the numbers that are asked for."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = iter(batches)
        self._rest: Any = None

    def take_parts(self, count: int) -> list[Any]:
        """The next `count` rows, or as many as there are left, as record batches."""
        parts: list[Any] = []
        while count and (batch := self._rest or next(self._batches, None)) is not None:
            parts.append(batch.slice(0, count))
            count -= parts[-1].num_rows
            self._rest = batch.slice(parts[-1].num_rows) if parts[-1].num_rows < batch.num_rows else None
        return parts

    def take(self, count: int) -> Any:  # noqa: ANN401 - a record batch
        """The same as one record batch of its own; None where nothing is left.

        It is a copy, as the bytes that are written of a slice depend on what lies behind it.
        """
        import pyarrow as pa

        parts = self.take_parts(count)
        return pa.concat_batches(parts) if parts else None

    def cut(self, count: int) -> Iterator[Any]:
        """All rows in record batches of `count`; the last may be shorter."""
        while (batch := self.take(count)) is not None:
            yield batch
