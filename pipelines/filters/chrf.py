"""Score the sides' surface similarity (chrF, 0 to 100) and drop pairs outside of `min` to `max`."""

from __future__ import annotations

from pydantic import Field

from augment.view import Runtime
from pipelines.filter import Bounds, FilterSpec, PairColumns, RowFilter, Verdicts
from pipelines.similarity import chrf


class PARAMS(Bounds):
    """Parameters of chrF; with neither bound it only scores."""

    min: float | None = Field(default=None, ge=0, le=100, description="the lowest chrF that is kept")
    max: float | None = Field(default=None, ge=0, le=100, description="the highest chrF that is kept")


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter: chrF2 (Popović 2015) of `view_b` against `view_a`, to two decimals, as by sacrebleu."""

    def judge(pairs: PairColumns) -> Verdicts:
        scores = chrf(pairs.strings("view_b"), pairs.strings("view_a"))
        return params.verdicts("chrF", [round(score, 2) for score in scores.tolist()])

    return RowFilter(FilterSpec("chrf", params.model_dump(), score="chrf"), judge)
