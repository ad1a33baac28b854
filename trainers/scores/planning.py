"""How many items a table needs to show a gain of some size, before people label them."""

import math

import numpy as np

from trainers.scores.runs import Sets, estimates_by_title
from trainers.scores.statistics.candidates import MIN_ITEMS
from trainers.scores.statistics.estimates import Estimate
from trainers.scores.statistics.significance import groups_needed
from trainers.scores.statistics.verdict import mean_of, pairs_of
from trainers.scores.statistics.wording import rounded, unit

AIM = "to show a gain of {:g} points in four of five cases"
SPREADS = {"labelled texts": (10, 33), "queries": (10, 39), "graded pairs": (5, 17)}
"""Standard deviations per item of the difference of the mean of the figures, in points: of an encoder that was
changed a little, and of one that was changed much (`benchmarks/spreads.py`)."""


def typical_plan(gain: float) -> str:
    """Return how many items of each kind show a gain, by typical spreads."""
    kinds = []
    for kind, spreads in SPREADS.items():
        low, high = (_needed(_of_spread(spread), gain) for spread in spreads)
        kinds.append(f"{low} to {high} {kind}")
    by = "by how much the encoder is changed; --judge FILE takes a table's own spread"
    return f"{AIM.format(gain)}: {', '.join(kinds)}, {by}"


def own_plan(gain: float, before: Sets, after: Sets) -> str:
    """Return how many items show a gain, by how much the differences of two encoders on a table vary."""
    change = mean_of(pairs_of(*({"": estimates_by_title(sets)} for sets in (before, after))))
    if change is None:
        return f"{AIM.format(gain)}: no figure here can tell"
    difference = change.estimate
    spread = math.sqrt(difference.variance * difference.groups)
    items = f"{_needed(difference, gain)} {unit(next(iter(estimates_by_title(before))))}"
    return f"{AIM.format(gain)}: {items} (here {difference.groups:,}, spread {spread:.0f} points each)"


def _needed(difference: Estimate, gain: float) -> str:
    return rounded(max(MIN_ITEMS, groups_needed(difference, gain)))


def _of_spread(points: float, items: int = 1000) -> Estimate:
    """Return a difference whose parts have this standard deviation, and no outcomes that agree."""
    parts = np.resize([points, -points], items) / items
    return Estimate(parts, np.full(items, 1 / items), items, lowest=-100)
