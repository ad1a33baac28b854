"""Bootstrap intervals of the runs' scores, and paired tests of one run against others by the same draws.

An estimate is an array (1 + resamples,): a score x 100 or a difference, then its bootstrap draws; NaN if undefined.
Interval, p-value and verdict are all read off it, unrounded: an interval leaves out 0 exactly if p is at most `LEVEL`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipelines.terminal.console import InputError
from trainers.evaluation.result_files import StoredSet, Table
from trainers.evaluation.task import Predictions
from trainers.files import read_arrays
from trainers.results.comparison import ALL
from trainers.results.runs import Evaluation, Run

Floats: TypeAlias = "NDArray[np.float64]"
RESAMPLES = 2000
LEVEL, POWER = 0.05, 0.8
PORTION = 100_000  # items in memory at once: about what fits a processor's cache
ZERO = 1e-9  # what rounding errors may make of 0
ROUNDING = 0.01  # the most that the score of the items may differ from the figure beside them
DECIMAL = "{:z.2f}".format
AVERAGED = "an average treats its sets as independent"
Sets: TypeAlias = Mapping[str, tuple[StoredSet, Predictions, Floats]]
"""A run's sets of one suite by name: results, items, and the estimate of the score; those without a score left out."""


def estimate(items: Predictions, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Return the estimate of a set's score; its draws depend on the seed, and number and groups of items alone."""
    size, runs = len(items.predicted), items.predicted.shape[1] if items.statistic == "nmi" else 1
    picks = np.random.default_rng((seed, 1)).integers(0, runs, (resamples, _picked(runs)))
    blocks = [_score(items.statistic, items.gold[None], items.predicted[None])]
    for start, rows in _samples(items.groups, size, resamples, np.random.default_rng(seed)):
        predicted = items.predicted[rows]
        if items.statistic == "nmi":
            predicted = np.take_along_axis(predicted, picks[start : start + len(rows), None], 2)
        blocks.append(_score(items.statistic, items.gold[rows], predicted))
    scores = np.concatenate(blocks)
    if items.statistic == "nmi" and resamples:  # repeated items share a cluster, so every sample has more than the set
        scores[1:] += scores[0] - np.nanmean(scores[1:])
    return scores


def _picked(runs: int) -> int:
    """Return how many of n runs to draw, so that normal quantiles of their mean cover as Student's would."""
    from scipy.stats import norm, t

    return max(1, round((runs - 1) * (norm.isf(LEVEL / 2) / t.isf(LEVEL / 2, runs - 1)) ** 2)) if runs > 1 else 1


def _samples(
    groups: NDArray[np.int64] | None, size: int, resamples: int, rng: np.random.Generator
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the number of the first draw, and the rows of some draws, (draws, items); groups are drawn whole."""
    if groups is None or len(groups) == groups.max(initial=-1) + 1:
        count = max(1, PORTION // max(1, size))
        for start in range(0, resamples, count):
            yield start, rng.integers(0, size, (min(count, resamples - start), size))
        return
    order, lengths = np.argsort(groups, kind="stable"), np.bincount(groups)
    begins = np.cumsum(lengths) - lengths
    for start in range(resamples):
        drawn = rng.integers(0, len(lengths), len(lengths))
        counts = lengths[drawn]
        yield start, order[None, np.arange(counts.sum()) + np.repeat(begins[drawn] + counts - counts.cumsum(), counts)]


def interval(samples: Floats) -> tuple[float, float]:
    """Return the 95% percentile interval (Efron 1979) of an estimate; NaN without draws."""
    draws = np.sort(samples[1:][~np.isnan(samples[1:])])
    outside = max(1, int(LEVEL / 2 * (len(draws) + 1)))
    return (float(draws[outside - 1]), float(draws[-outside])) if len(draws) else (np.nan, np.nan)


def p_value(samples: Floats) -> float:
    """Return the two-sided p of a difference: twice the share of draws beyond 0 (Davison and Hinkley 1997, 4.2)."""
    draws = samples[1:][~np.isnan(samples[1:])]
    # A draw of 0, but for rounding errors, is on both sides.
    beyond = min(np.sum(draws <= ZERO), np.sum(draws >= -ZERO))
    return min(1.0, 2 * float(1 + beyond) / (len(draws) + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values of several comparisons so that one of them falls below a level by chance no more often than it.

    Example:
        >>> holm([0.01, 0.04, 0.03])  # Holm 1979
        [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.array(p_values)[order] * np.arange(len(order), 0, -1)
    return [float(value) for value in np.minimum(np.maximum.accumulate(steps), 1)[np.argsort(order)]]


def smallest_difference(samples: Floats, comparisons: int = 1) -> float:
    """Return the least difference that four of five such tables would show; `comparisons` share the level of 5%."""
    from scipy.stats import norm

    return float((norm.isf(LEVEL / 2 / comparisons) + norm.ppf(POWER)) * np.nanstd(samples[1:]))


def average_estimate(sets: Sequence[Floats], seed: int = 0) -> Floats:
    """Return the mean of independent estimates; those of one size draw the same items, hence the random order."""
    rng = np.random.default_rng((seed, 2))
    return np.asarray(np.mean([[samples[0], *rng.permutation(samples[1:])] for samples in sets], axis=0))


def _score(statistic: str, gold: Floats, predicted: Floats) -> Floats:
    """Return the scores x 100, (draws,), of grades and predictions (draws, items); NaN if undefined."""
    from scipy.stats import rankdata
    from sklearn.metrics import average_precision_score

    if statistic == "mean":
        return np.asarray(100 * np.nanmean(predicted, axis=1))
    if statistic == "nmi":
        draws = zip(gold.astype(int), predicted.astype(int), strict=True)
        return np.array([100 * np.mean([_nmi(classes, run) for run in runs.T]) for classes, runs in draws])
    if statistic == "ap":
        pairs = zip(gold, predicted, strict=True)
        return np.array([100 * average_precision_score(*sides) if sides[0].any() else np.nan for sides in pairs])
    ranks = rankdata(predicted, axis=1)
    if statistic == "auc":
        positives = (gold > 0).sum(axis=1)
        part = (ranks * (gold > 0)).sum(axis=1) - positives * (positives + 1) / 2
        total = positives * (gold.shape[1] - positives)
    else:
        x, y = (side - (side.shape[1] + 1) / 2 for side in (rankdata(gold, axis=1), ranks))
        part, total = (x * y).sum(axis=1), np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    return np.asarray(100 * np.divide(part, total, out=np.full(len(part), np.nan), where=total > 0))


def _nmi(classes: NDArray[np.int64], clusters: NDArray[np.int64]) -> float:
    """Return the mutual information over the mean of the entropies; scikit-learn's takes 30 times as long a sample."""
    width = clusters.max() + 1
    joint = np.bincount(classes * width + clusters, minlength=(classes.max() + 1) * width).reshape(-1, width)
    shares = [counts[counts > 0] / len(classes) for counts in (joint, joint.sum(axis=1), joint.sum(axis=0))]
    both, first, second = (-(share * np.log(share)).sum() for share in shares)
    return float(2 * (first + second - both) / (first + second)) if first + second else float("nan")


def assess(
    suite: str, runs: Sequence[Run], seed: int = 0, *, intervals: bool = False, test: bool = False
) -> list[Table]:
    """Return tables of single runs' 95% bootstrap intervals, and of tests of the further ones against the first."""
    present = [run for run in runs if run.of(suite)]
    for run in present:
        if test and run.seeds > 1:
            raise InputError(f"{run.title} is {run.seeds} seeds: a test takes single runs, name one")
    titled_sets = [(run.title, read_sets(run.of(suite)[0], seed)) for run in present if run.seeds == 1]
    measures = dict.fromkeys(next(iter(stored.figures)) for _, sets in titled_sets for stored, *_ in sets.values())
    names = ", ".join("Spearman over all pairs of a set" if name == ALL else name for name in measures)
    tables = []
    if intervals:
        columns: tuple[str, ...] = ("run", "set", "items", "score", "low", "high")
        rows = []
        for run_title, sets in titled_sets:
            for title, count, joined in _set_lines(sets):
                samples = average_estimate([sets[name][2] for name in joined], seed)
                rows.append((run_title, title, count, *map(DECIMAL, (samples[0], *interval(samples)))))
        remark = f"intervals: 95%, percentiles of {RESAMPLES:,} bootstrap samples of the items; {AVERAGED}"
        tables.append(Table(f"{suite}: intervals, {names}", columns, tuple(rows), columns[2:], (remark,)))
    if test:
        columns = ("first", "second", "set", "items", "first score", "second score", "difference", "low", "high", "p")
        first, first_sets = titled_sets[0] if titled_sets else ("", {})
        rows = [
            (first, title, *difference.cells())
            for title, sets in titled_sets[1:]
            for difference in differences(first_sets, sets, seed)
        ]
        remark = f"tests: second minus first, its 95% interval, and the two-sided p of the paired bootstrap; {AVERAGED}"
        tables.append(Table(f"{suite}: tests, {names}", columns, tuple(rows), columns[3:], (remark,)))
    return [table for table in tables if table.rows]


class Difference(NamedTuple):
    """A figure of two runs on the same items: both scores x 100, and the estimate of the second minus the first."""

    title: str
    items: str
    scores: tuple[float, float]
    samples: Floats

    def cells(self) -> tuple[str, ...]:
        """Return title, items, both scores, their difference with its interval, and p, as they are printed."""
        figures = f"{self.samples[0]:+z.2f}", *map(DECIMAL, interval(self.samples)), f"{p_value(self.samples):.4f}"
        return self.title, self.items, *map(DECIMAL, self.scores), *figures


def differences(first: Sets, second: Sets, seed: int = 0) -> list[Difference]:
    """Return the differences of two runs in each set that both have; raises InputError if its items differ."""
    shared = {name: items for name, items in first.items() if name in second}
    for name, (stored, *_) in shared.items():
        if stored.sha256 != second[name][0].sha256:
            raise InputError(f"{stored.title} has different items in the two runs: evaluate both on one copy")
    lines = []
    for title, count, names in _set_lines(shared):
        before, after = (float(np.mean([sets[name][2][0] for name in names])) for sets in (first, second))
        samples = average_estimate([second[name][2] - first[name][2] for name in names], seed)
        lines.append(Difference(title, count, (before, after), samples))
    return lines


def _set_lines(sets: Sets) -> list[tuple[str, str, list[str]]]:
    """Return title, number of items and names for each set, and for the average if several sets are counted."""
    counted = [name for name, (stored, *_) in sets.items() if stored.counted]
    lines = [(stored.title, [name]) for name, (stored, *_) in sets.items()]
    lines += [(f"average of {len(counted)}", counted)] if len(counted) > 1 else []
    return [(title, str(sum(len(sets[name][1].gold) for name in names)), names) for title, names in lines]


def read_sets(evaluation: Evaluation, seed: int = 0) -> Sets:
    """Return the sets of an evaluation; raises InputError for damaged items or those of another one."""
    file = evaluation.file.with_name(f"{evaluation.stored.suite}.items.npz")
    sets = {}
    try:
        arrays = read_arrays(file) if file.is_file() else {}
        for name in dict.fromkeys(key.rpartition("/")[0] for key in arrays):
            gold, predicted, statistic = (arrays[f"{name}/{part}"] for part in ("gold", "predicted", "statistic"))
            items = Predictions(statistic.item(), gold, predicted, arrays.get(f"{name}/groups"))
            stored = evaluation.stored.sets[name]
            samples, figure = estimate(items, seed=seed), next(iter(stored.figures.values()), None)
            if figure is None and np.isnan(samples[0]):
                continue
            if figure is None or not abs(samples[0] - figure) <= ROUNDING:
                raise ValueError(f"{name}: {samples[0]} there, {figure} in the results")
            sets[name] = (stored, items, samples)
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{file} does not match the results beside it ({error}): evaluate again") from None
    return sets
