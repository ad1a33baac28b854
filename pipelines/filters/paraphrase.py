"""Drop pairs with a back-translation whose chrF (0 to 100) against its own sentence is below `min`."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from augment.view import Runtime
from pipelines.filter import FilterSpec, Options, PairColumns, RowFilter, Verdicts, first_reasons, is_round_trip
from pipelines.similarity import chrf


class PARAMS(Options):
    """Parameters of the check for paraphrases."""

    min: float = Field(default=25.0, ge=0, le=100, description="the lowest chrF that is kept; a random sentence has 12")


def build(params: PARAMS, runtime: Runtime) -> RowFilter:
    """The filter; each side is compared with the sentence, and sides that are no back-translations are left alone."""

    def judge(pairs: PairColumns) -> Verdicts:
        def reasons(side: str) -> Iterator[str | None]:
            about = pairs.about(side)
            trips = {each for each in set(about) if is_round_trip(each.view)}
            scores = chrf(pairs.strings(side), pairs.strings("text")).tolist() if trips else [100.0] * len(pairs)
            for each, score in zip(about, scores, strict=True):
                is_unlike = each in trips and score < params.min
                yield f"{each.name} is no paraphrase (chrF to its sentence too low)" if is_unlike else None

        return first_reasons(pairs, reasons)

    return RowFilter(FilterSpec("paraphrase", params.model_dump()), judge)
