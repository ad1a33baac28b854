"""A score as the sum of what each independent group of items contributes to it.

For means that is exact. For other statistics it is their infinitesimal jackknife (Jaeckel 1972, Efron 1982):
the score, and by how much it changes with an item's weight. Whatever the statistic, a difference of two scores
is then a sum over the same groups, which one paired test can judge, and the mean of several figures is one
too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trainers.evaluation.task import Predictions

Floats: TypeAlias = "NDArray[np.float64]"
Influence: TypeAlias = "tuple[float, Floats]"
"""A score, and for each item its derivative by the item's weight, times the number of items; they add up to
0."""

LOWEST = {"spearman": -100.0}  # of the scores x 100; of other statistics 0
SHARED = 0.05  # of the variance between clusterings of one table, what stays in the mean of ever more of them


@dataclass(frozen=True, slots=True)
class Estimate:
    """A score x 100, or a difference of scores.

    `parts` (groups,) are what the groups contribute, their sum is the score. `weights` (groups,) are their
    shares of the items. `independent` is how many independent items the score rests on: the groups, or those
    with the rarer gold where there are two. `noise` is the variance that does not come from drawing items,
    `lowest` the least value.
    """

    parts: Floats
    weights: Floats
    independent: int
    noise: float = 0.0
    lowest: float = 0.0

    @property
    def score(self) -> float:
        """The score x 100; NaN if it is undefined."""
        return float(self.parts.sum())

    @property
    def groups(self) -> int:
        """The number of independent groups of items."""
        return len(self.parts)

    @property
    def variance(self) -> float:
        """The square of the standard error; NaN of one group."""
        if self.groups < 2:
            return np.nan
        spread = float(np.square(self.parts - self.score * self.weights).sum())
        return spread * self.groups / (self.groups - 1) + self.noise

    @property
    def is_constant(self) -> bool:
        """Whether every item has the same outcome, so that no item tells this encoder from one that is as good."""
        return bool(np.ptp(self.parts / self.weights) < 1e-9)

    def __sub__(self, other: Estimate) -> Estimate:
        """Return by how much this is greater, paired by groups."""
        weights = (self.weights + other.weights) / 2
        independent = min(self.independent, other.independent)
        return Estimate(
            self.parts - other.parts, weights, independent, self.noise + other.noise, self.lowest - 100
        )


def estimate(items: Predictions) -> Estimate:
    """Return the score of a set's items."""
    score, influence = INFLUENCES[items.statistic](items.gold, items.predicted)
    size = len(influence)
    groups = np.arange(size) if items.groups is None else np.unique(items.groups, return_inverse=True)[1]
    parts = np.asarray(np.bincount(groups, 100 * (score + influence) / size), dtype=np.float64)
    weights = np.asarray(np.bincount(groups) / size, dtype=np.float64)
    independent = len(parts)
    if items.statistic in ("ap", "auc"):
        independent = min(len(np.unique(groups[items.gold > 0])), len(np.unique(groups[items.gold <= 0])))
    noise = _clustering_noise(items) if items.statistic == "nmi" else 0.0
    return Estimate(parts, weights, independent, noise, LOWEST.get(items.statistic, 0.0))


def mean_of_figures(figures: Sequence[Estimate]) -> Estimate:
    """Return the mean of several figures of the same items."""
    return _mean_of(figures, lambda arrays: np.mean(arrays, axis=0))


def mean_of_tables(tables: Sequence[Estimate]) -> Estimate:
    """Return the mean of estimates whose items are independent of each other."""
    return _mean_of(tables, lambda arrays: np.concatenate(arrays) / len(arrays))


def _mean_of(estimates: Sequence[Estimate], joined: Callable[[list[Floats]], Floats]) -> Estimate:
    return Estimate(
        joined([each.parts for each in estimates]),
        joined([each.weights for each in estimates]),
        min(each.independent for each in estimates),
        sum(each.noise for each in estimates) / len(estimates) ** 2,
        min(each.lowest for each in estimates),
    )


def _mean(gold: Floats, outcomes: Floats) -> Influence:
    tested = ~np.isnan(outcomes)
    score = float(np.mean(outcomes, where=tested))
    return score, np.where(tested, outcomes - score, 0.0) / np.mean(tested)


def _spearman(gold: Floats, similarities: Floats) -> Influence:
    x, y = map(_centred_ranks, (gold, similarities))
    (xy, xy_changes), (xx, xx_changes), (yy, yy_changes) = (
        _moment(*sides) for sides in ((x, y), (x, x), (y, y))
    )
    if not xx * yy:
        return np.nan, np.full(len(x), np.nan)
    score = xy / np.sqrt(xx * yy)
    return score, xy_changes / np.sqrt(xx * yy) - score * (xx_changes / xx + yy_changes / yy) / 2


def _centred_ranks(values: Floats) -> Floats:
    from scipy.stats import rankdata

    return np.asarray((rankdata(values) - (len(values) + 1) / 2) / len(values))


def _moment(x: Floats, y: Floats) -> Influence:
    """Return the mean product of centred ranks; an item's weight moves the ranks of all items above it too."""
    moment = float(np.mean(x * y))
    return moment, x * y + _mean_above(x, y) + _mean_above(y, x) - 3 * moment


def _mean_above(ranks: Floats, values: Floats) -> Floats:
    """Return for each item the sum of the values of the items ranked above it, and half of its equals', over all."""
    order = np.argsort(ranks)
    totals = np.concatenate([[0.0], np.cumsum(values[order])])
    first, last = (np.searchsorted(ranks[order], ranks, side) for side in ("left", "right"))
    above = totals[-1] - (totals[first] + totals[last]) / 2
    return np.asarray(above / len(ranks))


def _roc_area(gold: Floats, similarities: Floats) -> Influence:
    """Placement values, as DeLong et al. 1988 take the variance from."""
    positive = gold > 0
    share = np.mean(positive)
    if share in (0, 1):
        return np.nan, np.full(len(gold), np.nan)
    negatives_below = 1 - share - _mean_above(similarities, (~positive).astype(float))
    positives_above = _mean_above(similarities, positive.astype(float))
    placements = np.where(positive, negatives_below / (1 - share), positives_above / share)
    score = float(np.mean(placements[positive]))
    return score, (placements - score) / np.where(positive, share, 1 - share)


def _average_precision(gold: Floats, similarities: Floats) -> Influence:
    positive = (gold > 0).astype(float)
    count = positive.sum()
    if not count:
        return np.nan, np.full(len(gold), np.nan)
    order = np.argsort(similarities)
    first, last = (np.searchsorted(similarities[order], similarities, side) for side in ("left", "right"))
    taken = len(gold) - first
    hits = (count - np.concatenate([[0.0], np.cumsum(positive[order])]))[first]
    precision = hits / taken
    score = float(positive @ precision / count)

    def sum_below(values: Floats) -> Floats:
        return np.concatenate([[0.0], np.cumsum((positive * values)[order])])[last]

    changes = positive * (precision - score + sum_below(1 / taken)) - sum_below(precision / taken)
    return score, changes * len(gold) / count


def _mutual_information(gold: Floats, clusterings: Floats) -> Influence:
    runs = [_normalised_information(gold.astype(int), clusters.astype(int)) for clusters in clusterings.T]
    return float(np.mean([score for score, _ in runs])), np.mean([changes for _, changes in runs], axis=0)


def _normalised_information(classes: NDArray[np.int64], clusters: NDArray[np.int64]) -> Influence:
    """Return the mutual information over the mean of the entropies."""
    joint = classes * (clusters.max() + 1) + clusters
    surprises = []
    for values in (classes, clusters, joint):
        counts = np.bincount(values)
        surprises.append(-np.log(counts[values] / len(values)))
    of_classes, of_clusters, of_both = surprises
    total = of_classes + of_clusters
    if not total.any():
        return np.nan, np.full(len(classes), np.nan)
    score = float(2 * np.mean(total - of_both) / np.mean(total))
    return score, (2 * (total - of_both) - score * total) / np.mean(total)


def _clustering_noise(items: Predictions) -> float:
    """Return the variance of the mean over clusterings, which differ by points, as others would have come out.

    All of them are of the same texts, so more of them do not make it vanish (Nadeau and Bengio 2003).
    """
    from scipy.stats import norm, t

    count = items.predicted.shape[1]
    if count < 2:
        return 0.0
    scores = [_normalised_information(items.gold.astype(int), run.astype(int))[0] for run in items.predicted.T]
    widened = t.isf(0.025, count - 1) / norm.isf(0.025)
    return float(np.var(scores, ddof=1) * 100**2 * (1 / count + SHARED) * widened**2)


INFLUENCES: Mapping[str, Callable[[Floats, Floats], Influence]] = {
    "mean": _mean,
    "spearman": _spearman,
    "auc": _roc_area,
    "ap": _average_precision,
    "nmi": _mutual_information,
}
