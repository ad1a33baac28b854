"""Scores of many resamples at once, from how often each item is drawn: no resample is sorted or scored by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from trainers.evaluation.metrics import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trainers.evaluation.task import Items

Floats: TypeAlias = "NDArray[np.float64]"
Counts: TypeAlias = "NDArray[np.int64]"

PORTION = 100_000
"""Items that are held at once: about what a processor's cache takes."""


def draws(items: int, resamples: int, seed: int) -> Iterator[Counts]:
    """Yield how often each item is drawn, a row for each resample; the same for the same seed and size."""
    rng = np.random.default_rng(seed)
    for rows in _portions(resamples, items):
        drawn = rng.integers(0, items, (rows, items))
        yield _counted(drawn, items)


def _portions(resamples: int, items: int) -> Iterator[int]:
    most = max(1, PORTION // items)
    for start in range(0, resamples, most):
        yield min(most, resamples - start)


def _counted(cells: Counts, kinds: int) -> Counts:
    """Count each row's values 0..kinds-1."""
    rows = len(cells)
    flat = (cells + np.arange(rows)[:, None] * kinds).ravel()
    return np.bincount(flat, minlength=rows * kinds).reshape(rows, kinds)


def scorer(items: Items) -> Callable[[Counts], Floats]:
    """Return the function from counts (draws, items) to scores x 100 (draws,)."""
    if items.statistic == "mean":
        return lambda counts: 100 * (counts @ items.predicted) / counts.sum(axis=1)
    if items.statistic == "auc":
        return _Areas(items)
    return _Correlations(items)


class _Ranked:
    """Items put in groups of equal values, so that ranks of any resample come from counts, without sorting it."""

    def __init__(self, values: Floats) -> None:
        _, groups = np.unique(values, return_inverse=True)
        self.order = np.argsort(groups, kind="stable")
        ordered = groups[self.order]
        self.starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self.groups = groups

    def sums(self, counts: Counts) -> Counts:
        """Return how many drawn items each group of equal values has, groups in ascending order."""
        return np.add.reduceat(counts[:, self.order], self.starts, axis=1)

    def ranks(self, counts: Counts) -> Floats:
        """Return every item's mid-rank in each resample, (draws, items); of no meaning where it is not drawn."""
        drawn = self.sums(counts)
        return (np.cumsum(drawn, axis=1) - (drawn - 1) / 2)[:, self.groups]


class _Correlations:
    """Spearman's rho of resamples."""

    def __init__(self, items: Items) -> None:
        self.gold, self.predicted = _Ranked(items.gold), _Ranked(items.predicted)

    def __call__(self, counts: Counts) -> Floats:
        middle = (counts.sum(axis=1, keepdims=True) + 1) / 2
        x, y = self.gold.ranks(counts) - middle, self.predicted.ranks(counts) - middle
        return _ratio((counts * x * y).sum(axis=1), (counts * x * x).sum(axis=1), (counts * y * y).sum(axis=1))


class _Areas:
    """Area under the ROC curve of resamples: the share of pairs in which the positive item has the greater value."""

    def __init__(self, items: Items) -> None:
        self.positive = items.gold > 0
        self.predicted = _Ranked(items.predicted)

    def __call__(self, counts: Counts) -> Floats:
        positive = self.predicted.sums(counts * self.positive)
        negative = self.predicted.sums(counts * ~self.positive)
        won = (positive * (np.cumsum(negative, axis=1) - negative / 2)).sum(axis=1)
        pairs = positive.sum(axis=1) * negative.sum(axis=1)
        share: Floats = np.divide(won, pairs, out=np.full(len(won), np.nan), where=pairs > 0)
        return 100 * share


def _ratio(xy: Floats, xx: Floats, yy: Floats) -> Floats:
    """Return correlations x 100 from sums of products; NaN where one side is constant."""
    squares = xx * yy
    ratio: Floats = np.divide(xy, np.sqrt(squares), out=np.full(len(xy), np.nan), where=squares > 0)
    return 100 * ratio


def swaps(first: Items, second: Items, resamples: int, seed: int) -> Floats:
    """Return the differences x 100 between two models after `resamples` random swaps; NaN where one is undefined."""
    rng = np.random.default_rng((seed, 1))
    size = len(first.predicted)
    if first.statistic == "mean":
        gaps = second.predicted - first.predicted
        signs = (1 - 2 * rng.integers(0, 2, (rows, size)) for rows in _portions(resamples, size))
        return np.concatenate([100 * (sign @ gaps) / size for sign in signs])
    score = _Rescored(first)
    # Mid-ranks are halves at least, so doubled they are whole numbers up to 2n: ranking them again is counting.
    one, two = (np.rint(2 * ranks(items.predicted)).astype(np.int64) for items in (first, second))
    found = []
    for rows in _portions(resamples, 2 * size):
        swap = rng.integers(0, 2, (rows, size)).astype(bool)
        found.append(score(np.where(swap, two, one)) - score(np.where(swap, one, two)))
    return np.concatenate(found)


class _Rescored:
    """Scores of whole-number predictions 0..2n, a row for each draw, against one gold."""

    def __init__(self, items: Items) -> None:
        self.size, self.auc = len(items.gold), items.statistic == "auc"
        if self.auc:
            self.positive = items.gold > 0
        else:
            self.gold = ranks(items.gold) - (self.size + 1) / 2

    def __call__(self, predicted: Counts) -> Floats:
        counts = _counted(predicted, 2 * self.size + 1)
        again = np.take_along_axis(np.cumsum(counts, axis=1) - (counts - 1) / 2, predicted, axis=1)
        if self.auc:
            many = int(self.positive.sum())
            won = again @ self.positive - many * (many + 1) / 2
            share: Floats = won / (many * (self.size - many))
            return 100 * share
        again -= (self.size + 1) / 2
        rows = len(predicted)
        return _ratio(again @ self.gold, (again * again).sum(axis=1), np.full(rows, self.gold @ self.gold))
