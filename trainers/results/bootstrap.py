"""How sure a score is, and whether two differ: bootstrap intervals, paired bootstrap and randomisation tests, Holm.

Resamples are scored many at once. Ranks are counted, not sorted: an item's code is twice its mid-rank among all items,
a whole number, and the ranks of any draw follow from how often each code is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pipelines.console import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trainers.evaluation.task import Predictions

Floats: TypeAlias = "NDArray[np.float64]"

RESAMPLES = 2000
LEVEL = 0.95
PORTION = 100_000
"""Items that are held at once: about what a processor's cache takes."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A score x 100 and its bootstrap percentile interval; `resamples` that had a score at all."""

    value: float
    low: float
    high: float
    resamples: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The second model's score minus the first's, x 100: its interval and the two-sided p-values of two tests."""

    value: float
    low: float
    high: float
    bootstrap: float
    randomisation: float


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """Two models on one set: the second's score minus the first's, x 100, observed and in the draws of both tests.

    `drawn` is of the paired bootstrap, `swapped` of the randomisation test; NaN where a score is undefined.
    """

    value: float
    drawn: Floats
    swapped: Floats


def score_of(items: Predictions) -> float | None:
    """Return the score x 100 of a set's items; None where it is undefined."""
    value = float(_scores(items.statistic, *(side[None] for side in _codes(items)))[0])
    return None if np.isnan(value) else value


def replicates(items: Predictions, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Return the score x 100 of `resamples` draws of the items with replacement; NaN where it is undefined."""
    rng, size = np.random.default_rng(seed), len(items.predicted)
    gold, predicted = _codes(items)
    draws = (rng.integers(0, size, (rows, size)) for rows in _portions(resamples, size))
    return np.concatenate([_scores(items.statistic, gold[drawn], predicted[drawn]) for drawn in draws])


def swaps(first: Predictions, second: Predictions, resamples: int, seed: int) -> Floats:
    """Return the differences x 100 between two models after `resamples` random swaps; NaN where one is undefined.

    Similarities are swapped as ranks, because two models' cosines are on different scales.
    """
    rng, size, statistic = np.random.default_rng((seed, 1)), len(first.predicted), first.statistic
    gold, one = _codes(first)
    two = _codes(second)[1]
    found = []
    for rows in _portions(resamples, 2 * size):
        swap = rng.integers(0, 2, (rows, size)).astype(bool)
        sides = (np.where(swap, one, two), np.where(swap, two, one))
        after, before = (_scores(statistic, np.broadcast_to(gold, side.shape), side) for side in sides)
        found.append(after - before)
    return np.concatenate(found)


def interval(items: Predictions, resamples: int = RESAMPLES, seed: int = 0) -> Interval | None:
    """Return a score's 95% percentile interval (Efron 1979); None where the score is undefined.

    Args:
        items: What each item of a set gave.
        resamples: How many draws of as many items, with replacement.
        seed: Decides them.
    """
    return average_interval([items], resamples, seed)


def average_interval(sets: Sequence[Predictions], resamples: int = RESAMPLES, seed: int = 0) -> Interval | None:
    """Return the interval of the plain mean of several sets' scores, each set resampled by itself.

    Sets that share items, as STS-B and STS12-16 do, are taken as independent: the true interval is a little wider.
    """
    known = [value for items in sets if (value := score_of(items)) is not None]
    if not known or len(known) < len(sets):
        return None
    drawn = np.mean([replicates(items, resamples, seed + number) for number, items in enumerate(sets)], axis=0)
    return Interval(float(np.mean(known)), *_percentiles(drawn), int(np.sum(~np.isnan(drawn))))


def difference(first: Predictions, second: Predictions, resamples: int = RESAMPLES, seed: int = 0) -> Paired | None:
    """Draw two models' difference on the same items for `assess` and `averaged`; None where a score is undefined.

    Args:
        first: One model's items.
        second: The other's.
        resamples: Draws of each test.
        seed: Decides them.

    Raises:
        InputError: The two are not of the same items.
    """
    check_paired(first, second)
    scores = score_of(first), score_of(second)
    if scores[0] is None or scores[1] is None:
        return None
    drawn = replicates(second, resamples, seed) - replicates(first, resamples, seed)
    return Paired(scores[1] - scores[0], drawn, swaps(first, second, resamples, seed))


def averaged(sets: Sequence[Paired], seed: int = 0) -> Paired:
    """Return two models' difference in the plain mean over sets, each set drawn and swapped by itself.

    Args:
        sets: The two models on each set, with as many draws everywhere.
        seed: Decides which draws of the sets come together: sets of one size were drawn alike, and are independent
            in another order.
    """
    rng = np.random.default_rng((seed, 2))
    drawn = [rng.permutation(each.drawn) for each in sets]
    swapped = [rng.permutation(each.swapped) for each in sets]
    return Paired(float(np.mean([each.value for each in sets])), np.mean(drawn, axis=0), np.mean(swapped, axis=0))


def assess(paired: Paired) -> Difference:
    """Return a difference with its interval and the p-values of two tests.

    The paired bootstrap draws the same items for both. Its p-value is the share of draws whose difference lies at
    least as far from the observed one as that lies from zero (Berg-Kirkpatrick et al. 2012). The randomisation test
    (Fisher; Noreen 1989) swaps the two models' predictions of every item with probability 1/2. Both p-values count the
    observed difference itself as one of the draws, so the least is 1 / (resamples + 1).
    """
    value, drawn = paired.value, paired.drawn[~np.isnan(paired.drawn)]
    swapped = paired.swapped[~np.isnan(paired.swapped)]
    return Difference(value, *_percentiles(drawn), _p_value(drawn - value, value), _p_value(swapped, value))


def check_paired(first: Predictions, second: Predictions) -> None:
    """Raise unless both have the same items.

    Raises:
        InputError: Another number of items, other gold values, or another statistic.
    """
    if len(first.predicted) != len(second.predicted):
        raise InputError(f"{len(first.predicted)} items against {len(second.predicted)}")
    if first.statistic != second.statistic:
        raise InputError(f"scored by {first.statistic} and by {second.statistic}")
    if not np.array_equal(first.gold, second.gold):
        at = int(np.argmax(first.gold != second.gold))
        raise InputError(f"item {at + 1} is graded {first.gold[at]:g} in one and {second.gold[at]:g} in the other")


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979), in their order."""
    order = np.argsort(values, kind="stable")
    stepped = np.minimum(1, np.take(values, order) * np.arange(len(values), 0, -1))
    corrected: Floats = np.empty(len(values))
    corrected[order] = np.maximum.accumulate(stepped)
    return [float(value) for value in corrected]


def _codes(items: Predictions) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return gold and predicted values as `_scores` takes them."""
    from scipy.stats import rankdata

    if items.statistic == "mean":
        return items.gold, items.predicted
    predicted = np.rint(2 * rankdata(items.predicted)).astype(np.int64)
    if items.statistic == "auc":
        return items.gold > 0, predicted
    return np.rint(2 * rankdata(items.gold)).astype(np.int64), predicted


def _scores(statistic: str, gold: NDArray[Any], predicted: NDArray[Any]) -> Floats:
    """Return the scores x 100 of many draws at once, (draws,); NaN where one is undefined.

    Args:
        statistic: "mean", "auc" or "spearman".
        gold: (draws, items), from `_codes`.
        predicted: The same shape.
    """
    if statistic == "mean":
        means: Floats = 100 * predicted.mean(axis=1)
        return means
    ranks = _ranks(predicted)
    if statistic == "auc":
        positive = gold.sum(axis=1)
        won = (ranks * gold).sum(axis=1) - positive * (positive + 1) / 2
        return _percent(won, positive * (gold.shape[1] - positive))
    x, y = (side - (side.shape[1] + 1) / 2 for side in (_ranks(gold), ranks))
    return _percent((x * y).sum(axis=1), np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1)))


def _ranks(codes: NDArray[np.int64]) -> Floats:
    """Return the mid-ranks of whole numbers 0..2n within each row, (draws, n)."""
    rows, kinds = len(codes), 2 * codes.shape[1] + 1
    flat = (codes + np.arange(rows)[:, None] * kinds).ravel()
    counts = np.bincount(flat, minlength=rows * kinds).reshape(rows, kinds)
    return np.take_along_axis(np.cumsum(counts, axis=1) - (counts - 1) / 2, codes, axis=1)


def _percent(parts: Floats, wholes: Floats) -> Floats:
    shares: Floats = np.divide(parts, wholes, out=np.full(len(parts), np.nan), where=wholes > 0)
    return 100 * shares


def _portions(resamples: int, items: int) -> Iterator[int]:
    most = max(1, PORTION // items)
    for start in range(0, resamples, most):
        yield min(most, resamples - start)


def _percentiles(drawn: Floats) -> tuple[float, float]:
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.percentile(known, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return float(low), float(high)


def _p_value(drawn: Floats, observed: float) -> float:
    # A hair below, so that a draw which repeats the observed difference counts whatever the rounding.
    return float((1 + np.sum(np.abs(drawn) >= abs(observed) - 1e-9)) / (len(drawn) + 1))
