"""Drop pairs whose longer side has more than `max` times the words of the shorter one."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pipelines.filter import SIDES, Filter, PairColumns, Verdicts

TABLE = bytes(not (code < 128 and chr(code).isspace()) for code in range(256))


class LengthRatio(Filter):
    """A side without words is dropped. For languages without spaces, set the unit to character."""

    max: float = Field(default=3.0, ge=1)
    unit: Literal["word", "character"] = "word"

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        one, two = np.sort([self._lengths(pairs, side) for side in SIDES], axis=0)
        is_high = (one == 0) | (two / np.maximum(one, 1) > self.max)
        return Verdicts(["length ratio too high" if each else None for each in is_high.tolist()])

    def _lengths(self, pairs: PairColumns, side: str) -> NDArray[np.intp]:
        if self.unit == "character":
            return np.array([*map(len, pairs.strings(side))], dtype=np.intp)
        return pairs.words(side, TABLE, lambda text: " ".join(text.split()))[-1]
