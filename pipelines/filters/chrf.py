"""Score the sides' surface similarity (chrF, 0 to 100) and drop pairs outside of `min` to `max`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pydantic import Field

from augment.view import Runtime
from pipelines.filter import Bounds, FilterSpec, PairColumns, RowFilter, Verdicts

if TYPE_CHECKING:
    from sacrebleu.metrics import CHRF


class PARAMS(Bounds):
    """Parameters of chrF; with neither bound it only scores."""

    min: float | None = Field(default=None, ge=0, le=100, description="the lowest chrF that is kept")
    max: float | None = Field(default=None, ge=0, le=100, description="the highest chrF that is kept")


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter: sentence-level chrF2 (Popović 2015) of `view_b` against `view_a` by sacrebleu, to two decimals."""

    def judge(pairs: PairColumns) -> Verdicts:
        sides = zip(pairs.strings("view_a"), pairs.strings("view_b"), strict=True)
        return params.verdicts("chrF", [round(_metric().sentence_score(two, [one]).score, 2) for one, two in sides])

    return RowFilter(FilterSpec("chrf", params.model_dump(), score="chrf"), judge)


@cache
def _metric() -> CHRF:
    from sacrebleu.metrics import CHRF

    return CHRF()
