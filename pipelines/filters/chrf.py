"""Score the sides' surface similarity (chrF, 0 to 100) and drop pairs outside of `min` to `max`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, model_validator

from augment.view import Runtime
from pipelines.filter import FilterSpec, PairColumns, Verdicts

if TYPE_CHECKING:
    from sacrebleu.metrics import CHRF


class PARAMS(BaseModel):
    """Parameters of chrF; with neither bound it only scores."""

    model_config = ConfigDict(extra="forbid")

    min: float | None = Field(default=None, ge=0, le=100, description="the lowest chrF that is kept")
    max: float | None = Field(default=None, ge=0, le=100, description="the highest chrF that is kept")

    @model_validator(mode="after")
    def _ordered(self) -> PARAMS:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        return self


@dataclass(frozen=True)
class Chrf:
    """The filter: sentence-level chrF2 (Popović 2015) of `view_b` against `view_a`, as sacrebleu computes it."""

    spec: FilterSpec
    least: float
    most: float

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Score every pair to two decimals."""
        sides = zip(pairs.strings("view_a"), pairs.strings("view_b"), strict=True)
        scores = [round(self._metric.sentence_score(two, [one]).score, 2) for one, two in sides]
        return Verdicts([self._reason(score) for score in scores], scores)

    def _reason(self, score: float) -> str | None:
        return "chrF too low" if score < self.least else "chrF too high" if score > self.most else None

    @cached_property
    def _metric(self) -> CHRF:
        from sacrebleu.metrics import CHRF

        return CHRF()


def build(params: PARAMS, runtime: Runtime) -> Chrf:
    """The filter for `params`."""
    least, most = 0.0 if params.min is None else params.min, 100.0 if params.max is None else params.max
    return Chrf(FilterSpec("chrf", params.model_dump(), score="chrf"), least, most)
