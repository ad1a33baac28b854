"""Drop pairs with a side that repeats an n-gram of words more often than its sentence repeats any."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from pipelines.filter import PairColumns, RowFilter, Verdicts, first_reasons

WORDS = re.compile(r"\w+(?:['’-]\w+)*")


class Repetition(RowFilter):
    """N-grams that occur `times` or more, as decoders fall into loops: "a man and a man and a man".

    The unit of languages without spaces is the character.
    """

    n: int = Field(default=3, ge=2)
    times: int = Field(default=2, ge=2)
    unit: Literal["word", "character"] = "word"

    def _judge(self, pairs: PairColumns) -> Verdicts:
        def reasons(side: str) -> Iterator[str | None]:
            both = zip(pairs.strings(side), pairs.strings("text"), strict=True)
            return (f"repetition in {side}" if self._repeats(view, text) else None for view, text in both)

        return first_reasons(reasons)

    def _repeats(self, view: str, text: str) -> bool:
        """Whether a view repeats itself more than its sentence does; a translation does so in its own words."""
        if view == text:
            return False
        most = self._most(view)
        return most >= self.times and most > self._most(text)

    def _most(self, text: str) -> int:
        """How often the most frequent n-gram occurs; 1 where none repeats."""
        folded = text.casefold()
        units: Sequence[str] = WORDS.findall(folded) if self.unit == "word" else folded
        if len(units) - len(set(units)) < self.n:  # so many units repeat where an n-gram does
            return 1
        return max(Counter(zip(*(units[start:] for start in range(self.n)), strict=False)).values())
