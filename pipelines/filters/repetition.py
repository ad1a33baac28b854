"""Drop pairs with a side that repeats an n-gram of words more often than its sentence repeats any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from augment.view import Runtime
from pipelines.filter import FilterSpec, PairColumns, Verdicts

WORDS = re.compile(r"\w+(?:['’-]\w+)*")
BREAKS = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128)).lower().ljust(256)
"""ASCII to lower case, with a space for all that is no part of a word."""


class PARAMS(BaseModel):
    """Parameters of the repetition check."""

    model_config = ConfigDict(extra="forbid")

    n: int = Field(default=3, ge=2, description="length of the n-gram, in units")
    times: int = Field(default=2, ge=2, description="how often it must occur")
    unit: Literal["word", "character"] = Field(
        default="word", description="what an n-gram is made of; characters for languages without spaces"
    )


@dataclass(frozen=True)
class Repetition:
    """The filter, as decoders fall into loops: "a man and a man and a man"."""

    spec: FilterSpec
    n: int
    times: int
    unit: str

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Drop a pair for its first side that repeats itself."""
        reasons: list[str | None] = [None] * len(pairs)
        for side in ("view_b", "view_a"):  # in this order, so that the first one's reason stays
            for row, (text, view) in enumerate(zip(pairs.strings("text"), pairs.strings(side), strict=True)):
                if view != text and self._repeats(view, text):
                    reasons[row] = f"repetition in {side}"
        return Verdicts(reasons)

    def _repeats(self, view: str, text: str) -> bool:
        # Most texts have too few words twice, and ASCII is cut (finer than into words, if differently) in no time.
        if self.unit == "word" and view.isascii() and not self._may_repeat(view.encode().translate(BREAKS).split()):
            return False
        # Counts and not n-grams are compared, as a translation repeats in its own words what the sentence repeats.
        most = self._most(view)
        return most >= self.times and most > self._most(text)

    def _may_repeat(self, units: Sequence[object]) -> bool:
        """Whether as many units were there before as an n-gram that repeats brings."""
        return len(units) - len(set(units)) >= self.n

    def _most(self, text: str) -> int:
        """How often the most frequent n-gram occurs; 1 where none can repeat."""
        folded = text.casefold()
        units: Sequence[str] = WORDS.findall(folded) if self.unit == "word" else folded
        if not self._may_repeat(units):
            return 1
        return max(Counter(zip(*(units[start:] for start in range(self.n)), strict=False)).values(), default=0)


def build(params: PARAMS, runtime: Runtime) -> Repetition:
    """The filter for `params`."""
    return Repetition(FilterSpec("repetition", params.model_dump()), params.n, params.times, params.unit)
