"""Drop pairs with a side that repeats an n-gram of words more often than its sentence repeats any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from augment.view import Runtime
from pipelines.filter import FilterSpec, Options, PairColumns, RowFilter, Verdicts, first_reasons

WORDS = re.compile(r"\w+(?:['’-]\w+)*")
BREAKS = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128)).lower().ljust(256)
"""ASCII to lower case, with a space for all that is no part of a word."""


class PARAMS(Options):
    """Parameters of the repetition check."""

    n: int = Field(default=3, ge=2, description="length of the n-gram, in units")
    times: int = Field(default=2, ge=2, description="how often it must occur")
    unit: Literal["word", "character"] = Field(
        default="word", description="what an n-gram is made of; characters for languages without spaces"
    )

    def repeats(self, view: str, text: str) -> bool:
        """Whether a view repeats itself more than its sentence does."""
        if view == text:
            return False
        # Most texts repeat nothing, and ASCII is cut (finer than into words, if differently) in no time.
        if self.unit == "word" and view.isascii() and not self._repeated(view.encode().translate(BREAKS).split()):
            return False
        # Counts and not n-grams are compared, as a translation repeats in its own words what the sentence repeats.
        most = self._most(view)
        return most >= self.times and most > self._most(text)

    def _repeated(self, units: Sequence[object]) -> bool:
        """Whether an n-gram repeats; where one does, at least as many units were there before."""
        if len(units) - len(set(units)) < self.n:
            return False
        grams = list(zip(*(units[start:] for start in range(self.n)), strict=False))
        return len(set(grams)) < len(grams)

    def _most(self, text: str) -> int:
        """How often the most frequent n-gram occurs; 1 where none repeats."""
        folded = text.casefold()
        units: Sequence[str] = WORDS.findall(folded) if self.unit == "word" else folded
        if not self._repeated(units):
            return 1
        return max(Counter(zip(*(units[start:] for start in range(self.n)), strict=False)).values())


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter, as decoders fall into loops: "a man and a man and a man"."""

    def judge(pairs: PairColumns) -> Verdicts:
        def reasons(side: str) -> Iterator[str | None]:
            both = zip(pairs.strings(side), pairs.strings("text"), strict=True)
            return (f"repetition in {side}" if params.repeats(view, text) else None for view, text in both)

        return first_reasons(pairs, reasons)

    return RowFilter(FilterSpec("repetition", params.model_dump()), judge)
