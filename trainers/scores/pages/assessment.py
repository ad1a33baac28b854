"""Tables of single runs' intervals, and of tests of the further ones against the first."""

from collections.abc import Sequence

from pipelines.base.console import InputError
from trainers.scores.pages.comparison import ALL
from trainers.scores.result_files import Table
from trainers.scores.runs import Run, Sets, check_items, estimates_by_title, read_sets
from trainers.scores.statistics.candidates import Pair, difference
from trainers.scores.statistics.estimates import Estimate, mean_of_tables
from trainers.scores.statistics.significance import score_interval
from trainers.scores.statistics.verdict import pairs_of
from trainers.scores.statistics.wording import DECIMAL, cells

AVERAGED = "an average treats its sets as independent"
INTERVALS = (
    f"intervals: 95%, of a share of as many independent items as the score's standard error has; {AVERAGED}"
)
TESTS = (
    f"tests: second minus first, sign-flip test by item, and the 95% interval that agrees with it; {AVERAGED}"
)


def assess(suite: str, runs: Sequence[Run], *, intervals: bool = False, test: bool = False) -> list[Table]:
    """Return a table of single runs' 95% intervals, and one of tests of the further ones against the first."""
    present = [run for run in runs if run.of(suite) and (intervals or test)]
    for run in present:
        if test and run.seeds > 1:
            raise InputError(f"{run.title} is {run.seeds} seeds: a test takes single runs, name one")
    titled_sets = [(run.title, read_sets(run.of(suite)[0])) for run in present if run.seeds == 1]
    measures = dict.fromkeys(next(iter(of.stored.figures)) for _, sets in titled_sets for of in sets.values())
    names = ", ".join("Spearman over all pairs of a set" if name == ALL else name for name in measures)
    tables = []
    if intervals:
        rows = [
            (title, name, str(score.groups), *map(DECIMAL, (score.score, *score_interval(score))))
            for title, sets in titled_sets
            for name, score in _estimates(sets).items()
        ]
        right: tuple[str, ...] = ("items", "score", "low", "high")
        columns = ("run", "set", *right)
        tables.append(Table(f"{suite}: intervals, {names}", columns, tuple(rows), right, (INTERVALS,)))
    if test:
        first, first_sets = titled_sets[0] if titled_sets else ("", {})
        tests = [
            (first, title, *cells(difference(pair)))
            for title, sets in titled_sets[1:]
            for pair in pairs(first_sets, sets)
        ]
        right = ("items", "first score", "second score", "difference", "low", "high", "p")
        columns = ("first", "second", "set", *right)
        tables.append(Table(f"{suite}: tests, {names}", columns, tuple(tests), right, (TESTS,)))
    return [table for table in tables if table.rows]


def pairs(first: Sets, second: Sets) -> list[Pair]:
    """The figures of each set that both runs have, and of the average; InputError if the items differ."""
    check_items(first, second)
    shared = [name for name in first if name in second]
    before, after = ({"": _estimates({name: sets[name] for name in shared})} for sets in (first, second))
    return pairs_of(before, after)


def _estimates(sets: Sets) -> dict[str, Estimate]:
    """Return the estimate of each set by its title, and of the average if several sets are counted."""
    counted = [of.estimate for of in sets.values() if of.stored.counted]
    average = {f"average of {len(counted)}": mean_of_tables(counted)} if len(counted) > 1 else {}
    return estimates_by_title(sets) | average
