"""Drop pairs whose two sides are the same text but for case, white space and punctuation."""

import string
import unicodedata
from collections.abc import Sequence

import regex

from pipelines.pairs.filter import SIDES, Filter, PairColumns, Verdicts

PUNCTUATION = regex.compile(r"[\p{P}\p{S}]+")
IGNORED = string.punctuation.encode() + bytes(code for code in range(128) if chr(code).isspace())
LOWER = bytes(range(256)).lower()


class Identical(Filter):
    """With `exact` the texts are compared as they are."""

    exact: bool = False

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        sides = [pairs.strings(side) for side in SIDES]
        rows = zip(*sides, *map(_letters, sides), strict=True)
        # Two texts of punctuation alone have no words, but may still differ.
        identical = (a == b or (x == y and not self.exact and _words(a) == _words(b) != []) for a, b, x, y in rows)
        return Verdicts(["identical pair" if is_identical else None for is_identical in identical])


def _letters(texts: Sequence[str]) -> list[bytes]:
    """The texts without case, blanks and punctuation; ASCII is translated as bytes, which is much faster."""
    letters = (text if text.isascii() else "".join(_words(text)) for text in texts)
    return b"\xff".join(map(str.encode, letters)).translate(LOWER, IGNORED).split(b"\xff")


def _words(text: str) -> list[str]:
    """The words of a text in NFKC, without case and punctuation."""
    words: str = PUNCTUATION.sub("", unicodedata.normalize("NFKC", text).casefold())
    return words.split()
