"""Rank and linear correlation, the area under the ROC curve, and the three ways of joining a benchmark's subsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

AGGREGATIONS = ("all", "mean", "weighted")


@dataclass(frozen=True, slots=True)
class Score:
    """Correlations x 100 over `pairs` pairs; None where one side is constant, so that none is defined."""

    pairs: int
    spearman: float | None
    pearson: float | None


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Return the ranks 1..n of a 1-d array; equal values share the mean of their ranks."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(np.asarray(values, dtype=np.float64)), dtype=np.float64)


def pearson(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return the linear correlation in [-1, 1] of two lists of the same length, or None if either is constant.

    Raises:
        ValueError: The lengths differ, or there are fewer than two values.
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 2:
        raise ValueError(f"two lists of the same length >= 2 are needed, got shapes {x.shape} and {y.shape}")
    # By range, not by variance: the rounded mean of a constant list can differ from its values.
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Spearman's rho in [-1, 1], the linear correlation of the ranks, or None if either side is constant."""
    return pearson(ranks(first), ranks(second))


def auc(gold: ArrayLike, predicted: ArrayLike) -> float | None:
    """Return the area under the ROC curve in [0, 1]: how often a positive is ranked above a negative, ties half.

    Args:
        gold: 1 for a positive, 0 for a negative.
        predicted: A number for each, higher for a likelier positive.

    Returns:
        The area, or None without positives or without negatives.

    Raises:
        ValueError: The lengths differ, or gold has other values than 0 and 1.
    """
    from sklearn.metrics import roc_auc_score

    truth, values = np.asarray(gold, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if truth.shape != values.shape or truth.ndim != 1:
        raise ValueError(f"two lists of the same length are needed, got shapes {truth.shape} and {values.shape}")
    if not np.isin(truth, (0.0, 1.0)).all():
        raise ValueError("gold must be 0 or 1 everywhere")
    return float(roc_auc_score(truth, values)) if len(np.unique(truth)) == 2 else None


def score(gold: ArrayLike, predicted: ArrayLike) -> Score:
    """Return both correlations x 100 of gold scores with predicted similarities."""
    rho, r = spearman(gold, predicted), pearson(gold, predicted)
    return Score(len(np.asarray(gold)), None if rho is None else 100 * rho, None if r is None else 100 * r)


def aggregate(parts: Sequence[tuple[ArrayLike, ArrayLike]]) -> dict[str, Score]:
    """Join a benchmark's subsets, each given as (gold, predicted), in the three ways that papers use.

    `all`: one correlation over the concatenated pairs. `mean`: the plain mean of the subsets' correlations.
    `weighted`: their mean weighted by the subsets' sizes. A subset without a correlation leaves both means undefined.
    """
    gold, predicted = (np.concatenate([np.asarray(part[side]) for part in parts]) for side in (0, 1))
    singles = [score(*part) for part in parts]
    sizes = [single.pairs for single in singles]
    return {
        "all": score(gold, predicted),
        "mean": _mean(singles, [1] * len(singles)),
        "weighted": _mean(singles, sizes),
    }


def _mean(scores: Sequence[Score], weights: Sequence[int]) -> Score:
    def average(values: list[float | None]) -> float | None:
        return None if None in values else float(np.average(np.array(values, np.float64), weights=weights))

    return Score(
        sum(item.pairs for item in scores),
        average([item.spearman for item in scores]),
        average([item.pearson for item in scores]),
    )
