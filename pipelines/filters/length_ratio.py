"""Drop pairs whose longer side has more than `max` times the words of the shorter one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from augment.view import Runtime
from pipelines.filter import KEEP, FilterSpec, Pair, Verdict

REASON = "length ratio too high"


class PARAMS(BaseModel):
    """Parameters of the length ratio."""

    model_config = ConfigDict(extra="forbid")

    max: float = Field(default=3.0, ge=1, description="the highest ratio, longer to shorter, that is kept")
    unit: Literal["word", "character"] = Field(
        default="word", description="what is counted; characters for languages without spaces"
    )


@dataclass(frozen=True)
class LengthRatio:
    """The filter. A side without words (or characters) is dropped."""

    spec: FilterSpec
    most: float
    unit: str

    def __call__(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Drop a pair of too different lengths."""
        return [Verdict(REASON) if self._ratio(pair.view_a, pair.view_b) > self.most else KEEP for pair in pairs]

    def _ratio(self, one: str, two: str) -> float:
        short, long = sorted(len(text.split()) if self.unit == "word" else len(text) for text in (one, two))
        return long / short if short else float("inf")


def build(params: PARAMS, runtime: Runtime) -> LengthRatio:
    """The filter for `params`."""
    return LengthRatio(FilterSpec("length-ratio", params.model_dump()), params.max, params.unit)
