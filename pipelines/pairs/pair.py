"""A sentence with its views, and a candidate for a pair: what every source of pairs makes, and every filter judges."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, TypeVar

from augment.types import ViewResult

Item = TypeVar("Item")
BLOCK_ROWS = 16_000
"""Rows that are read and judged together; a multiple of the rows in a batch of pairs."""
ORIGINAL = "original"
"""The name, as a side, of the sentence itself."""


def blocks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Items, as many at a time as are judged together."""
    remaining = iter(items)
    return iter(lambda: [*islice(remaining, BLOCK_ROWS)], [])


class SideInfo(NamedTuple):
    """One side of a pair: its name, the view that made it, its language and translation models (None if unknown)."""

    name: str
    view: str | None = None
    language: str | None = None
    models: str | None = None


class Sentence(NamedTuple):
    """A sentence, its views by their names, and its label, if it has one."""

    id: str
    text: str
    views: Mapping[str, ViewResult] = {}
    label: str | None = None

    def texts(self, side: str) -> list[str | None]:
        """The text of a side, and a view's alternatives; one None if there is no text."""
        if side == ORIGINAL:
            return [self.text]
        view = self.views[side]
        return [view.text, *view.alternatives]

    def problem(self, side: str) -> str | None:
        """Why a side has no text; None if it has one."""
        if self.texts(side)[0] is not None:
            return None
        view = self.views[side]
        return f"{side} {view.status}" + (f": {view.reason}" if view.reason else "")


@dataclass(slots=True)
class Candidate:
    """Two texts that may become a pair.

    Attributes:
        id: The id of the sentence, or of a table's row.
        text: The sentence.
        view_a: The text of one side, None if it is missing.
        view_b: The text of the other one.
        view_a_name: What `view_a` is: a view, "original" or a column.
        view_b_name: What `view_b` is.
        label: The label of the sentence.
        negative: A text that resembles `view_a` and says something else.
        sentence_b: The sentence of `view_b`, where that is not `text`.
        reason: Why it is dropped, None as long as it is kept.
        scores: What filters measured, by their columns.
        is_spare: Whether it is for a sentence of whose candidates before it none is kept.
    """

    id: str
    text: str
    view_a: str | None
    view_b: str | None
    view_a_name: str
    view_b_name: str
    label: str | None = None
    negative: str | None = None
    sentence_b: str | None = None
    reason: str | None = None
    scores: dict[str, float | None] = field(default_factory=dict)
    is_spare: bool = False

    @property
    def is_itself(self) -> bool:
        """Whether it is a sentence twice, for want of a view, whose negative is to be used."""
        return self.is_spare and self.view_a_name == self.view_b_name

    @property
    def right_sentence(self) -> str:
        """The sentence of `view_b`."""
        return self.text if self.sentence_b is None else self.sentence_b
