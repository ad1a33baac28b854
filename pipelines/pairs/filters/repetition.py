"""Drop pairs with a side that repeats an n-gram of words more often than its sentence repeats any."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

import numpy as np
import regex
from pydantic import Field

from pipelines.pairs.filter import PairColumns, SideFilter, sentence_column

WORDS = regex.compile(r"\w+(?:['’-]\w+)*")
TABLE = bytes(ord(chr(c).lower()) if WORDS.fullmatch(chr(c)) else 0 for c in range(128)) + bytes(range(128, 256))


class Repetition(SideFilter):
    """Drops n-grams that occur `times` or more, as in "a man and a man"; without spaces, set the unit to character."""

    n: int = Field(default=3, ge=2)
    times: int = Field(default=2, ge=2)
    unit: Literal["word", "character"] = "word"

    def reasons(self, pairs: PairColumns, side: str) -> list[str | None]:
        """Drop texts that repeat more than their sentence; a translation may repeat what that does, in its words."""
        reasons: list[str | None] = [None] * len(pairs)
        sentences = pairs.rows[sentence_column(pairs.rows.schema.names, side)]
        for row in () if pairs.rows[side].equals(sentences) else self._suspects(pairs, side):
            view, text = (column[row].as_py() for column in (pairs.rows[side], sentences))
            count = self._max_count(view) if view != text else 1
            if count >= self.times and count > self._max_count(text):
                reasons[row] = f"repetition in {side}"
        return reasons

    def _suspects(self, pairs: PairColumns, side: str) -> Iterable[int]:
        """The rows that may repeat an n-gram of words: those in which an n-gram of hashes of parts of words repeats."""
        if self.unit == "character":
            return range(len(pairs))
        texts = (text if text.isascii() else " ".join(WORDS.findall(text.casefold())) for text in pairs.strings(side))
        letters = np.frombuffer(b"\xff".join(map(str.encode, texts)).translate(TABLE), np.uint8)
        rows = np.cumsum(letters == 0xFF, dtype=np.uint32)  # no byte of UTF-8 is 0xFF
        letters = np.where(letters == 0xFF, 0, letters)
        starts = np.flatnonzero((letters != 0) & np.append(True, letters[:-1] == 0))
        if len(starts) < self.n:
            return ()
        rows = rows[starts]
        hashes = np.add.reduceat(letters.astype(np.uint16) ** 2, starts, dtype=np.uint32)
        hashes += rows << 16  # what two texts share does not count
        factors = np.cumprod(np.full(self.n, 0x9E3779B1, dtype=np.uint32), dtype=np.uint32)
        grams = np.correlate(hashes, factors, "valid")
        buckets = grams >> 16
        shared = np.flatnonzero(np.bincount(buckets)[buckets] > 1)  # only these are worth sorting
        order = shared[grams[shared].argsort()]
        return {*rows[order[1:][np.diff(grams[order]) == 0]].tolist()}

    def _max_count(self, text: str) -> int:
        """How often the most frequent n-gram occurs; 1 if none repeats."""
        folded = text.casefold()
        units = WORDS.findall(folded) if self.unit == "word" else folded
        if len(units) - len(set(units)) < self.n:  # a repeated n-gram repeats at least n units
            return 1
        return max(Counter(zip(*(units[start:] for start in range(self.n)), strict=False)).values())
