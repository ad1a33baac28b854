"""A paired test that turns the signs of differences (Fisher 1935), the interval that agrees with it, and its power.

If two encoders are equally good, each group of items could as well have favoured the other one. p is the share
of the patterns of signs under which the sum is at least as far from 0. The interval is the test turned round,
all differences that it does not reject: it leaves out 0 exactly if p is at most `LEVEL`.
"""

import math
from collections.abc import Sequence

import numpy as np

from trainers.encoders.vectors import Floats
from trainers.scores.statistics.estimates import Estimate

LEVEL, POWER = 0.05, 0.8
EXACT = 12  # with so many differences or fewer, all patterns of their signs are taken
# else so many, the first of them as it is, and how many of them are in memory at once
PATTERNS, BLOCK = (
    10_000,
    500,
)
BUNDLES = 2_000  # if there are more groups, several have their signs turned together
ZERO = 1e-9  # what rounding errors may make of 0


def sign_test(difference: Estimate) -> tuple[float, float, float]:
    """Return the two-sided p of no difference, and low and high end of the 95% interval of the difference.

    After a shift by d the sum is T - d, and under a pattern of signs A - d W, if that turns the sum of the
    weights, 1, into W. The second is as far from 0 as the first for every d between (T - A) / (1 - W) and (T +
    A) / (1 + W).
    """
    total = difference.score
    sums, shares = _signed_sums(difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(total - sums) / (1 - shares), (total + sums) / (1 + shares)])
    ends[np.abs(ends) < ZERO] = 0
    is_same = (np.abs(np.abs(shares) - 1) < ZERO) & (np.abs(sums - shares * total) < ZERO)
    lows = np.where(is_same, -np.inf, ends.min(axis=0))
    highs = np.where(is_same, np.inf, ends.max(axis=0))
    p = float(np.mean((lows <= 0) & (highs >= 0)))
    outside = int(LEVEL * len(lows) + ZERO)
    low, high = np.sort(lows)[outside], np.sort(highs)[-1 - outside]
    return p, max(float(low), difference.lowest), min(float(high), -difference.lowest)


def _signed_sums(difference: Estimate) -> tuple[Floats, Floats]:
    """Return the sums of parts and of weights under each pattern of signs, or of the same draws of them every time."""
    order = np.argsort(-np.abs(difference.parts), kind="stable")
    bundles = np.arange(len(order)) % BUNDLES
    columns = [np.bincount(bundles, values[order]) for values in (difference.parts, difference.weights)]
    both = np.stack(columns, axis=1)
    differing = int(np.sum(np.abs(both[:, 0]) > ZERO))
    is_exact = differing <= EXACT and not difference.noise
    rng = np.random.default_rng(0)
    blocks = []
    for start in range(0, 2**EXACT if is_exact else PATTERNS, BLOCK):
        count = BLOCK * len(both)
        bits = np.unpackbits(np.frombuffer(rng.bytes(count // 8 + 1), np.uint8), count=count)
        signs = 1.0 - 2.0 * bits.reshape(BLOCK, -1)
        if is_exact:
            numbers = np.arange(start, start + BLOCK)
            signs[:, :differing] = 1 - 2 * (numbers[:, None] >> np.arange(differing) & 1)
        signs[0] = 1 if start == 0 else signs[0]
        blocks.append(signs @ both)
    sums, shares = np.concatenate(blocks)[: 2**EXACT if is_exact else PATTERNS].T
    sums[1:] += math.sqrt(difference.noise) * rng.standard_normal(len(sums) - 1)
    return sums, shares


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values of several comparisons so that one of them falls below a level by chance no more often than it.

    Example:
        >>> holm([0.01, 0.04, 0.03])  # Holm 1979
        [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.array(p_values)[order] * np.arange(len(order), 0, -1)
    return [float(value) for value in np.minimum(np.maximum.accumulate(steps), 1)[np.argsort(order)]]


def score_interval(score: Estimate) -> tuple[float, float]:
    """Return the 95% interval of a score by Wilson 1927, within its range.

    Of a share p of n independent items, it holds all shares q whose own error sqrt(q (1 - q) / n) would
    explain p. Other scores have as many items as a share with their standard error would have.
    """
    from scipy.stats import t

    width = 100 - score.lowest
    share = (score.score - score.lowest) / width
    groups, variance = score.groups, score.variance / width**2
    items = share * (1 - share) / variance if variance > ZERO**2 else groups
    squared = t.isf(LEVEL / 2, max(1, groups - 1)) ** 2 / items
    middle = (share + squared / 2) / (1 + squared)
    half = math.sqrt(squared * (share * (1 - share) + squared / 4)) / (1 + squared)
    return float(score.lowest + width * (middle - half)), float(score.lowest + width * (middle + half))


def smallest_difference(difference: Estimate, comparisons: int = 1) -> float:
    """Return the least gain that four of five such tables would show; `comparisons` share the level of 5%."""
    squared, step, agreeing = _power(difference, comparisons)
    added = squared * step * agreeing
    gain = (added + math.sqrt(added**2 + 4 * squared * difference.variance)) / 2
    # Outcomes of one item each must be so many, whatever the present spread, that chance would not turn all
    # one way.
    return max(gain, squared * step * (agreeing > 0))


def groups_needed(difference: Estimate, gain: float, comparisons: int = 1) -> int:
    """Return how many groups of items, spread as these are, show a gain in four of five such tables."""
    squared, step, agreeing = _power(difference, comparisons)
    variance = max(difference.variance + step * agreeing * gain, step * gain * (agreeing > 0))
    return math.ceil(difference.groups * squared * variance / gain**2)


def _power(difference: Estimate, comparisons: int) -> tuple[float, float, float]:
    """Return how many standard errors a gain must be, squared; the usual size of a difference.

    How much of it is added.

    Where most outcomes agree, a gain is outcomes that agreed and now differ, which adds to the variance; but
    some of those that differed now agree, hence nine tenths.
    """
    from scipy.stats import norm, t

    errors = t.isf(LEVEL / 2 / comparisons, max(1, difference.groups - 1)) + norm.ppf(POWER)
    sizes = np.abs(difference.parts[np.abs(difference.parts) > ZERO])
    step = np.square(sizes).sum() / sizes.sum() if len(sizes) else 100 * difference.weights.max()
    return float(errors**2), float(step), 0.9 * (1 - len(sizes) / difference.groups)
