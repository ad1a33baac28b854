"""How sure a score is, and whether two differ: percentile bootstrap intervals and the paired bootstrap test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trainers.evaluation.task import Predictions

Floats: TypeAlias = "NDArray[np.float64]"

LEVEL = 0.95
PORTION = 100_000
"""Items that are held at once: about what a processor's cache takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A score x 100 or the difference of two, and the same in every bootstrap draw: NaN where it is undefined."""

    value: float
    draws: Floats

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% percentile interval (Efron 1979)."""
        low, high = np.nanpercentile(self.draws, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
        return float(low), float(high)

    @property
    def p_value(self) -> float:
        """The two-sided p-value of a difference (Berg-Kirkpatrick et al. 2012).

        The share of draws that lie at least as far from the observed difference as that lies from zero. The observed
        one counts as a draw, so that the least is 1 / (draws + 1).
        """
        # A hair below, so that a draw which repeats the observed difference counts whatever the rounding.
        far = np.abs(self.draws[~np.isnan(self.draws)] - self.value) >= abs(self.value) - 1e-9
        return float((1 + np.sum(far)) / (len(far) + 1))

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the difference of two scores, for which the same items were drawn."""
        return Estimate(self.value - other.value, self.draws - other.draws)


def score_of(items: Predictions) -> float | None:
    """Return the score x 100 of a set's items; None where it is undefined."""
    value = float(_scores(items.statistic, items.gold[None], items.predicted[None])[0])
    return None if np.isnan(value) else value


def estimate(items: Predictions, resamples: int, seed: int = 0) -> Estimate | None:
    """Return a set's score and that of as many items drawn with replacement; None where the score is undefined.

    Args:
        items: What each item of the set gave.
        resamples: The number of draws.
        seed: Decides them: sets with as many items are drawn alike.
    """
    value = score_of(items)
    if value is None:
        return None
    rng, size = np.random.default_rng(seed), len(items.predicted)
    draws, most = [], max(1, PORTION // size)
    for start in range(0, resamples, most):
        rows = rng.integers(0, size, (min(most, resamples - start), size))
        draws.append(_scores(items.statistic, items.gold[rows], items.predicted[rows]))
    return Estimate(value, np.concatenate(draws))


def average(sets: Sequence[Estimate]) -> Estimate:
    """Return the plain mean of several sets, of which each was drawn by itself.

    Sets that share items, as STS-B and STS12-16 do, are taken as independent: the true interval is a little wider.
    """
    return Estimate(float(np.mean([each.value for each in sets])), np.mean([each.draws for each in sets], axis=0))


def shuffled(sets: Sequence[Estimate], seed: int = 0) -> list[Estimate]:
    """Return the sets with their draws in another order: those that were drawn alike are independent so."""
    rng = np.random.default_rng((seed, 2))
    return [Estimate(each.value, rng.permutation(each.draws)) for each in sets]


def _scores(statistic: str, gold: Floats, predicted: Floats) -> Floats:
    """Return the scores x 100 of many draws at once, (draws,); NaN where one is undefined.

    Args:
        statistic: "mean", "auc" or "spearman".
        gold: (draws, items).
        predicted: The same shape.
    """
    from scipy.stats import rankdata

    if statistic == "mean":
        means: Floats = 100 * predicted.mean(axis=1)
        return means
    ranks = rankdata(predicted, axis=1)
    if statistic == "auc":
        positive = (gold > 0).sum(axis=1)
        won = (ranks * (gold > 0)).sum(axis=1) - positive * (positive + 1) / 2
        return _percent(won, positive * (gold.shape[1] - positive))
    x, y = (side - (side.shape[1] + 1) / 2 for side in (rankdata(gold, axis=1), ranks))
    return _percent((x * y).sum(axis=1), np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1)))


def _percent(parts: Floats, wholes: Floats) -> Floats:
    shares: Floats = np.divide(parts, wholes, out=np.full(len(parts), np.nan), where=wholes > 0)
    return 100 * shares
