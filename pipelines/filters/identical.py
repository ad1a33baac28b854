"""Drop pairs whose two sides are the same text but for case, white space and punctuation."""

from __future__ import annotations

import operator
import unicodedata

from pydantic import Field

from augment.view import Runtime
from pipelines.filter import FilterSpec, Options, PairColumns, RowFilter, Verdicts

REASON = "identical pair"
LOWER = bytes(range(256)).lower()
LEFT_OUT = bytes(code for code in range(128) if unicodedata.category(chr(code))[0] in "PS" or chr(code).isspace())
"""What is left out of ASCII before texts are compared: its punctuation and white space."""


class _Bare(dict[int, int | None]):
    """What `str.translate` makes of a character: nothing of punctuation; each is looked up once."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.category(chr(code))[0] in "PS" else code
        return self[code]


BARE = _Bare()


class PARAMS(Options):
    """Parameters of the check for identical sides."""

    exact: bool = Field(default=False, description="compare the texts as they are")


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter for `params`."""
    same = operator.eq if params.exact else _same

    def judge(pairs: PairColumns) -> Verdicts:
        equal = map(same, pairs.strings("view_a"), pairs.strings("view_b"))
        return Verdicts([REASON if each else None for each in equal])

    return RowFilter(FilterSpec("identical", params.model_dump()), judge)


def _same(one: str, two: str) -> bool:
    if one == two:
        return True
    if _letters(one) != _letters(two):
        return False
    bare = _normalised(one)
    # Texts of punctuation alone have nothing left to compare.
    return bool(bare) and bare == _normalised(two)


def _letters(text: str) -> bytes:
    """A normalised text without spaces, which tells most texts apart much sooner."""
    if text.isascii():
        return text.encode().translate(LOWER, LEFT_OUT)
    return _normalised(text).replace(" ", "").encode("utf-8", "surrogatepass")


def _normalised(text: str) -> str:
    """A text in NFKC without case and punctuation (Unicode's P and S), its words parted by one space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(BARE).split())
