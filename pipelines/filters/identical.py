"""Drop pairs whose two sides are the same text but for case, white space and punctuation."""

import unicodedata

import regex

from pipelines.filter import Filter, PairColumns, Verdicts

PUNCTUATION = regex.compile(r"[\p{P}\p{S}]+")


class Identical(Filter):
    """With `exact` the texts are compared as they are."""

    exact: bool = False

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        sides = zip(pairs.strings("view_a"), pairs.strings("view_b"), strict=True)
        return Verdicts(["identical pair" if self._same(one, two) else None for one, two in sides])

    def _same(self, one: str, two: str) -> bool:
        if self.exact or one == two:
            return one == two
        bare = _bare(one)
        return bool(bare) and bare == _bare(two)  # two texts of punctuation alone may still differ


def _bare(text: str) -> str:
    """A text in NFKC without case and punctuation, with one space between words."""
    return " ".join(PUNCTUATION.sub("", unicodedata.normalize("NFKC", text).casefold()).split())
