"""Drop pairs whose longer side has more than `max` times the words of the shorter one."""

from typing import Literal

import numpy as np
from pydantic import Field

from pipelines.pairs.filter import SIDES, Filter, PairColumns, Verdicts


class LengthRatio(Filter):
    """A side without words is dropped. For languages without spaces, set the unit to character."""

    max: float = Field(default=3.0, ge=1)
    unit: Literal["word", "character"] = "word"

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        sides = (pairs.strings(side) for side in SIDES)
        units = sides if self.unit == "character" else (map(str.split, texts) for texts in sides)
        shorter, longer = np.sort([[*map(len, texts)] for texts in units], axis=0)
        is_high = (shorter == 0) | (longer / np.maximum(shorter, 1) > self.max)
        return Verdicts(["length ratio too high" if flag else None for flag in is_high.tolist()])
