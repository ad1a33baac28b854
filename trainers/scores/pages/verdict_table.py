"""Verdicts as tables: a row for each encoder, with its figures and by how much their mean is better."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from trainers.scores.result_files import BASELINE, Table, load
from trainers.scores.statistics.candidates import Candidate
from trainers.scores.statistics.wording import DECIMAL, RULE
from trainers.scores.task import PREFIX
from trainers.scores.verdicts import Judged

SHOWS = """difference: of the mean, with its 95% interval; shows: the least true gain that these tables show in four \
of five cases"""


def records(judged: Judged) -> list[dict[str, Any]]:
    """Return a record for each encoder, the start first: its figures, and the difference of their mean.

    The figures of the baseline, where the start's results have them, come after the start's.
    """
    verdict = judged.verdict
    baseline = _baseline(judged.files[verdict.start])
    values: list[dict[str, Any]] = [
        {"candidate": judged.start, **_scores(verdict.candidates[0], "before")},
        *([{"candidate": BASELINE, **baseline}] if baseline else []),
    ]
    for candidate in verdict.candidates:
        record = {"candidate": candidate.name, **_scores(candidate, "after")}
        if mean := candidate.mean:
            record |= {"difference": mean.difference, "low": mean.low, "high": mean.high}
            record |= {"p": candidate.p, "shows": mean.smallest}
        values.append(record)
    return values


def _scores(candidate: Candidate, side: Literal["before", "after"]) -> dict[str, float]:
    figures = [(figure.table, figure.title, getattr(figure, side)) for figure in candidate.figures]
    return _titled(figures, are_of_one=len({table for table, *_ in figures}) == 1)


def _baseline(files: Sequence[Path]) -> dict[str, float]:
    """Return the baseline's figures that stand in results, a file a table, titled as the encoders' are."""
    sets = [(table.suite, of) for table in map(load, files) for of in table.sets.values()]
    figures = [(table, of.title, of.baseline) for table, of in sets if of.baseline is not None]
    return _titled(figures, are_of_one=len(files) == 1)


def _titled(figures: Iterable[tuple[str, str, float]], *, are_of_one: bool) -> dict[str, float]:
    """Return figures by title, those of several tables with the table's name before it."""
    return {
        title if are_of_one else f"{table.removeprefix(PREFIX)} {title}": value
        for table, title, value in figures
    }


def verdict_table(judged: Judged) -> Table:
    """Return a row for each encoder, and for the baseline, with the rule and the verdict as notes."""
    verdict, values = judged.verdict, records(judged)
    columns = tuple(dict.fromkeys(column for record in values for column in record))
    rows = [tuple(_cell(record.get(column, "")) for column in columns) for record in values]
    tables = dict.fromkeys(figure.table for of in verdict.candidates for figure in of.figures)
    names = ", ".join(table.removeprefix(PREFIX) for table in tables)
    title = f"{', '.join(tables)}: {verdict.start} and what may be better"
    notes = (f"{SHOWS}; {RULE}", f"verdict on {names}: {verdict}")
    return Table(title, columns, tuple(rows), columns[1:], notes)


def _cell(value: str | float) -> str:
    return value if isinstance(value, str) else DECIMAL(value)
