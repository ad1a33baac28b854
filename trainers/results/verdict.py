"""Which encoder to take, by tables that several were judged on: one rule, and its outcome as data.

A candidate is better if the mean of its figures is: the mean over a table's figures, then over the tables. p
comes from `sign_test`, at 5%. Gains are corrected for the number of candidates (Holm), since the best of many
looks good by chance alone; losses are not, neither of the mean nor of a figure, since who changes an encoder
should hear of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from trainers.results.candidates import Candidate, Change, Difference, Outcome, Pair, difference
from trainers.results.estimates import Estimate, mean_of_figures, mean_of_tables
from trainers.results.significance import LEVEL, ZERO, groups_needed, holm
from trainers.results.wording import sentence

MEAN = "mean"  # the title of what decides
Scores: TypeAlias = Mapping[str, Mapping[str, Estimate]]
"""An encoder's estimates by table and title of the figure."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to "take" the `best` candidate or to "keep" the start; "unclear", or with too "few" items, it stays too.

    `str` says it in words.
    """

    start: str
    candidates: tuple[Candidate, ...]
    outcome: Literal["take", "keep", "unclear", "few"]
    best: str

    @property
    def better(self) -> list[str]:
        """The titles of the figures in which some candidate is clearly higher, each taken alone."""
        return self._titles("gain")

    @property
    def worse(self) -> list[str]:
        """The titles of the figures in which some candidate is clearly lower, each taken alone."""
        return self._titles("loss")

    def _titles(self, change: Change) -> list[str]:
        figures = (figure for candidate in self.candidates for figure in candidate.figures)
        return list(dict.fromkeys(figure.title for figure in figures if figure.change == change))

    def __str__(self) -> str:
        return sentence(self.start, self.candidates, self.outcome, self.best)


def decide(
    start: str, scores: Mapping[str, Scores], warnings: Mapping[str, Sequence[str]] = {}, *, seed: int = 0
) -> Verdict:
    """Return the verdict on encoders beside the one named `start`, from their scores on the same items.

    A figure that is undefined for one of two encoders does not count. `seed` draws patterns of signs where
    they are too many to be taken all.
    """
    changes = {name: [*_pairs(scores[start], encoder)] for name, encoder in scores.items() if name != start}
    means = {name: mean for name, pairs in changes.items() if (mean := _mean_of(pairs))}
    tests = {name: difference(mean, seed, len(means)) for name, mean in means.items()}
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    candidates = []
    for name, pairs in changes.items():
        figures = tuple(difference(pair, seed) for pair in pairs)
        test, p, growth = tests.get(name), corrected.get(name, 1.0), None
        if test and test.difference > ZERO:
            of_mean = means[name].estimate
            growth = groups_needed(of_mean, test.difference, len(means)) / of_mean.groups
        outcome = _outcome(figures, test, p)
        candidates.append(Candidate(name, figures, test, p, growth, outcome, tuple(warnings.get(name, ()))))
    return _verdict(start, candidates)


def mean_change(start: Scores, candidate: Scores) -> Pair | None:
    """Return what decides on a candidate, the mean of all figures that can tell; None without any."""
    return _mean_of([*_pairs(start, candidate)])


def _pairs(start: Scores, candidate: Scores) -> Iterator[Pair]:
    for table, figures in start.items():
        for title, before in figures.items():
            after = candidate.get(table, {}).get(title)
            if after is not None and not np.isnan(before.score + after.score):
                yield Pair(table, title, before, after)


def _mean_of(pairs: Sequence[Pair]) -> Pair | None:
    """Return the mean over tables of the means of the figures that can tell; None without any."""
    tables = defaultdict[str, list[Pair]](list)
    for pair in pairs:
        if difference(pair).change not in ("constant", "few"):
            tables[pair.table].append(pair)
    if not tables:
        return None
    before = mean_of_tables(
        [mean_of_figures([pair.before for pair in figures]) for figures in tables.values()]
    )
    after = mean_of_tables([mean_of_figures([pair.after for pair in figures]) for figures in tables.values()])
    return Pair(", ".join(tables), MEAN, before, after)


def _outcome(figures: Sequence[Difference], mean: Difference | None, p: float) -> Outcome:
    if mean is None:
        return "few"
    if mean.difference > 0 and p <= LEVEL:
        return "mixed" if any(figure.change == "loss" for figure in figures) else "better"
    return "worse" if mean.change == "loss" else "unclear"


def _verdict(start: str, candidates: Sequence[Candidate]) -> Verdict:
    outcomes = {candidate.outcome for candidate in candidates}
    better = [candidate for candidate in candidates if candidate.outcome == "better"]
    best = max(better, key=lambda candidate: candidate.mean.difference if candidate.mean else 0, default=None)
    if best:
        return Verdict(start, tuple(candidates), "take", best.name)
    outcome: Literal["keep", "unclear", "few"] = "keep" if outcomes <= {"worse", "mixed"} else "unclear"
    return Verdict(start, tuple(candidates), "few" if outcomes == {"few"} else outcome, start)
