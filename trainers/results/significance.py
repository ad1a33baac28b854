"""Intervals of the runs' scores, and tests of one run against others, set by set, from the items beside the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from pipelines.console import InputError
from trainers.evaluation.task import Predictions
from trainers.files import read_arrays
from trainers.results.bootstrap import Estimate, average, estimate, score_of, shuffled
from trainers.results.comparison import ALL
from trainers.results.records import Record, Run
from trainers.results.table import Table

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

    Raises:
        InputError: A setting of several seeds to test, items that are broken or of another evaluation, or two runs of
            different items.
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
        low, high = _decimals(*drawn.interval)
        yield *_about(first, names), *scores, f"{drawn.value:+.2f}", low, high, f"{drawn.p_value:.4f}"


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
