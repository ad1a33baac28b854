"""Score the sides' surface similarity (chrF, 0 to 100) and drop pairs outside of `min` to `max`."""

from typing import ClassVar

from pydantic import Field

from pipelines.pairs.filter import Bounds, PairColumns, Verdicts
from pipelines.similarity import chrf


class Chrf(Bounds):
    """chrF2 (Popović 2015) of `view_b` against `view_a`, to two decimals; without bounds it only scores."""

    score: ClassVar[str | None] = "chrf"
    min: float | None = Field(default=None, ge=0, le=100)
    max: float | None = Field(default=None, ge=0, le=100)

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        scores = chrf(pairs.strings("view_b"), pairs.strings("view_a"))
        return self.verdicts("chrF", [round(score, 2) for score in scores.tolist()])
