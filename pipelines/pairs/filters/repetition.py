"""Drop pairs with a side that repeats an n-gram of words more often than its sentence repeats any."""

from collections import Counter
from typing import Literal

import regex
from pydantic import Field

from pipelines.pairs.filter import PairColumns, SideFilter

WORDS = regex.compile(r"\w+(?:['’-]\w+)*")


class Repetition(SideFilter):
    """Drops n-grams that occur `times` or more, as in "a man and a man".

    Without spaces, set the unit to character.
    """

    n: int = Field(default=3, ge=2)
    times: int = Field(default=2, ge=2)
    unit: Literal["word", "character"] = "word"

    def reasons(self, pairs: PairColumns, side: str) -> list[str | None]:
        """Drop texts that repeat more than their sentence.

        A translation may repeat what that does, in its words.
        """
        rows = zip(pairs.strings(side), pairs.sentences(side), strict=True)
        return [f"repetition in {side}" if self._repeats(*row) else None for row in rows]

    def _repeats(self, view: str, sentence: str) -> bool:
        count = self._max_count(view) if view != sentence else 1
        return count >= self.times and count > self._max_count(sentence)

    def _max_count(self, text: str) -> int:
        """How often the most frequent n-gram occurs; 1 if none repeats."""
        folded = text.casefold()
        units = WORDS.findall(folded) if self.unit == "word" else folded
        if len(units) - len(set(units)) < self.n:  # a repeated n-gram repeats at least n units
            return 1
        return max(Counter(zip(*(units[start:] for start in range(self.n)), strict=False)).values())
