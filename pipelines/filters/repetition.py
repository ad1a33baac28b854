"""Drop pairs with a side that repeats an n-gram of words more often than its sentence repeats any."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from pipelines.filter import PairColumns, SideFilter

WORDS = re.compile(r"\w+(?:['’-]\w+)*")
PARTS = bytes(ord(chr(code).lower()) if WORDS.fullmatch(chr(code)) and code < 128 else ord(" ") for code in range(256))
"""A table for `bytes.translate` that leaves of ASCII only digits, underscores and letters, which it makes small."""


class Repetition(SideFilter):
    """Drops n-grams that occur `times` or more, as when a decoder loops: "a man and a man and a man".

    For languages without spaces, set the unit to character.
    """

    n: int = Field(default=3, ge=2)
    times: int = Field(default=2, ge=2)
    unit: Literal["word", "character"] = "word"

    def reasons(self, pairs: PairColumns, side: str) -> Iterator[str | None]:
        """Drop texts that repeat more than their sentence; a translation may repeat what that does, in its words."""
        for view, text in zip(pairs.strings(side), pairs.strings("text"), strict=True):
            most = self._most(view) if view != text else 1
            yield f"repetition in {side}" if most >= self.times and most > self._most(text) else None

    def _most(self, text: str) -> int:
        """How often the most frequent n-gram occurs; 1 if none repeats."""
        is_by_word = self.unit == "word"
        # Parts of words are found faster than words, and if none of their n-grams repeats, none of words does.
        if is_by_word and text.isascii() and self._count(text.encode().translate(PARTS).split()) == 1:
            return 1
        folded = text.casefold()
        return self._count(WORDS.findall(folded) if is_by_word else folded)

    def _count(self, units: Sequence[object]) -> int:
        if len(units) - len(set(units)) < self.n:  # a repeated n-gram repeats at least n units
            return 1
        grams = [*zip(*(units[start:] for start in range(self.n)), strict=False)]
        return 1 if len(set(grams)) == len(grams) else max(Counter(grams).values())
