"""Drop pairs whose longer side has more than `max` times the words of the shorter one."""

from typing import Literal

from pydantic import Field

from pipelines.filter import SIDES, PairColumns, RowFilter, Verdicts


class LengthRatio(RowFilter):
    """A side without words is dropped; the unit of languages without spaces is the character."""

    max: float = Field(default=3.0, ge=1)
    unit: Literal["word", "character"] = "word"

    def _judge(self, pairs: PairColumns) -> Verdicts:
        cut = str.split if self.unit == "word" else str
        sides = ([len(cut(text)) for text in pairs.strings(side)] for side in SIDES)
        lengths = map(sorted, zip(*sides, strict=True))
        return Verdicts(["length ratio too high" if not one or two / one > self.max else None for one, two in lengths])
