"""Drop pairs whose two sides are the same text but for case, white space and punctuation."""

from __future__ import annotations

import operator
import unicodedata
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from augment.view import Runtime
from pipelines.filter import FilterSpec, PairColumns, Verdicts

REASON = "identical pair"
ASCII = bytes(range(128))
LOWER = bytes(range(256)).lower()
# What is left out of ASCII before texts are compared: its punctuation, and all that parts words.
LEFT_OUT = bytes(code for code in ASCII if unicodedata.category(chr(code))[0] in "PS" or chr(code).isspace())


class _Bare(dict[int, int | None]):
    """What `str.translate` makes of a character: nothing of punctuation; each is looked up once."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.category(chr(code))[0] in "PS" else code
        return self[code]


BARE = _Bare()


class PARAMS(BaseModel):
    """Parameters of the check for identical sides."""

    model_config = ConfigDict(extra="forbid")

    exact: bool = Field(default=False, description="compare the texts as they are")


@dataclass(frozen=True)
class Identical:
    """The filter."""

    spec: FilterSpec
    exact: bool

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Drop a pair of equal sides."""
        same = operator.eq if self.exact else _same
        sides = pairs.strings("view_a"), pairs.strings("view_b")
        return Verdicts([REASON if equal else None for equal in map(same, *sides)])


def _same(one: str, two: str) -> bool:
    if one == two:
        return True
    if _letters(one) != _letters(two):
        return False
    bare = normalised(one)
    # Texts of punctuation alone have nothing left to compare.
    return bool(bare) and bare == normalised(two)


def _letters(text: str) -> bytes:
    """A normalised text without spaces, which tells most texts apart much sooner."""
    if text.isascii():
        return text.encode().translate(LOWER, LEFT_OUT)
    return normalised(text).replace(" ", "").encode("utf-8", "surrogatepass")


def normalised(text: str) -> str:
    """A text in NFKC without case and punctuation (Unicode's P and S), its words parted by one space."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(BARE).split())


def build(params: PARAMS, runtime: Runtime) -> Identical:
    """The filter for `params`."""
    return Identical(FilterSpec("identical", params.model_dump()), params.exact)
