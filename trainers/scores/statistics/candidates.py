"""Encoders beside the one to start from: what became of each figure, as data."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from trainers.scores.statistics.estimates import Estimate
from trainers.scores.statistics.significance import LEVEL, ZERO, sign_test, smallest_difference

MIN_ITEMS = 20  # independent items, without which there is no verdict
Outcome: TypeAlias = Literal["better", "mixed", "worse", "unclear", "few"]
Change: TypeAlias = Literal["gain", "loss", "none", "constant", "few"]


class Leak(NamedTuple):
    """How many of a table's distinct judged texts are in the training text ("texts"), or chose the encoder ("dev")."""

    table: str
    kind: str
    seen: int
    judged: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of a candidate beside the start's, both x 100, and their difference with its 95% interval.

    `items` is the number of groups of items, `independent` how many the figure rests on. `smallest` is the
    least gain that such a table shows in four of five cases. `change` is "gain" or "loss" if that is clear,
    "constant" for a figure that no item can change, "few" if there are too few items to tell.
    """

    table: str
    title: str
    items: int
    independent: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    smallest: float
    change: Change = "none"


@dataclass(frozen=True, slots=True)
class Candidate:
    """An encoder beside the start: all its figures, and the mean of those that can tell, None if none can.

    `p` is that of the mean, as a gain among all candidates (Holm). `growth` is how many times as many items
    would show a gain of this size in four of five cases; None if it is no gain. `leaks` are reasons to
    distrust the figures.
    """

    name: str
    figures: tuple[Difference, ...]
    mean: Difference | None
    p: float
    growth: float | None
    outcome: Outcome
    leaks: tuple[Leak, ...] = ()

    @property
    def losses(self) -> list[Difference]:
        """The figures that are clearly lower."""
        return [figure for figure in self.figures if figure.change == "loss"]


class Pair(NamedTuple):
    """A figure of two encoders on the same items."""

    table: str
    title: str
    before: Estimate
    after: Estimate

    @property
    def estimate(self) -> Estimate:
        """The second minus the first."""
        return self.after - self.before

    @property
    def lack(self) -> Change:
        """Why this cannot tell the two apart, "constant" or "few"; else "none"."""
        if self.before.is_constant and self.after.is_constant and abs(self.estimate.score) < ZERO:
            return "constant"
        return "few" if self.estimate.independent < MIN_ITEMS else "none"


def difference(pair: Pair, comparisons: int = 1) -> Difference:
    """Test a figure of two encoders; `comparisons` share the level that a gain must reach to be seen."""
    estimate, change = pair.estimate, pair.lack
    p, low, high = sign_test(estimate)
    if change == "none" and p <= LEVEL:
        change = "gain" if estimate.score > 0 else "loss"
    sizes = estimate.groups, estimate.independent
    scores = pair.before.score, pair.after.score, round(estimate.score, 9)
    smallest = smallest_difference(estimate, comparisons)
    return Difference(pair.table, pair.title, *sizes, *scores, low, high, p, smallest, change)
