"""Which encoder to take, by tables that several were judged on: one rule, and its outcome as data.

A candidate is better if the mean of its figures is: the mean over a table's figures, then over the tables. p
comes from `sign_test`, at 5%. Gains are corrected for the number of candidates (Holm), since the best of many
looks good by chance alone; losses are not, neither of the mean nor of a figure, since who changes an encoder
should hear of them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from trainers.scores.statistics.candidates import (
    Candidate,
    Difference,
    Leak,
    Outcome,
    Pair,
    difference,
)
from trainers.scores.statistics.estimates import Estimate, mean_of_figures, mean_of_tables
from trainers.scores.statistics.significance import LEVEL, groups_needed, holm
from trainers.scores.statistics.wording import sentence

MEAN = "mean"  # the title of what decides
Scores: TypeAlias = Mapping[str, Mapping[str, Estimate]]
"""An encoder's estimates by table and title of the figure."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to "take" the `best` candidate or to "keep" the start.

    "unclear", or with too "few" items, it stays too.

    `str` says it in words.
    """

    start: str
    candidates: tuple[Candidate, ...]
    outcome: Literal["take", "keep", "unclear", "few"]
    best: str

    def __str__(self) -> str:
        return sentence(self.start, self.candidates, self.outcome, self.best)


def decide(start: str, scores: Mapping[str, Scores], leaks: Mapping[str, Sequence[Leak]] = {}) -> Verdict:
    """Return the verdict on encoders beside the one named `start`, from their scores on the same items.

    A figure that is undefined for one of two encoders does not count.
    """
    changes = {name: pairs_of(scores[start], of) for name, of in scores.items() if name != start}
    means = {name: mean for name, pairs in changes.items() if (mean := mean_of(pairs))}
    tests = {name: difference(mean, len(means)) for name, mean in means.items()}
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    candidates = []
    for name, pairs in changes.items():
        figures = tuple(map(difference, pairs))
        test, p, growth = tests.get(name), corrected.get(name, 1.0), None
        if test and test.difference > 0:
            of_mean = means[name].estimate
            growth = groups_needed(of_mean, test.difference, len(means)) / of_mean.groups
        outcome = _outcome(figures, test, p)
        candidates.append(Candidate(name, figures, test, p, growth, outcome, tuple(leaks.get(name, ()))))
    gains = {
        candidate.name: candidate.mean.difference
        for candidate in candidates
        if candidate.mean and candidate.outcome == "better"
    }
    best = max(gains, key=gains.__getitem__, default=start)
    outcomes = {candidate.outcome for candidate in candidates}
    taken: Literal["take", "keep", "unclear", "few"] = "take" if gains else "unclear"
    if outcomes == {"few"}:
        taken = "few"
    elif outcomes <= {"worse", "mixed"}:
        taken = "keep"
    return Verdict(start, tuple(candidates), taken, best)


def pairs_of(start: Scores, candidate: Scores) -> list[Pair]:
    """Return the figures that are defined for both of two encoders."""
    return [
        Pair(table, title, before, after)
        for table, figures in start.items()
        for title, before in figures.items()
        if (after := candidate.get(table, {}).get(title)) and not np.isnan(before.score + after.score)
    ]


def mean_of(pairs: Sequence[Pair]) -> Pair | None:
    """What decides: the mean over tables of the means of the figures that can tell; None without any."""
    tables = defaultdict[str, list[Pair]](list)
    for pair in pairs:
        if pair.lack == "none":
            tables[pair.table].append(pair)
    if not tables:
        return None
    before = [mean_of_figures([pair.before for pair in of]) for of in tables.values()]
    after = [mean_of_figures([pair.after for pair in of]) for of in tables.values()]
    return Pair(", ".join(tables), MEAN, mean_of_tables(before), mean_of_tables(after))


def _outcome(figures: Sequence[Difference], mean: Difference | None, p: float) -> Outcome:
    if mean is None:
        return "few"
    if mean.difference > 0 and p <= LEVEL:
        return "mixed" if any(figure.change == "loss" for figure in figures) else "better"
    return "worse" if mean.change == "loss" else "unclear"
