"""Percentile bootstrap intervals of the runs' scores, and paired bootstrap tests of one run against others.

An estimate is an array (1 + resamples,): a score x 100 or a difference, then its bootstrap draws; NaN if undefined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

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
PORTION = 100_000  # items in memory at once: about what fits a processor's cache
ROUNDING = 0.01  # the most that the score of the items may differ from the figure beside them
DECIMAL = "{:z.2f}".format
AVERAGED = "an average treats its sets as independent"
Sets: TypeAlias = Mapping[str, tuple[StoredSet, Predictions, Floats]]
"""A run's sets of one suite by name: results, items, and the estimate of the score; those without a score left out."""


def estimate(items: Predictions, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Return the estimate of a set's score; its draws depend on the seed and the number of items alone."""
    rng, size = np.random.default_rng(seed), len(items.predicted)
    blocks, count = [_score(items.statistic, items.gold[None], items.predicted[None])], max(1, PORTION // max(1, size))
    for start in range(0, resamples, count):
        rows = rng.integers(0, size, (min(count, resamples - start), size))
        blocks.append(_score(items.statistic, items.gold[rows], items.predicted[rows]))
    scores = np.concatenate(blocks)
    if items.statistic == "nmi" and resamples:  # repeated items share a cluster, so every sample has more than the set
        scores[1:] += scores[0] - np.nanmean(scores[1:])
    return scores


def interval(samples: Floats) -> tuple[float, float]:
    """Return the 95% percentile interval (Efron 1979) of an estimate."""
    low, high = np.nanpercentile(samples[1:], [2.5, 97.5])
    return float(low), float(high)


def p_value(samples: Floats) -> float:
    """Return the two-sided p-value of the estimate of a difference (Berg-Kirkpatrick et al. 2012).

    The share of draws at least as far from the observed difference as that is from zero. The observed one counts as a
    draw, so the least is 1 / (draws + 1).
    """
    observed, draws = samples[0], samples[1:]
    # Minus a rounding error, so that a draw equal to the observed difference counts.
    far = np.abs(draws[~np.isnan(draws)] - observed) >= abs(observed) - 1e-9
    return float((1 + np.sum(far)) / (len(far) + 1))


def average_estimate(sets: Sequence[Floats], seed: int = 0) -> Floats:
    """Return the mean of the sets' estimates, treated as independent though STS-B and STS12-16 share some items.

    Their draws are put in random order first, because sets of one size draw the same items.
    """
    rng = np.random.default_rng((seed, 2))
    return np.asarray(np.mean([[samples[0], *rng.permutation(samples[1:])] for samples in sets], axis=0))


def _score(statistic: str, gold: Floats, predicted: Floats) -> Floats:
    """Return the scores x 100, (draws,), of grades and predictions (draws, items); NaN if undefined."""
    from scipy.stats import rankdata
    from sklearn.metrics import average_precision_score

    if statistic == "mean":
        return np.asarray(100 * predicted.mean(axis=1))
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
    """Return the table of 95% bootstrap intervals, and that of tests of every further run against the first.

    Settings of several seeds have no intervals, because their deviation says more. Tables without rows are left out.
    Raises InputError: several seeds to test, damaged items, those of another evaluation, or different ones.
    """
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
        rows = [(title, *row) for title, sets in titled_sets for row in _interval_rows(sets, seed)]
        remark = f"intervals: 95%, percentiles of {RESAMPLES:,} bootstrap samples of the items; {AVERAGED}"
        tables.append(Table(f"{suite}: intervals, {names}", columns, tuple(rows), columns[2:], (remark,)))
    if test:
        columns = ("first", "second", "set", "items", "first score", "second score", "difference", "low", "high", "p")
        first, first_sets = titled_sets[0] if titled_sets else ("", {})
        rows = [
            (first, title, *row) for title, sets in titled_sets[1:] for row in difference_rows(first_sets, sets, seed)
        ]
        remark = f"tests: second minus first, its 95% interval, and the two-sided p of the paired bootstrap; {AVERAGED}"
        tables.append(Table(f"{suite}: tests, {names}", columns, tuple(rows), columns[3:], (remark,)))
    return [table for table in tables if table.rows]


def _interval_rows(sets: Sets, seed: int) -> Iterator[tuple[str, ...]]:
    for title, count, names in _set_lines(sets):
        samples = average_estimate([sets[name][2] for name in names], seed)
        yield title, count, *map(DECIMAL, (samples[0], *interval(samples)))


def difference_rows(first: Sets, second: Sets, seed: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield title, items, both scores, their difference with its interval, and p, for each set of both runs."""
    shared = {name: items for name, items in first.items() if name in second}
    for name, (stored, *_) in shared.items():
        if stored.sha256 != second[name][0].sha256:
            raise InputError(f"{stored.title} has different items in the two runs: evaluate both on one copy")
    for title, count, names in _set_lines(shared):
        samples = average_estimate([second[name][2] - first[name][2] for name in names], seed)
        scores = (DECIMAL(np.mean([sets[name][2][0] for name in names])) for sets in (first, second))
        figures = f"{samples[0]:+z.2f}", *map(DECIMAL, interval(samples)), f"{p_value(samples):.4f}"
        yield title, count, *scores, *figures


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
            items, stored = Predictions(statistic.item(), gold, predicted), evaluation.stored.sets[name]
            samples, figure = estimate(items, seed=seed), next(iter(stored.figures.values()), None)
            if figure is None and np.isnan(samples[0]):
                continue
            if figure is None or not abs(samples[0] - figure) <= ROUNDING:
                raise ValueError(f"{name}: {samples[0]} there, {figure} in the results")
            sets[name] = (stored, items, samples)
    except (OSError, ValueError, LookupError) as error:
        raise InputError(f"{file} does not match the results beside it ({error}): evaluate again") from None
    return sets
