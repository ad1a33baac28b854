"""Drop pairs whose two sides are the same text but for case, white space and punctuation."""

import string
import unicodedata

import regex

from pipelines.filter import Filter, PairColumns, Verdicts

PUNCTUATION = regex.compile(r"[\p{P}\p{S}]+")
ASCII_PUNCTUATION = string.punctuation.encode()
FOLDED = bytes(ord(" " if chr(code).isspace() else chr(code).lower()) if code < 128 else code for code in range(256))
"""A table for `bytes.translate` that makes ASCII letters small and white space blanks."""


class Identical(Filter):
    """With `exact` the texts are compared as they are."""

    exact: bool = False

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        sides = zip(pairs.strings("view_a"), pairs.strings("view_b"), strict=True)
        # Two texts of punctuation alone are bare of everything, but may still differ.
        same = [one == two or (not self.exact and _bare(one) == _bare(two) != []) for one, two in sides]
        return Verdicts(["identical pair" if each else None for each in same])


def _bare(text: str) -> list[bytes]:
    """The words of a text in NFKC, without case and punctuation."""
    if not text.isascii():  # else bytes are much faster than the pattern
        text = " ".join(PUNCTUATION.sub("", unicodedata.normalize("NFKC", text).casefold()).split())
    return text.encode().translate(FOLDED, ASCII_PUNCTUATION).split()
