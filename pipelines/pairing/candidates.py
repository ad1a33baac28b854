"""Views to candidates for pairs: which rows make one, and why the others do not."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, Protocol, TypeAlias, get_args

from augment.errors import InputError
from pipelines.filter import About, Pair, last_hop
from pipelines.folder import Dataset
from pipelines.pairs import PAIR_COLUMNS
from pipelines.plan import Input
from pipelines.shards import iterate_tables

ViewPolicy: TypeAlias = Literal["bsl", "original", "self", "multilingual"]
Policy: TypeAlias = Literal["bsl", "original", "self", "multilingual", "entailment", "mixture"]
VIEW_POLICIES: tuple[str, ...] = get_args(ViewPolicy)
ORIGINAL = "original"


@dataclass(slots=True)
class PairCounts:
    """Rows read, pairs kept (all, and by part of the input), rows dropped by reason, and kept ones to know of."""

    read: int = 0
    pairs: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)

    def as_dict(self, unit: str) -> dict[str, Any]:
        """The counts as JSON; `unit` says what was read."""
        return {
            unit: self.read,
            "pairs": self.pairs,
            **({"parts": dict(sorted(self.parts.items()))} if self.parts else {}),
            "dropped": dict(sorted(self.dropped.items())),
            "kept": dict(sorted(self.kept.items())),
        }


@dataclass(slots=True)
class Candidate:
    """What may become a pair: the row that it would be, and why it becomes none.

    Attributes:
        row: The columns of the pairs; a view that is not there is None, and then there is a reason.
        about: What is known of the two sides.
        reason: Why it is dropped; None as long as nothing speaks against it.
        part: The part of the input that its pair is counted under, if there are several.
        notes: What a reader should know of it if it is kept.
    """

    row: dict[str, Any]
    about: tuple[About, About]
    reason: str | None = None
    part: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def pair(self) -> Pair:
        """What a filter sees of it."""
        return Pair(self.row["text"], self.row["view_a"], self.row["view_b"], *self.about)


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

    def candidates(self, counts: PairCounts) -> Iterator[Candidate]:
        """The candidates, in order; `counts.read` grows with the rows read."""
        ...


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pair: a hypothesis of a view dataset (1 is the view itself), or with None the sentence itself."""

    name: str
    dataset: Dataset | None = None
    hypothesis: int = 1

    @property
    def signature(self) -> str:
        """What made it."""
        return self.dataset.plan.signature or self.name if self.dataset else "the sentence itself"

    @property
    def about(self) -> About:
        """Its view and its language: the one that is translated to, or that of the sentences."""
        if self.dataset is None:
            return About(self.name, "identity")
        params = self.dataset.plan.params
        to = params.get("to")
        return About(self.name, self.dataset.plan.name, last_hop(to) if to else params.get("source"))


@dataclass(frozen=True, slots=True)
class Pairing:
    """Sentences (the first `limit`) and the sides that are paired; several couples make a pair each a sentence."""

    policy: ViewPolicy
    sentences: Dataset
    couples: tuple[tuple[Side, Side], ...]
    limit: int | None = None
    unit: str = "sentences"
    seed: int | None = None

    def params(self) -> Mapping[str, Any]:
        """The sides' names, which stand in the rows."""
        return {"view": [side.name for side in self._sides() if side.dataset is not None]}

    def inputs(self) -> list[Input]:
        """The sentences and every view dataset, once."""
        datasets = {str(self.sentences.path): self.sentences}
        datasets |= {str(side.dataset.path): side.dataset for side in self._sides() if side.dataset is not None}
        return [Input(name=name, sha256=each.digest, rows=each.rows) for name, each in datasets.items()]

    def made_by(self) -> dict[str, str]:
        """The sides and their signatures."""
        return {side.name: side.signature for side in self._sides()}

    def columns(self) -> Mapping[str, Any]:
        """A label, where the sentences have one."""
        import pyarrow as pa

        return {"label": pa.string()} if "label" in _columns(self.sentences) else {}

    def candidates(self, counts: PairCounts) -> Iterator[Candidate]:
        """A candidate a couple for every sentence, in the order of the sentences.

        There is no pair, for the reason given, when a view failed, was rejected, was not made or has not so many
        hypotheses. A view that equals the sentence is no reason.

        Raises:
            InputError: A view was not made from these sentences.
        """
        sides = self._sides()
        about = {side.name: side.about for side in sides}
        spoken = next((side.dataset.plan.params.get("source") for side in sides if side.dataset is not None), None)
        about = {name: each if each.language else each._replace(language=spoken) for name, each in about.items()}
        views = [_view_rows(side) for side in sides]
        columns = ("id", "text", *self.columns())
        for identity, text, *label in islice(_rows(self.sentences, columns), self.limit):
            counts.read += 1
            found = {side.name: _pick(rows, side, identity, text) for side, rows in zip(sides, views, strict=True)}
            for one, two in self.couples:
                row = _row(identity, text, (one.name, found[one.name]), (two.name, found[two.name]))
                row.update(zip(columns[2:], label, strict=True))
                yield _candidate(row, (about[one.name], about[two.name]), (found[one.name], found[two.name]), self)

    def _sides(self) -> list[Side]:
        return list({side.name: side for couple in self.couples for side in couple}.values())


@dataclass(frozen=True, slots=True)
class _Found:
    """A side of one sentence: the text, or why there is none, and whether it equals the sentence."""

    text: str | None
    missing: str = ""
    unchanged: bool = False


def _row(identity: str, text: str, one: tuple[str, _Found], two: tuple[str, _Found]) -> dict[str, Any]:
    return dict(zip(PAIR_COLUMNS, (identity, text, one[1].text, two[1].text, one[0], two[0]), strict=True))


def _candidate(
    row: dict[str, Any], about: tuple[About, About], found: tuple[_Found, _Found], pairing: Pairing
) -> Candidate:
    reason = next((each.missing for each in found if each.text is None), None)
    notes = tuple(
        dict.fromkeys(f"{a.name} left it unchanged" for a, each in zip(about, found, strict=True) if each.unchanged)
    )
    part = f"{about[0].name} x {about[1].name}" if len(pairing.couples) > 1 else None
    return Candidate(row, about, reason, part, notes)


ViewRow: TypeAlias = tuple[str, str | None, str, str | None, list[str] | None]


def _view_rows(side: Side) -> Iterator[ViewRow] | None:
    if side.dataset is None:
        return None
    columns = ["id", "view", "status", "reason"]
    if side.hypothesis > 1 and "alternatives" in _columns(side.dataset):
        return _rows(side.dataset, [*columns, "alternatives"])
    return ((*row, None) for row in _rows(side.dataset, columns))


def _rows(dataset: Dataset, columns: Sequence[str]) -> Iterator[Any]:
    for table in iterate_tables(dataset.path, dataset.receipts):
        for batch in table.select(list(columns)).to_batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _pick(rows: Iterator[ViewRow] | None, side: Side, identity: str, text: str) -> _Found:
    if rows is None:
        return _Found(text)
    row = next(rows, None)
    if row is None:
        return _Found(None, f"{side.name} was not made for it")
    if row[0] != identity:
        raise InputError(f"{side.name} was made from other sentences (row {row[0]} where {identity} is): make it again")
    _, view, status, reason, alternatives = row
    if view is None:
        return _Found(None, f"{side.name} {status}" + (f": {reason}" if reason else ""))
    if side.hypothesis == 1:
        return _Found(view, unchanged=status == "unchanged")
    if len(alternatives or ()) < side.hypothesis - 1:
        return _Found(None, f"{side.name}: no such hypothesis")
    chosen = (alternatives or [])[side.hypothesis - 2]
    return _Found(chosen, unchanged=chosen == text)


def _columns(dataset: Dataset) -> list[str]:
    table = next(iterate_tables(dataset.path, dataset.receipts[:1]))
    return list(table.schema.names)
