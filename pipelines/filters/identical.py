"""Drop pairs whose two sides are the same text but for case, white space and punctuation."""

import string
import unicodedata

import regex

from pipelines.filter import Filter, PairColumns, Verdicts

PUNCTUATION = regex.compile(r"[\p{P}\p{S}]+")
ASCII_PUNCTUATION = string.punctuation.encode()


class Identical(Filter):
    """With `exact` the texts are compared as they are."""

    exact: bool = False

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        sides = zip(pairs.strings("view_a"), pairs.strings("view_b"), strict=True)
        # Two texts of punctuation alone are bare of everything, but may still differ.
        same = [one == two or (not self.exact and _bare(one) == _bare(two) != []) for one, two in sides]
        return Verdicts(["identical pair" if each else None for each in same])


def _bare(text: str) -> list[str]:
    """The words of a text in NFKC, without case and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():  # much faster than the pattern
        bare = folded.encode().translate(None, ASCII_PUNCTUATION).decode()
    else:
        bare = PUNCTUATION.sub("", folded)
    return bare.split()
