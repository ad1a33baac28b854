"""Drop pairs with a back-translation whose chrF (0 to 100) against its own sentence is below `min`."""

from collections.abc import Iterator

from pydantic import Field

from pipelines.pairs.filter import PairColumns, SideFilter, is_round_trip
from pipelines.similarity import chrf


class Paraphrase(SideFilter):
    """It ignores other views. The chrF of a random sentence is 12."""

    min: float = Field(default=25.0, ge=0, le=100)

    def reasons(self, pairs: PairColumns, side: str) -> Iterator[str | None]:
        """Drop back-translations that differ too much from their sentence."""
        about = pairs.about(side)
        trips = {each for each in set(about) if is_round_trip(each.view)}
        scores = chrf(pairs.strings(side), pairs.strings("text")).tolist() if trips else [100.0] * len(pairs)
        for each, score in zip(about, scores, strict=True):
            dropped = each in trips and score < self.min
            yield f"{each.name} is not a paraphrase (chrF to its sentence too low)" if dropped else None
