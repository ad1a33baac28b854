"""How sure a score is, and whether two differ: bootstrap intervals, paired bootstrap and randomisation tests, Holm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipelines.console import InputError
from trainers.compare.resampling import draws, scorer, swaps

if TYPE_CHECKING:
    from trainers.compare.resampling import Floats
    from trainers.evaluation.task import Items

RESAMPLES = 2000
LEVEL = 0.95


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


def statistic(items: Items) -> float | None:
    """Return the score x 100 of a set's items; None where it is undefined."""
    value = float(scorer(items)(np.ones((1, len(items.predicted)), dtype=np.int64))[0])
    return None if np.isnan(value) else value


def replicates(items: Items, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Return the score x 100 of `resamples` draws of the items with replacement; NaN where it is undefined."""
    of = scorer(items)
    return np.concatenate([of(counts) for counts in draws(len(items.predicted), resamples, seed)])


def interval(items: Items, resamples: int = RESAMPLES, seed: int = 0, level: float = LEVEL) -> Interval | None:
    """Return a score's percentile interval (Efron 1979); None where the score is undefined.

    Args:
        items: What each item of a set gave.
        resamples: How many draws of as many items, with replacement.
        seed: Decides them.
        level: The interval's probability, in (0, 1).
    """
    value = statistic(items)
    return None if value is None else _interval(value, replicates(items, resamples, seed), level)


def average_interval(
    sets: Sequence[Items], resamples: int = RESAMPLES, seed: int = 0, level: float = LEVEL
) -> Interval | None:
    """Return the interval of the plain mean of several sets' scores, each set resampled by itself.

    Sets that share items, as STS-B and STS12-16 do, are taken as independent: the true interval is a little wider.
    """
    values = [statistic(items) for items in sets]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    drawn = [replicates(items, resamples, seed + number) for number, items in enumerate(sets)]
    return _interval(float(np.mean(known)), np.mean(drawn, axis=0), level)


def difference(first: Items, second: Items, resamples: int = RESAMPLES, seed: int = 0) -> Difference | None:
    """Test whether two models differ on the same items; None where a score is undefined.

    The paired bootstrap draws the same items for both. Its p-value is the share of draws whose difference lies at
    least as far from the observed one as that lies from zero (Berg-Kirkpatrick et al. 2012). The randomisation test
    (Fisher; Noreen 1989) swaps the two models' predictions of every item with probability 1/2; similarities are
    swapped as ranks, because two models' cosines are on different scales. Both p-values count the observed
    difference itself as one of the draws, so the least is 1 / (resamples + 1).

    Args:
        first: One model's items.
        second: The other's.
        resamples: Draws of each test.
        seed: Decides them.

    Raises:
        InputError: The two are not of the same items.
    """
    paired = pair(first, second, resamples, seed)
    return None if paired is None else assess(paired)


def pair(first: Items, second: Items, resamples: int = RESAMPLES, seed: int = 0) -> Paired | None:
    """Return what `difference` tests, for `assess` and for `averaged`; arguments and errors are those of it."""
    check_paired(first, second)
    scores = statistic(first), statistic(second)
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
    """Return a difference with its interval and the p-values of both tests; see `difference`."""
    value, drawn = paired.value, paired.drawn[~np.isnan(paired.drawn)]
    swapped = np.abs(paired.swapped[~np.isnan(paired.swapped)])
    low, high = _percentiles(drawn, LEVEL)
    return Difference(value, low, high, _p_value(np.abs(drawn - value), value), _p_value(swapped, value))


def check_paired(first: Items, second: Items) -> None:
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
    corrected = [0.0] * len(values)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=lambda index: values[index])):
        running = max(running, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = running
    return corrected


def _interval(value: float, drawn: Floats, level: float) -> Interval:
    known = drawn[~np.isnan(drawn)]
    return Interval(value, *_percentiles(known, level), len(known))


def _percentiles(drawn: Floats, level: float) -> tuple[float, float]:
    if not len(drawn):
        return float("nan"), float("nan")
    low, high = np.percentile(drawn, [50 * (1 - level), 50 * (1 + level)])
    return float(low), float(high)


def _p_value(extremes: Floats, observed: float) -> float:
    # A hair below, so that a draw which repeats the observed difference counts whatever the rounding.
    return float((1 + np.sum(extremes >= abs(observed) - 1e-9)) / (len(extremes) + 1))
