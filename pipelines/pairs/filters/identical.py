"""Drop pairs whose two sides are the same text but for case, white space and punctuation marks.

So are those of which a side is the negative. A sentence that is paired with itself, whose second view dropout
makes, is kept.
"""

import string
import unicodedata
from collections.abc import Sequence

import regex

from pipelines.pairs.filter import SIDES, Filter, PairColumns, Verdicts

PUNCTUATION = regex.compile(
    r"(?: (?<=\d)\p{P}(?=\d) | (?<!\w)-(?=\d) )(*SKIP)(*FAIL) | [\p{P}\p{Sk}--[%‰#&@*\\/^]]",
    regex.VERBOSE | regex.VERSION1,
)
"""Marks that only give a text its structure. What is read aloud counts: C++, 5%, x < 3, -2, 3.5."""
IGNORED = string.punctuation.encode() + bytes(code for code in range(128) if chr(code).isspace())
SAME, ALIKE = "identical pair", "identical but for case and punctuation"
OWN_NEGATIVE = "negative identical to its pair"
LOWER = bytes(range(256)).lower()


class Identical(Filter):
    """With `exact` the texts are compared as they are."""

    exact: bool = False

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        sides = [pairs.strings(side) for side in SIDES]
        rows = zip(*sides, *map(_letters, sides), strict=True)
        # Two texts of punctuation alone have no words, but may still differ. Letters are compared only to be
        # fast.
        reasons = [
            SAME if a == b else ALIKE if x == y and not self.exact and _words(a) == _words(b) != [] else None
            for a, b, x, y in rows
        ]
        reasons = [
            None if is_one else reason
            for is_one, reason in zip(pairs.strings("is_itself"), reasons, strict=True)
        ]
        negatives = zip(pairs.strings("negative"), *sides, reasons, strict=True)
        return Verdicts([OWN_NEGATIVE if text in (a, b) else reason for text, a, b, reason in negatives])


def _letters(texts: Sequence[str]) -> list[bytes]:
    """The texts without case, blanks, punctuation and symbols of ASCII, which is translated as bytes."""
    letters = (text if text.isascii() else "".join(_words(text)) for text in texts)
    return b"\xff".join(map(str.encode, letters)).translate(LOWER, IGNORED).split(b"\xff")


def _words(text: str) -> list[str]:
    """The words of a text in NFKC, without case and punctuation marks."""
    words: str = PUNCTUATION.sub("", unicodedata.normalize("NFKC", text).casefold())
    return words.split()
