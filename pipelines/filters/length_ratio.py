"""Drop pairs whose longer side has more than `max` times the words of the shorter one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from augment.view import Runtime
from pipelines.filter import SIDES, FilterSpec, Options, PairColumns, RowFilter, Verdicts

REASON = "length ratio too high"


class PARAMS(Options):
    """Parameters of the length ratio."""

    max: float = Field(default=3.0, ge=1, description="the highest ratio, longer to shorter, that is kept")
    unit: Literal["word", "character"] = Field(
        default="word", description="what is counted; characters for languages without spaces"
    )


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter. A side without words (or characters) is dropped."""

    def judge(pairs: PairColumns) -> Verdicts:
        cut = str.split if params.unit == "word" else str
        one, two = ([len(cut(text)) for text in pairs.strings(side)] for side in SIDES)
        return Verdicts([REASON if _ratio(*lengths) > params.max else None for lengths in zip(one, two, strict=True)])

    return RowFilter(FilterSpec("length-ratio", params.model_dump()), judge)


def _ratio(one: int, two: int) -> float:
    short, long = (one, two) if one < two else (two, one)
    return long / short if short else float("inf")
