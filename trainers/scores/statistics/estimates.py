"""A score as the sum of what each independent group of items contributes to it.

For means that is exact. For other statistics it is their infinitesimal jackknife (Jaeckel 1972, Efron 1982):
the score, and by how much it changes with an item's weight, which torch derives from the statistic of weighted
items. Whatever the statistic, a difference of two scores is then a sum over the same groups, which one paired
test can judge, and the mean of several figures is one too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from trainers.encoders.vectors import Floats, Numbers
from trainers.scores.task import Predictions

if TYPE_CHECKING:
    from torch import Tensor

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
    score, changes = influence(items)
    size = len(changes)
    groups = np.arange(size) if items.groups is None else np.unique(items.groups, return_inverse=True)[1]
    parts = np.asarray(np.bincount(groups, 100 * (score + changes) / size), dtype=np.float64)
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


def influence(items: Predictions) -> tuple[float, Floats]:
    """Return a score, and for each item its derivative by the item's weight, times the number of items."""
    if items.statistic == "mean":
        return _mean(items.predicted)
    import torch

    weights = torch.ones(len(items.gold), dtype=torch.float64, requires_grad=True)
    score = STATISTICS[items.statistic](weights, items.gold, items.predicted)
    (slopes,) = torch.autograd.grad(score, weights)
    return score.item(), len(items.gold) * slopes.numpy()


def _mean(outcomes: Floats) -> tuple[float, Floats]:
    tested = ~np.isnan(outcomes)
    score = float(np.mean(outcomes, where=tested))
    return score, np.where(tested, outcomes - score, 0.0) / np.mean(tested)


def _spearman(weights: Tensor, gold: Floats, similarities: Floats) -> Tensor:
    x, y = (_mid_ranks(values, weights) - weights.sum() / 2 for values in (gold, similarities))
    return weights @ (x * y) / ((weights @ x**2) * (weights @ y**2)).sqrt()


def _roc_area(weights: Tensor, gold: Floats, similarities: Floats) -> Tensor:
    positives = weights * weights.new_tensor(gold > 0)
    negatives = weights - positives
    return positives @ _mid_ranks(similarities, negatives) / (positives.sum() * negatives.sum())


def _average_precision(weights: Tensor, gold: Floats, similarities: Floats) -> Tensor:
    positives = weights * weights.new_tensor(gold > 0)
    hits, taken = (of.sum() - _weight_below(similarities, of, "left") for of in (positives, weights))
    return positives @ (hits / taken) / positives.sum()


def _mid_ranks(values: Floats, weights: Tensor) -> Tensor:
    """Return for each item the weight of the items below it, and half of its equals'."""
    return (_weight_below(values, weights, "left") + _weight_below(values, weights, "right")) / 2


def _weight_below(values: Floats, weights: Tensor, side: Literal["left", "right"]) -> Tensor:
    """Return for each item the weight of the items below it, on the right side of its equals of these too."""
    import torch

    order = np.argsort(values)
    totals = torch.cat([weights.new_zeros(1), weights[order].cumsum(0)])
    return totals[np.searchsorted(values[order], values, side)]


def _mutual_information(weights: Tensor, gold: Floats, clusterings: Floats) -> Tensor:
    scores = [_normalised_information(weights, gold, clusters) for clusters in clusterings.T]
    return sum(scores[1:], scores[0]) / len(scores)


def _normalised_information(weights: Tensor, gold: Floats, clustering: Floats) -> Tensor:
    """Return the mutual information over the mean of the entropies."""
    classes, clusters = gold.astype(int), clustering.astype(int)
    joint = classes * (clusters.max() + 1) + clusters
    of_classes, of_clusters, of_both = (_entropy(weights, values) for values in (classes, clusters, joint))
    return 2 * (of_classes + of_clusters - of_both) / (of_classes + of_clusters)


def _entropy(weights: Tensor, values: Numbers) -> Tensor:
    import torch

    counts = weights.new_zeros(values.max() + 1).index_add(0, torch.from_numpy(values), weights)
    shares = counts[counts > 0] / weights.sum()
    return -(shares @ shares.log())


def _clustering_noise(items: Predictions) -> float:
    """Return the variance of the mean over clusterings, which differ by points, as others would have come out.

    All of them are of the same texts, so more of them do not make it vanish (Nadeau and Bengio 2003).
    """
    import torch
    from scipy.stats import norm, t

    count = items.predicted.shape[1]
    if count < 2:
        return 0.0
    weights = torch.ones(len(items.gold), dtype=torch.float64)
    scores = [_normalised_information(weights, items.gold, run).item() for run in items.predicted.T]
    widened = t.isf(0.025, count - 1) / norm.isf(0.025)
    return float(np.var(scores, ddof=1) * 100**2 * (1 / count + SHARED) * widened**2)


STATISTICS: Mapping[str, Callable[[Tensor, Floats, Floats], Tensor]] = {
    "spearman": _spearman,
    "auc": _roc_area,
    "ap": _average_precision,
    "nmi": _mutual_information,
}
"""Scores of weighted items, from 0 to 1 or -1 to 1: of their weights, gold and predictions."""
