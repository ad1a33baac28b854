"""What a table to judge by is read into: items with how they are scored, and which belong together."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from trainers.data.tables import normalised
from trainers.encoders.vectors import Floats, Numbers, Vectors
from trainers.scores.task import Predictions, Result

SCORE, MACRO = "score", "macro-F1"
TableRow: TypeAlias = Mapping[str, str]
"""The cells of a row by role, stripped, "" for none."""
Score: TypeAlias = Callable[[Vectors, int], Result]


@dataclass(frozen=True, kw_only=True)
class TableItems:
    """What a table was taken for, and what its suite is made of: see `Task`, one for each of `scores`."""

    summary: str
    texts: Sequence[str]
    lines: list[str]
    size: int
    scores: Mapping[str, Score]
    sides: tuple[Sequence[str], Sequence[str]] | None = None
    metrics: tuple[str, ...] = (SCORE,)


def mean_result(outcomes: Floats, groups: Numbers) -> Result:
    """Return 100 times the mean of the items' outcomes, NaN for none.

    Their gold is their place among the items.
    """
    predictions = Predictions("mean", np.arange(len(outcomes), dtype=float), outcomes, groups)
    return Result({SCORE: 100 * float(np.nanmean(outcomes))}, predictions)


def item_groups(texts: Sequence[Sequence[str]], names: Sequence[str]) -> Numbers:
    """Return the number of each item's group, (items,), from 0 in order of first appearance.

    Items are together if they have the same `texts` in any order, but for case, spaces and marks (copies), or
    the same of the `names` that a column gives ("": none); so are two items that a third one joins.

    Example:
        >>> item_groups([["a cat"], ["A cat!"], ["a dog"], ["a bird"]], ["", "", "x", "x"])
        array([0, 0, 1, 1])
    """
    keys = [tuple(sorted(map(normalised, item))) for item in texts]
    together = DisjointSet([*keys, *filter(None, names)])
    for key, name in zip(keys, names, strict=True):
        if name:
            together.merge(key, name)
    numbers = dict[Hashable, int]()
    return np.array([numbers.setdefault(together[key], len(numbers)) for key in keys], dtype=np.int64)
