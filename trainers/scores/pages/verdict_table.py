"""Verdicts as tables: a row for each encoder, with its figures and by how much their mean is better."""

from typing import Any

from trainers.scores.result_files import BASELINE, Table, load
from trainers.scores.statistics.wording import DECIMAL, RULE
from trainers.scores.task import PREFIX
from trainers.scores.verdicts import Judged

SHOWS = """difference: of the mean, with its 95% interval; shows: the least true gain that these tables show in four \
of five cases"""


def records(judged: Judged) -> list[dict[str, Any]]:
    """Return a record for each encoder, the start first: its figures, and the difference of their mean.

    The figures of the baseline, where the start's results have them, come after the start's. Those of several
    tables have the table's name before them.
    """
    verdict, files = judged.verdict, judged.files[judged.verdict.start]

    def titled(table: str, title: str) -> str:
        return f"{table.removeprefix(PREFIX)} {title}" if len(files) > 1 else title

    first, *_ = verdict.candidates
    before = {titled(figure.table, figure.title): figure.before for figure in first.figures}
    sets = [(table.suite, of) for table in map(load, files) for of in table.sets.values()]
    baseline = {titled(table, of.title): of.baseline for table, of in sets if of.baseline is not None}
    values: list[dict[str, Any]] = [{"candidate": judged.start, **before}]
    values += [{"candidate": BASELINE, **baseline}] if baseline else []
    for candidate in verdict.candidates:
        after = {titled(figure.table, figure.title): figure.after for figure in candidate.figures}
        record = {"candidate": candidate.name, **after}
        if mean := candidate.mean:
            record |= {"difference": mean.difference, "low": mean.low, "high": mean.high}
            record |= {"p": candidate.p, "shows": mean.smallest}
        values.append(record)
    return values


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
