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
        # Two texts of punctuation alone are bare of everything, but may still differ.
        same = [a == b or (x == y and not self.exact and _bare(a) == _bare(b) != []) for a, b, x, y in rows]
        return Verdicts(["identical pair" if each else None for each in same])


def _letters(texts: Sequence[str]) -> list[bytes]:
    """The bare texts without blanks; those in ASCII are made bare all at once, as bytes, which is much faster."""
    plain = (text if text.isascii() else "".join(_bare(text)) for text in texts)
    return b"\xff".join(map(str.encode, plain)).translate(LOWER, IGNORED).split(b"\xff")


def _bare(text: str) -> list[str]:
    """The words of a text in NFKC, without case and punctuation."""
    bare: str = PUNCTUATION.sub("", unicodedata.normalize("NFKC", text).casefold())
    return bare.split()
