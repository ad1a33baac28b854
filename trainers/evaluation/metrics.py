"""Rank and linear correlation, the area under the ROC curve, and averages of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def pearson(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return the linear correlation in [-1, 1] of two lists of one length of at least 2; None if one is constant."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    # By range, not by variance: the rounded mean of a constant list can differ from its values.
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Spearman's rho in [-1, 1], the linear correlation of the ranks; None if one list is constant."""
    from scipy.stats import rankdata

    return pearson(rankdata(np.asarray(first, np.float64)), rankdata(np.asarray(second, np.float64)))


def auc(gold: ArrayLike, predicted: ArrayLike) -> float | None:
    """Return the area under the ROC curve in [0, 1] for grades of 1 and 0; None unless both occur."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(gold, predicted)) if len(np.unique(np.asarray(gold))) == 2 else None


def average(values: Sequence[float | None], weights: Sequence[float] | None = None) -> float | None:
    """Return the mean, weighted if asked for; None if one of the values is undefined."""
    known = [value for value in values if value is not None]
    return float(np.average(known, weights=weights)) if len(known) == len(values) else None
