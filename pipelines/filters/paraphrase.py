"""Drop pairs with a back-translation whose chrF (0 to 100) against its own sentence is below `min`."""

from collections.abc import Iterator

from pydantic import Field

from pipelines.filter import PairColumns, RowFilter, Verdicts, first_reasons, is_round_trip
from pipelines.similarity import chrf


class Paraphrase(RowFilter):
    """Sides that are no back-translations are left alone; a random sentence has a chrF of 12."""

    min: float = Field(default=25.0, ge=0, le=100)

    def _judge(self, pairs: PairColumns) -> Verdicts:
        def reasons(side: str) -> Iterator[str | None]:
            about = pairs.about(side)
            trips = {each for each in set(about) if is_round_trip(each.view)}
            scores = chrf(pairs.strings(side), pairs.strings("text")).tolist() if trips else [100.0] * len(pairs)
            for each, score in zip(about, scores, strict=True):
                is_unlike = each in trips and score < self.min
                yield f"{each.name} is no paraphrase (chrF to its sentence too low)" if is_unlike else None

        return first_reasons(reasons)
