"""What a table to judge by is read into: a row's cells, and its items with how they are scored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trainers.encoders.vectors import Vectors
from trainers.evaluation.task import Predictions, Result

SCORE, MACRO = "score", "macro-F1"
Numbers: TypeAlias = "NDArray[np.int64]"
Score: TypeAlias = Callable[[Vectors, int], Result]


class TableRow(NamedTuple):
    """The cells that count, stripped, "" for none: a text, its label, grade or document, a second text, and more."""

    text: str
    value: str
    second: str = ""
    group: str = ""
    extra: str = ""  # the relevance of a document, or its title


@dataclass(frozen=True, kw_only=True)
class TableItems:
    """What a table was taken for, and what its suite is made of: see `Task`, one for each of `scores`."""

    summary: str
    texts: Sequence[str]
    lines: Sequence[str]
    size: int
    scores: Mapping[str, Score]
    sides: tuple[Sequence[str], Sequence[str]] | None = None
    metrics: tuple[str, ...] = (SCORE,)


def mean_result(outcomes: NDArray[np.float64], groups: Numbers) -> Result:
    """Return 100 times the mean of the items' outcomes, NaN for none; their gold is their place among the items."""
    predictions = Predictions("mean", np.arange(len(outcomes), dtype=float), outcomes, groups)
    return Result({SCORE: 100 * float(np.nanmean(outcomes))}, predictions)
