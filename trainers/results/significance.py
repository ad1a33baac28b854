"""Percentile bootstrap intervals of the runs' scores, and paired bootstrap tests of one run against others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipelines.console import InputError
from trainers.evaluation.table import Table
from trainers.evaluation.task import Predictions
from trainers.files import read_arrays
from trainers.results.comparison import ALL
from trainers.results.records import Run, StoredSet

Floats: TypeAlias = "NDArray[np.float64]"
PORTION = 100_000  # items in memory at once: about what fits a processor's cache
ROUNDING = 0.01  # the most that the score of the items may differ from the figure beside them
AVERAGED = "an average treats its sets as independent"


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A score x 100 or the difference of two, and the same in every bootstrap draw: NaN where it is undefined."""

    value: float
    draws: Floats

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% percentile interval (Efron 1979)."""
        low, high = np.nanpercentile(self.draws, [2.5, 97.5])
        return float(low), float(high)

    @property
    def p_value(self) -> float:
        """The two-sided p-value of a difference (Berg-Kirkpatrick et al. 2012).

        The share of draws at least as far from the observed difference as that is from zero. The observed one counts as
        a draw, so the least is 1 / (draws + 1).
        """
        # Minus a rounding error, so that a draw equal to the observed difference counts.
        far = np.abs(self.draws[~np.isnan(self.draws)] - self.value) >= abs(self.value) - 1e-9
        return float((1 + np.sum(far)) / (len(far) + 1))

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the difference of two scores, for which the same items were drawn."""
        return Estimate(self.value - other.value, self.draws - other.draws)


class Scored(NamedTuple):
    """A set's results, the items, and their bootstrap."""

    stored: StoredSet
    items: Predictions
    drawn: Estimate


Sets: TypeAlias = Mapping[str, Scored]
"""A run's sets of one suite by name, without those that lack items (geometry) or a score."""


def estimate(items: Predictions, resamples: int, seed: int = 0) -> Estimate:
    """Return a set's score and `resamples` bootstrap draws, which depend on the seed and the number of items alone."""
    value = float(_scores(items.statistic, items.gold[None], items.predicted[None])[0])
    rng, size = np.random.default_rng(seed), len(items.predicted)
    draws, most = [], max(1, PORTION // max(1, size))
    for start in range(0, resamples, most):
        rows = rng.integers(0, size, (min(most, resamples - start), size))
        draws.append(_scores(items.statistic, items.gold[rows], items.predicted[rows]))
    return Estimate(value, np.concatenate(draws))


def average(sets: Sequence[Estimate]) -> Estimate:
    """Return the plain mean of sets, treated as independent though STS-B and STS12-16 share some items."""
    return Estimate(float(np.mean([each.value for each in sets])), np.mean([each.draws for each in sets], axis=0))


def shuffled(sets: Sequence[Estimate], seed: int = 0) -> list[Estimate]:
    """Return the sets with their draws in random order, which makes equal draws independent."""
    rng = np.random.default_rng((seed, 2))
    return [Estimate(each.value, rng.permutation(each.draws)) for each in sets]


def _scores(statistic: str, gold: Floats, predicted: Floats) -> Floats:
    """Return the scores x 100, (draws,), of grades and predictions (draws, items); NaN if undefined."""
    from scipy.stats import rankdata

    if statistic == "mean":
        return np.asarray(100 * predicted.mean(axis=1))
    ranks = rankdata(predicted, axis=1)
    if statistic == "auc":
        positive = (gold > 0).sum(axis=1)
        part = (ranks * (gold > 0)).sum(axis=1) - positive * (positive + 1) / 2
        whole = positive * (gold.shape[1] - positive)
    else:
        x, y = (side - (side.shape[1] + 1) / 2 for side in (rankdata(gold, axis=1), ranks))
        part, whole = (x * y).sum(axis=1), np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    return np.asarray(100 * np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0))


def assess(
    suite: str, runs: Sequence[Run], resamples: int, seed: int, *, intervals: bool = False, test: bool = False
) -> list[Table]:
    """Return the table of 95% bootstrap intervals, and that of tests of every further run against the first.

    Settings of several seeds have no intervals, because their deviation says more. Tables without rows are left out.
    Raises InputError: a setting of several seeds to test, items that are damaged or of another evaluation, or two runs
    of different items.
    """
    present = [run for run in runs if run.of(suite)]
    for run in present:
        if test and run.seeds > 1:
            raise InputError(f"{run.title} is {run.seeds} seeds: a test takes single runs, name one")
    found = [(run.title, _scored(suite, run, resamples, seed)) for run in present if run.seeds == 1]
    measures = dict.fromkeys(next(iter(each.stored.figures)) for _, sets in found for each in sets.values())
    named = ", ".join("Spearman over all pairs of a set" if name == ALL else name for name in measures)
    tables = []
    if intervals:
        columns: tuple[str, ...] = ("run", "set", "items", "score", "low", "high")
        rows = [(title, *row) for title, sets in found for row in _intervals(sets, resamples, seed)]
        said = f"intervals: 95%, percentiles of {resamples:,} bootstrap samples of the items; {AVERAGED}"
        tables.append(Table(f"{suite}: intervals, {named}", columns, tuple(rows), columns[2:], (said,)))
    if test:
        columns = ("first", "second", "set", "items", "first score", "second score", "difference", "low", "high", "p")
        rows = [(found[0][0], title, *row) for title, sets in found[1:] for row in _against(found[0][1], sets, seed)]
        said = f"tests: second minus first, its 95% interval, and the two-sided p of the paired bootstrap; {AVERAGED}"
        tables.append(Table(f"{suite}: tests, {named}", columns, tuple(rows), columns[3:], (said,)))
    return [table for table in tables if table.rows]


def _intervals(sets: Sets, resamples: int, seed: int) -> Iterator[tuple[str, ...]]:
    for title, count, names in _lines(sets):
        drawn = sets[names[0]].drawn
        if len(names) > 1:
            drawn = average([estimate(sets[name].items, resamples, seed + row) for row, name in enumerate(names)])
        yield title, count, *_decimals(drawn.value, *drawn.interval)


def _against(first: Sets, second: Sets, seed: int) -> Iterator[tuple[str, ...]]:
    shared = {name: each for name, each in first.items() if name in second}
    for name, each in shared.items():
        if each.stored.sha256 != second[name].stored.sha256:
            raise InputError(f"{each.stored.title} has different items in the two runs: evaluate both on one copy")
    for title, count, names in _lines(shared):
        found = [second[name].drawn - first[name].drawn for name in names]
        drawn = average(shuffled(found, seed)) if len(names) > 1 else found[0]
        scores = _decimals(*(fmean(sets[name].drawn.value for name in names) for sets in (first, second)))
        yield title, count, *scores, f"{drawn.value:+.2f}", *_decimals(*drawn.interval), f"{drawn.p_value:.4f}"


def _lines(sets: Sets) -> list[tuple[str, str, list[str]]]:
    """Return title, number of items and names for each set, and for the average if several sets are counted."""
    counted = [name for name, each in sets.items() if each.stored.counted]
    lines = [(each.stored.title, [name]) for name, each in sets.items()]
    lines += [(f"average of {len(counted)}", counted)] if len(counted) > 1 else []
    return [(title, str(sum(len(sets[name].items.gold) for name in names)), names) for title, names in lines]


def _scored(suite: str, run: Run, resamples: int, seed: int) -> Sets:
    evaluation = run.of(suite)[0]
    file = evaluation.file.with_name(f"{suite}.items.npz")
    found = {}
    try:
        arrays = read_arrays(file) if file.is_file() else {}
        for name in dict.fromkeys(key.rpartition("/")[0] for key in arrays):
            gold, predicted, statistic = (arrays[f"{name}/{part}"] for part in ("gold", "predicted", "statistic"))
            items, stored = Predictions(statistic.item(), gold, predicted), evaluation.stored.sets[name]
            drawn, figure = estimate(items, resamples, seed), next(iter(stored.figures.values()), None)
            if figure is None and np.isnan(drawn.value):
                continue
            if figure is None or not abs(drawn.value - figure) <= ROUNDING:
                raise ValueError(f"{name}: {drawn.value} there, {figure} in the results")
            found[name] = Scored(stored, items, drawn)
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{file} does not match the results beside it ({error}): evaluate again") from None
    return found


def _decimals(*values: float) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in values)
