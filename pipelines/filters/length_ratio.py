"""Drop pairs whose longer side has more than `max` times the words of the shorter one."""

from typing import Literal

from pydantic import Field

from pipelines.filter import SIDES, Filter, PairColumns, Verdicts


class LengthRatio(Filter):
    """A side without words is dropped. For languages without spaces, set the unit to character."""

    max: float = Field(default=3.0, ge=1)
    unit: Literal["word", "character"] = "word"

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        cut = str.split if self.unit == "word" else str
        sides = ([len(cut(text)) for text in pairs.strings(side)] for side in SIDES)
        lengths = map(sorted, zip(*sides, strict=True))
        return Verdicts(["length ratio too high" if not one or two / one > self.max else None for one, two in lengths])
