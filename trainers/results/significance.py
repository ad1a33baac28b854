"""Intervals of the runs' scores, and tests of one run against others, set by set, from the items beside the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, cast, get_args

from pipelines.console import InputError
from trainers.evaluation.task import Predictions, Statistic
from trainers.files import read_arrays
from trainers.results.bootstrap import (
    Difference,
    Interval,
    assess,
    average_interval,
    averaged,
    check_paired,
    difference,
    holm,
    interval,
    score_of,
)
from trainers.results.records import Record, Run, group

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROUNDING = 0.01
"""How far the score of the items may be from the figure beside them."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One run's score on one set, or on the average of `sets` > 1 of them, with its interval.

    `measure`: the figure of the results that it is of, `all`, `auc` or `acc@1`; `path`: where the run lies, whole.
    """

    run: str
    path: str
    name: str
    measure: str
    items: int
    interval: Interval
    sets: int = 1


@dataclass(frozen=True, slots=True)
class Tested:
    """Two runs on one set; p-values as they are and corrected for the number of sets (Holm).

    On the average of `sets` > 1 of them there is no correction: it is None. `copies`: the two sets' checksums differ.
    `measure` and `paths` are as in `Scored`.
    """

    first: str
    second: str
    paths: tuple[str, str]
    name: str
    measure: str
    items: int
    scores: tuple[float, float]
    difference: Difference
    holm_bootstrap: float | None
    holm_randomisation: float | None
    sets: int = 1
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Predicted:
    """One run's items of a suite by set, and the record of each set's first figure."""

    run: Run
    items: Mapping[str, Predictions]
    records: Mapping[str, Record]

    def counted(self) -> list[str]:
        """Return the sets that the average is over."""
        return [name for name in self.items if self.records[name].of.counted]

    def about(self, names: Sequence[str]) -> tuple[str, str, int]:
        """Return the title of a set or of an average, the first figure's names, and the number of items."""
        title = self.records[names[0]].of.title if len(names) == 1 else f"average of {len(names)}"
        measures = dict.fromkeys(self.records[name].metric for name in names)
        return title, ", ".join(measures), sum(len(self.items[name].gold) for name in names)


def intervals(suite: str, runs: Sequence[Run], resamples: int, seed: int) -> list[Scored]:
    """Return the 95% bootstrap interval of every set of every single run, and of their average over counted sets.

    Settings of several seeds are left out: their deviation says more.

    Raises:
        InputError: The items beside a result are of another evaluation.
    """
    found = []
    for run in runs:
        if len(run.known) > 1 or not run.of(suite):
            continue
        own = _predicted(suite, run)
        lines = [([name], interval(items, resamples, seed)) for name, items in own.items.items()]
        counted = own.counted()
        if len(counted) > 1:
            lines.append((counted, average_interval([own.items[name] for name in counted], resamples, seed)))
        found += [
            Scored(run.title, str(run.path), *own.about(names), each, len(names))
            for names, each in lines
            if each is not None
        ]
    return found


def tests(suite: str, runs: Sequence[Run], resamples: int, seed: int) -> list[Tested]:
    """Test every further run against the first, on each set that both have and on the average of the counted ones.

    Nothing if fewer than two have the suite.

    Raises:
        InputError: A setting of several seeds, items of another evaluation, or two runs of different items.
    """
    present = [run for run in runs if run.of(suite)]
    for run in present:
        if len(run.known) > 1:
            raise InputError(f"{run.title} is {len(run.known)} seeds: a test takes single runs, name one")
    if len(present) < 2:
        return []
    first, *others = [_predicted(suite, run) for run in present]
    return [line for other in others for line in _against(first, other, resamples, seed)]


def _against(first: Predicted, second: Predicted, resamples: int, seed: int) -> list[Tested]:
    found, scores, copies = {}, {}, set()
    for name in (name for name in first.items if name in second.items):
        one, two = first.items[name], second.items[name]
        if first.records[name].of.sha256 != second.records[name].of.sha256:
            copies.add(name)
        _check(first, second, name, copied=name in copies)
        paired = difference(one, two, resamples, seed)
        if paired is not None:
            found[name] = paired
            scores[name] = score_of(one) or 0.0, score_of(two) or 0.0
    runs = first.run.title, second.run.title, (str(first.run.path), str(second.run.path))
    assessed = {name: assess(paired) for name, paired in found.items()}
    bootstrap = holm([each.bootstrap for each in assessed.values()])
    randomisation = holm([each.randomisation for each in assessed.values()])
    lines = [
        Tested(
            *runs, *first.about([name]), scores[name], each, bootstrap[place], randomisation[place],
            copies=name in copies,
        )
        for place, (name, each) in enumerate(assessed.items())
    ]  # fmt: skip
    counted = [name for name in first.counted() if name in second.counted()]
    # As printed: no average where a set has no score.
    if len(counted) > 1 and found.keys() >= set(counted):
        means = fmean(scores[name][0] for name in counted), fmean(scores[name][1] for name in counted)
        together = assess(averaged([found[name] for name in counted], seed))
        lines.append(Tested(*runs, *first.about(counted), means, together, None, None, len(counted)))
    return lines


def lacking(suites: Sequence[str], runs: Sequence[Run]) -> list[str]:
    """Say which single runs lack which files of items, of the suites that another run has items of."""
    missing = []
    for suite in suites:
        files = [(run.title, run.of(suite)[0].items_file) for run in runs if run.of(suite)]
        gone = [(title, file) for title, file in files if not file.is_file()]
        missing += [((title, file.parent), file.name) for title, file in gone if len(gone) < len(files)]
    return [f"{title} lacks {', '.join(files)} in {folder}" for (title, folder), files in group(missing).items()]


def untested(suites: Sequence[str], runs: Sequence[Run]) -> str:
    """Say why no two runs could be tested on any of the suites, and what to do."""
    shared = [suite for suite in suites if sum(bool(run.of(suite)) for run in runs) > 1]
    if not shared:
        return "a test takes two runs with results of one suite: name two"
    missing = lacking(shared, runs)
    if missing:
        return f"nothing to test: {'; '.join(missing)}: run `train evaluate` again"
    if not any(record.items_file.is_file() for suite in shared for run in runs for record in run.of(suite)):
        return "nothing to test: no run here has <suite>.items.npz beside its results: run `train evaluate` again"
    return "nothing to test: the runs have no set in common on which both have a score"


def _check(first: Predicted, second: Predicted, name: str, *, copied: bool) -> None:
    try:
        check_paired(first.items[name], second.items[name])
        if copied and first.items[name].statistic == "mean":
            # Outcomes have no grades that would show whether the nth item is the same.
            raise InputError("by their checksums, other items or candidates, or another order")
    except InputError as error:
        raise InputError(
            f"{first.records[name].of.title} is not the same in {first.run.title} and {second.run.title} ({error}): "
            "evaluate both on the same data"
        ) from None


def _predicted(suite: str, run: Run) -> Predicted:
    """Return the items of a run's sets, checked against its figures; nothing where it has none, as in geometry."""
    records = {record.set: record for record in reversed(run.of(suite))}
    file = run.of(suite)[0].items_file
    stored = read_items(file) if file.is_file() else {}
    items = {name: each for name, each in stored.items() if name in records}
    for name, each in items.items():
        figure, score = records[name].value, score_of(each)
        same = figure is None if score is None else figure is not None
        if not same or abs((score or 0.0) - (figure or 0.0)) > ROUNDING:
            raise InputError(
                f"{file.name} beside {records[name].file} is of another evaluation "
                f"({name}: {score} there, {figure} in the results): evaluate again"
            )
    return Predicted(run, items, records)


def read_items(path: Path) -> dict[str, Predictions]:
    """Return what each item of each set gave, by set, from `<suite>.items.npz`.

    Raises:
        InputError: The file is broken, or an item is no number.
    """
    try:
        arrays = read_arrays(path)
        return {
            name: _items(arrays[f"{name}/gold"], arrays[f"{name}/predicted"], str(arrays[f"{name}/statistic"]))
            for name in dict.fromkeys(key.rpartition("/")[0] for key in arrays)
        }
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} is broken ({error}): evaluate again") from None


def _items(gold: NDArray[np.float64], predicted: NDArray[np.float64], statistic: str) -> Predictions:
    import numpy as np

    if statistic not in get_args(Statistic):
        raise ValueError(f"no statistic {statistic!r}")
    if gold.shape != predicted.shape or gold.ndim != 1 or not len(gold):
        raise ValueError(f"arrays of shapes {gold.shape} and {predicted.shape}")
    gold, predicted = gold.astype(np.float64), predicted.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(gold) & np.isfinite(predicted)))
    if len(wrong):
        raise ValueError(f"item {wrong[0] + 1} is no number")
    return Predictions(cast(Statistic, statistic), gold, predicted)
