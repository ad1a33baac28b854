"""Drop pairs whose two sides are the same text but for case, white space and punctuation."""

import unicodedata

from pipelines.filter import PairColumns, RowFilter, Verdicts


class _Bare(dict[int, int | None]):
    """What `str.translate` makes of a character: nothing of punctuation; each is looked up once."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.category(chr(code))[0] in "PS" else code
        return self[code]


BARE = _Bare()


class Identical(RowFilter):
    """With `exact` the texts are compared as they are."""

    exact: bool = False

    def _judge(self, pairs: PairColumns) -> Verdicts:
        sides = zip(pairs.strings("view_a"), pairs.strings("view_b"), strict=True)
        return Verdicts(["identical pair" if self._same(one, two) else None for one, two in sides])

    def _same(self, one: str, two: str) -> bool:
        if self.exact or one == two:
            return one == two
        bare = _normalised(one)
        return bool(bare) and bare == _normalised(two)  # texts of punctuation alone have nothing left to compare


def _normalised(text: str) -> str:
    """A text in NFKC without case and punctuation (Unicode's P and S), its words parted by one space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(BARE).split())
