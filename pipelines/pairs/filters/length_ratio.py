"""Drop pairs whose longer side has more than `max` times the words of the shorter one."""

from typing import Literal

import numpy as np
from pydantic import Field

from pipelines.pairs.filter import SIDES, Filter, PairColumns, Verdicts
from pipelines.similarity import word_count


class LengthRatio(Filter):
    """A side without words is dropped.

    A letter of a script without spaces, such as Chinese, counts as a word.
    """

    max: float = Field(default=3.0, ge=1)
    unit: Literal["word", "character"] = "word"

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        sides = (pairs.strings(side) for side in SIDES)
        size = len if self.unit == "character" else word_count
        shorter, longer = np.sort([[*map(size, texts)] for texts in sides], axis=0)
        is_high = (shorter == 0) | (longer / np.maximum(shorter, 1) > self.max)
        return Verdicts(["length ratio too high" if flag else None for flag in is_high.tolist()])
