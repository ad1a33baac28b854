"""Intervals of the runs' scores, and tests of one run against others, set by set, from the items beside the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from pipelines.console import InputError
from trainers.compare.runs import Contender, Evaluation
from trainers.compare.statistics import (
    Difference,
    Interval,
    Paired,
    assess,
    average_interval,
    averaged,
    check_paired,
    holm,
    interval,
    pair,
)
from trainers.compare.statistics import statistic as score_of

if TYPE_CHECKING:
    from trainers.evaluation.task import Items

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


def intervals(suite: str, contenders: Sequence[Contender], resamples: int, seed: int) -> list[Scored]:
    """Return the 95% bootstrap interval of every set of every single run, and of their average over counted sets.

    Settings of several seeds are left out: their deviation says more.

    Raises:
        InputError: The items beside a result are of another evaluation.
    """
    found = []
    for contender in contenders:
        if len(contender.runs) > 1 or not contender.of(suite):
            continue
        evaluation = contender.of(suite)[0]
        run = contender.title, str(contender.path)
        items = _items(evaluation)
        for name, each in items.items():
            single = interval(each, resamples, seed)
            if single is not None:
                title, measure = evaluation.sets[name].title, _measures(evaluation, [name])
                found.append(Scored(*run, title, measure, len(each.gold), single))
        counted = {name: each for name, each in items.items() if evaluation.sets[name].counted}
        together = average_interval(list(counted.values()), resamples, seed) if len(counted) > 1 else None
        if together is not None:
            size = sum(len(each.gold) for each in counted.values())
            title, measure = f"average of {len(counted)}", _measures(evaluation, counted)
            found.append(Scored(*run, title, measure, size, together, len(counted)))
    return found


def tests(suite: str, contenders: Sequence[Contender], resamples: int, seed: int) -> list[Tested]:
    """Test every further run against the first, on each set that both have and on the average of the counted ones.

    Nothing if fewer than two have the suite.

    Raises:
        InputError: A setting of several seeds, items of another evaluation, or two runs of different items.
    """
    singles = [contender for contender in contenders if contender.of(suite)]
    for contender in singles:
        if len(contender.runs) > 1:
            raise InputError(f"{contender.title} is {len(contender.runs)} seeds: a test takes single runs, name one")
    if len(singles) < 2:
        return []
    first, *others = singles
    return [line for other in others for line in _against(suite, first, other, resamples, seed)]


def _against(suite: str, first: Contender, second: Contender, resamples: int, seed: int) -> list[Tested]:
    one, two = first.of(suite)[0], second.of(suite)[0]
    ours, theirs = _items(one), _items(two)
    shared = [name for name in ours if name in theirs]
    copies = {name for name in shared if one.sets[name].sha256 != two.sets[name].sha256}
    scores: dict[str, tuple[float, float]] = {}
    found: dict[str, Paired] = {}
    for name in shared:
        try:
            _check(ours[name], theirs[name], copied=name in copies)
        except InputError as error:
            raise InputError(
                f"{one.sets[name].title} is not the same in {first.title} and {second.title} ({error}): "
                "evaluate both on the same data"
            ) from None
        paired = pair(ours[name], theirs[name], resamples, seed)
        if paired is not None:
            found[name] = paired
            scores[name] = score_of(ours[name]) or 0.0, score_of(theirs[name]) or 0.0
    sizes = {name: len(ours[name].gold) for name in shared}
    single = {name: assess(paired) for name, paired in found.items()}
    corrected = zip(
        holm([each.bootstrap for each in single.values()]),
        holm([each.randomisation for each in single.values()]),
        strict=True,
    )
    runs = first.title, second.title, (str(first.path), str(second.path))
    lines = []
    for (name, each), holms in zip(single.items(), corrected, strict=True):
        title, measure = one.sets[name].title, _measures(one, [name])
        lines.append(Tested(*runs, title, measure, sizes[name], scores[name], each, *holms, copies=name in copies))
    counted = [name for name in shared if one.sets[name].counted and two.sets[name].counted]
    # As printed: no average where a set has no score.
    if len(counted) > 1 and found.keys() >= set(counted):
        means = tuple(fmean(side) for side in zip(*(scores[name] for name in counted), strict=True))
        together = assess(averaged([found[name] for name in counted], seed))
        title, measure = f"average of {len(counted)}", _measures(one, counted)
        size = sum(sizes[name] for name in counted)
        lines.append(Tested(*runs, title, measure, size, (means[0], means[1]), together, None, None, len(counted)))
    return lines


def lacking(suites: Sequence[str], contenders: Sequence[Contender]) -> list[str]:
    """Say which single runs lack which files of items, of the suites that another run has items of."""
    gone: dict[tuple[str, str], list[str]] = {}
    for suite in suites:
        files = [(each.title, each.of(suite)[0].items_file) for each in contenders if each.of(suite)]
        missing = [(title, file) for title, file in files if not file.is_file()]
        for title, file in missing if len(missing) < len(files) else ():
            gone.setdefault((title, str(file.parent)), []).append(file.name)
    return [f"{title} lacks {', '.join(files)} in {folder}" for (title, folder), files in gone.items()]


def untested(suites: Sequence[str], contenders: Sequence[Contender]) -> str:
    """Say why no two runs could be tested on any of the suites, and what to do."""
    shared = [suite for suite in suites if sum(bool(each.of(suite)) for each in contenders) > 1]
    if not shared:
        return "a test takes two runs with results of one suite: name two"
    missing = lacking(shared, contenders)
    if missing:
        return f"nothing to test: {'; '.join(missing)}: run `train evaluate` again"
    if not any(each.of(suite)[0].items_file.is_file() for suite in shared for each in contenders if each.of(suite)):
        return "nothing to test: no run here has <suite>.items.npz beside its results: run `train evaluate` again"
    return "nothing to test: the runs have no set in common on which both have a score"


def _measures(evaluation: Evaluation, names: Iterable[str]) -> str:
    """Return the first figure's name of each set, each name once."""
    return ", ".join(dict.fromkeys(next(iter(evaluation.sets[name].figures), "") for name in names))


def _check(first: Items, second: Items, *, copied: bool) -> None:
    check_paired(first, second)
    if copied and first.statistic == "mean":
        # Outcomes have no grades that would show whether the nth item is the same.
        raise InputError("by their checksums, other items or candidates, or another order")


def _items(evaluation: Evaluation) -> dict[str, Items]:
    """Return the items of an evaluation's sets, checked against its figures."""
    items = {name: each for name, each in evaluation.items().items() if name in evaluation.sets}
    for name, each in items.items():
        figure = next(iter(evaluation.sets[name].figures.values()), None)
        score = score_of(each)
        same = figure is None if score is None else figure is not None
        if not same or abs((score or 0.0) - (figure or 0.0)) > ROUNDING:
            raise InputError(
                f"{evaluation.suite}.items.npz beside {evaluation.path} is of another evaluation "
                f"({name}: {score} there, {figure} in the results): evaluate again"
            )
    return items
