"""Drop pairs whose two sides are the same text but for case, white space and punctuation."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from augment.view import Runtime
from pipelines.filter import KEEP, FilterSpec, Pair, Verdict

REASON = "identical pair"


class PARAMS(BaseModel):
    """Parameters of the check for identical sides."""

    model_config = ConfigDict(extra="forbid")

    exact: bool = Field(default=False, description="compare the texts as they are")


@dataclass(frozen=True)
class Identical:
    """The filter."""

    spec: FilterSpec
    exact: bool

    def __call__(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Drop a pair of equal sides."""
        return [Verdict(REASON) if self._same(pair.view_a, pair.view_b) else KEEP for pair in pairs]

    def _same(self, one: str, two: str) -> bool:
        if self.exact or one == two:
            return one == two
        bare = normalised(one)
        # Texts of punctuation alone have nothing left to compare.
        return bool(bare) and bare == normalised(two)


def normalised(text: str) -> str:
    """A text in NFKC without case and punctuation (Unicode's P and S), its words parted by one space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(char for char in folded if unicodedata.category(char)[0] not in "PS").split())


def build(params: PARAMS, runtime: Runtime) -> Identical:
    """The filter for `params`."""
    return Identical(FilterSpec("identical", params.model_dump()), params.exact)
