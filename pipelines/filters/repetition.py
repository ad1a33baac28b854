"""Drop pairs with a side that repeats an n-gram of words more often than its sentence repeats any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from augment.view import Runtime
from pipelines.filter import KEEP, FilterSpec, Pair, Verdict

WORDS = re.compile(r"\w+(?:['’-]\w+)*")


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

    def __call__(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Drop a pair for its first side that repeats itself."""
        return [self._judge(pair) for pair in pairs]

    def _judge(self, pair: Pair) -> Verdict:
        for column, text, _ in pair.sides:
            # Counts and not n-grams are compared, as a translation repeats in its own words what the sentence repeats.
            if self._most(text) >= self.times and self._most(text) > self._most(pair.text):
                return Verdict(f"repetition in {column}")
        return KEEP

    def _most(self, text: str) -> int:
        """How often the most frequent n-gram occurs."""
        folded = text.casefold()
        units: Sequence[str] = WORDS.findall(folded) if self.unit == "word" else folded
        grams = Counter(tuple(units[start : start + self.n]) for start in range(len(units) - self.n + 1))
        return max(grams.values(), default=0)


def build(params: PARAMS, runtime: Runtime) -> Repetition:
    """The filter for `params`."""
    return Repetition(FilterSpec("repetition", params.model_dump()), params.n, params.times, params.unit)
