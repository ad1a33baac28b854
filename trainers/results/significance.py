"""Intervals of the runs' scores, and tests of one run against others, from the items beside the results.

Percentile bootstrap intervals and the paired bootstrap test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from trainers.results.records import Record, Run

Floats: TypeAlias = "NDArray[np.float64]"

LEVEL = 0.95
PORTION = 100_000
"""Items that are held at once: about what a processor's cache takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A score x 100 or the difference of two, and the same in every bootstrap draw: NaN where it is undefined."""

    value: float
    draws: Floats

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% percentile interval (Efron 1979)."""
        low, high = np.nanpercentile(self.draws, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
        return float(low), float(high)

    @property
    def p_value(self) -> float:
        """The two-sided p-value of a difference (Berg-Kirkpatrick et al. 2012).

        The share of draws that lie at least as far from the observed difference as that lies from zero. The observed
        one counts as a draw, so that the least is 1 / (draws + 1).
        """
        # A hair below, so that a draw which repeats the observed difference counts whatever the rounding.
        far = np.abs(self.draws[~np.isnan(self.draws)] - self.value) >= abs(self.value) - 1e-9
        return float((1 + np.sum(far)) / (len(far) + 1))

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the difference of two scores, for which the same items were drawn."""
        return Estimate(self.value - other.value, self.draws - other.draws)


def score_of(items: Predictions) -> float | None:
    """Return the score x 100 of a set's items; None where it is undefined."""
    value = float(_scores(items.statistic, items.gold[None], items.predicted[None])[0])
    return None if np.isnan(value) else value


def estimate(items: Predictions, resamples: int, seed: int = 0) -> Estimate | None:
    """Return a set's score and that of as many items drawn with replacement; None where the score is undefined.

    `seed` decides the `resamples` draws: sets with as many items are drawn alike.
    """
    value = score_of(items)
    if value is None:
        return None
    rng, size = np.random.default_rng(seed), len(items.predicted)
    draws, most = [], max(1, PORTION // size)
    for start in range(0, resamples, most):
        rows = rng.integers(0, size, (min(most, resamples - start), size))
        draws.append(_scores(items.statistic, items.gold[rows], items.predicted[rows]))
    return Estimate(value, np.concatenate(draws))


def average(sets: Sequence[Estimate]) -> Estimate:
    """Return the plain mean of several sets, of which each was drawn by itself.

    Sets that share items, as STS-B and STS12-16 do, are taken as independent: the true interval is a little wider.
    """
    return Estimate(float(np.mean([each.value for each in sets])), np.mean([each.draws for each in sets], axis=0))


def shuffled(sets: Sequence[Estimate], seed: int = 0) -> list[Estimate]:
    """Return the sets with their draws in another order: those that were drawn alike are independent so."""
    rng = np.random.default_rng((seed, 2))
    return [Estimate(each.value, rng.permutation(each.draws)) for each in sets]


def _scores(statistic: str, gold: Floats, predicted: Floats) -> Floats:
    """Return the scores x 100, (draws,), of grades and predictions (draws, items); NaN where one is undefined."""
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


ROUNDING = 0.01
"""How far the score of the items may be from the figure beside them."""

AVERAGED = "an average takes its sets as independent of each other"


class Scored(NamedTuple):
    """A set's first figure, the items that it is of, and its bootstrap."""

    record: Record
    items: Predictions
    drawn: Estimate


Sets = Mapping[str, Scored]
"""A run's sets of one suite by name; those without items, as in geometry, or without a score are left out."""


def assess(
    suite: str, runs: Sequence[Run], resamples: int, seed: int, *, intervals: bool = False, test: bool = False
) -> list[Table]:
    """Return the table of 95% bootstrap intervals, and that of tests of every further run against the first.

    Settings of several seeds have no intervals, because their deviation says more. A table without rows is left out.
    Raises InputError: a setting of several seeds to test, items that are broken or of another evaluation, or two runs
    of different items.
    """
    present = [run for run in runs if run.of(suite)]
    for run in present:
        if test and run.seeds > 1:
            raise InputError(f"{run.title} is {run.seeds} seeds: a test takes single runs, name one")
    found = [(run.title, _scored(suite, run, resamples, seed)) for run in present if run.seeds == 1]
    measures = dict.fromkeys(each.record.metric for _, sets in found for each in sets.values())
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


def _intervals(sets: Sets, resamples: int, seed: int) -> Iterable[tuple[str, ...]]:
    """Yield the cells of each set, and of the average if there is one, of which every set is drawn by itself."""
    lines = [([name], each.drawn) for name, each in sets.items()]
    counted = _counted(sets)
    apart = [estimate(sets[name].items, resamples, seed + number) for number, name in enumerate(counted)]
    if counted:
        lines.append((counted, average([each for each in apart if each is not None])))
    for names, drawn in lines:
        yield *_about(sets, names), *_decimals(drawn.value, *drawn.interval)


def _against(first: Sets, second: Sets, seed: int) -> Iterable[tuple[str, ...]]:
    """Yield the cells of a test of each set, and of the average where every set of it has a score."""
    shared = [name for name in first if name in second]
    for one, two in ((first[name].record, second[name].record) for name in shared):
        if one.of.sha256 != two.of.sha256:
            raise InputError(f"{one.of.title} is not the same in {one.file} and {two.file}: evaluate both on one copy")
    found = {name: second[name].drawn - first[name].drawn for name in shared}
    lines = [([name], drawn) for name, drawn in found.items()]
    counted = _counted({name: first[name] for name in shared})
    if counted:
        lines.append((counted, average(shuffled([found[name] for name in counted], seed))))
    for names, drawn in lines:
        scores = _decimals(*(fmean(sets[name].drawn.value for name in names) for sets in (first, second)))
        interval = _decimals(*drawn.interval)
        yield *_about(first, names), *scores, f"{drawn.value:+.2f}", *interval, f"{drawn.p_value:.4f}"


def _counted(sets: Sets) -> list[str]:
    """Return the sets that the average is over, if there is one."""
    found = [name for name, each in sets.items() if each.record.of.counted]
    return found if len(found) > 1 else []


def _about(sets: Sets, names: Sequence[str]) -> tuple[str, str]:
    """Return the title of a set or of an average, and the number of items."""
    title = sets[names[0]].record.of.title if len(names) == 1 else f"average of {len(names)}"
    return title, str(sum(len(sets[name].items.gold) for name in names))


def _scored(suite: str, run: Run, resamples: int, seed: int) -> Sets:
    first = {record.set: record for record in reversed(run.of(suite))}
    file = run.of(suite)[0].file.with_name(f"{suite}.items.npz")
    found = {}
    try:
        arrays = read_arrays(file) if file.is_file() else {}
        for name in dict.fromkeys(key.rpartition("/")[0] for key in arrays):
            gold, predicted, statistic = (arrays[f"{name}/{part}"] for part in ("gold", "predicted", "statistic"))
            items = Predictions(statistic.item(), gold, predicted)
            score, figure = score_of(items), first[name].value
            if (figure is None) != (score is None) or abs((score or 0.0) - (figure or 0.0)) > ROUNDING:
                raise ValueError(f"{name}: {score} there, {figure} in the results")
            drawn = estimate(items, resamples, seed)
            if drawn is not None:
                found[name] = Scored(first[name], items, drawn)
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{file} does not go with the results beside it ({error}): evaluate again") from None
    return found


def _decimals(*values: float) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in values)
