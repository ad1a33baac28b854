"""Drop pairs whose longer side has more than `max` times the words of the shorter one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from augment.view import Runtime
from pipelines.filter import FilterSpec, PairColumns, Verdicts

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

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Drop a pair of too different lengths."""
        lengths = (self._lengths(pairs.strings(side)) for side in ("view_a", "view_b"))
        return Verdicts([REASON if _ratio(one, two) > self.most else None for one, two in zip(*lengths, strict=True)])

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts] if self.unit == "word" else list(map(len, texts))


def _ratio(one: int, two: int) -> float:
    short, long = (one, two) if one < two else (two, one)
    return long / short if short else float("inf")


def build(params: PARAMS, runtime: Runtime) -> LengthRatio:
    """The filter for `params`."""
    return LengthRatio(FilterSpec("length-ratio", params.model_dump()), params.max, params.unit)
