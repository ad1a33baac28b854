"""Scores as tables on the screen and as Markdown, and what must be said beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainers.evaluation.discovery import SMOKE_TEST
from trainers.evaluation.suite import Evaluation, SetScores, SuiteScores
from trainers.evaluation.task import MARK

SEEN = "seen in training"
SUMMARY = ("suite", "sets", "missing", "texts", "figure", "score")

_AGGREGATIONS = (
    "`all` correlates over the concatenated subsets, `mean` averages the subsets' correlations, `weighted` weights",
    "them by size. Compare a figure only with papers that use the same aggregation.",
)


class Hundredths(float):
    """A number that prints with two decimals, as papers do."""

    def __str__(self) -> str:
        return f"{float(self):.2f}"


class Thousandths(float):
    """A number that prints with three decimals: a figure that is no rate x 100."""

    def __str__(self) -> str:
        return f"{float(self):.3f}"


def columns(scores: SuiteScores) -> tuple[str, ...]:
    """Return the table's columns: set, size, the suite's figures, and what was seen in training where that is known."""
    return ("set", "size", *scores.suite.figures, *([SEEN] if _known(scores) else []))


def rows(scores: SuiteScores) -> list[tuple[object, ...]]:
    """Return the table's rows: the sets that are averaged, then their average, then the other sets."""
    counted = scores.counted if scores.suite.expected else []
    lines = [_set_row(scores, item) for item in counted]
    if scores.averages:
        size = sum(item.task.size for item in counted)
        lines.append(_row(scores, _with_mark(average_title(scores), counted), size, scores.averages, ""))
    return lines + [_set_row(scores, item) for item in scores.sets if item not in counted]


def average_title(scores: SuiteScores) -> str:
    """Return the average's name, which says over how many sets it is when some are missing."""
    if scores.complete:
        return f"average of {len(scores.counted)}"
    return f"average (INCOMPLETE: {len(scores.counted)} of {scores.suite.expected} sets)"


def title(evaluation: Evaluation, scores: SuiteScores) -> str:
    """Return the table's title: the suite, the encoder, how its vectors were made and what was done to them."""
    kind = " (smoke test, no benchmark)" if scores.suite.name == SMOKE_TEST else ""
    return f"{scores.suite.name}{kind}: {_encoder(evaluation)}"


def summary_rows(evaluation: Evaluation) -> list[tuple[object, ...]]:
    """Return a row per suite: sets found, sets missing, distinct texts, and its first figure's average.

    A suite without an average has the figure of its first set, by name.
    """
    lines: list[tuple[object, ...]] = []
    for scores in evaluation.suites:
        name, value = _main_figure(scores)
        shown = cell(value, scores.suite.decimals)
        counts = len(scores.sets), len(scores.suite.missing), scores.distinct_texts
        lines.append((scores.suite.name, *counts, name, shown))
    return lines


def _main_figure(scores: SuiteScores) -> tuple[str | None, float | None]:
    for name, value in scores.averages.items():
        part = "" if scores.complete else f" (of {len(scores.counted)} of {scores.suite.expected})"
        return _with_mark(f"{name}{part}", scores.counted), value
    for item in scores.sets:
        for name, value in item.result.figures.items():
            return _with_mark(f"{name} ({item.task.title})", [item]), value
    return None, None


def notes(evaluation: Evaluation, scores: SuiteScores) -> list[str]:
    """Return what must be said beside a suite's scores: on single copies, undefined figures, and what is missing."""
    remarks: dict[str, list[str]] = {}
    for item in scores.sets:
        if item.task.note:
            remarks.setdefault(item.task.note, []).append(item.task.title)
    said = []
    for remark, titles in remarks.items():
        mark = MARK if remark.startswith(MARK) else ""
        said.append(f"{mark}{_named(titles, scores)}: {remark.removeprefix(MARK)}")
    undefined: dict[str, list[str]] = {}
    for item in scores.sets:
        for reason in _undefined(item):
            undefined.setdefault(reason, []).append(item.task.title)
    said += [f"{_named(titles, scores)}: {reason}" for reason, titles in undefined.items()]
    if evaluation.shared:
        said.append(
            f"{evaluation.shared:,} of the {evaluation.distinct_texts:,} evaluation texts stand in the text that was "
            "fitted on"
        )
    leaked = [item.task.title for item in scores.sets if item.seen]
    if leaked:
        said.append(f"texts of {', '.join(leaked)} stand in the model's training data: see the column `{SEEN}`")
    return said + [f"missing: {item}" for item in scores.suite.missing]


def markdown(evaluation: Evaluation, scores: SuiteScores, values: Mapping[str, Any]) -> str:
    """Return a suite's page: the table, the parts, remarks, and how it was made."""
    lines = [f"# {title(evaluation, scores)}", "", scores.suite.title, ""]
    lines += [*markdown_table(columns(scores), rows(scores)), *_parts(scores)]
    if "weighted" in scores.suite.figures:
        lines += ["", *_AGGREGATIONS]
    lines += ["", *(f"- {remark}" for remark in notes(evaluation, scores)), _made(values)]
    return "\n".join(lines) + "\n"


def summary_page(evaluation: Evaluation, values: Mapping[str, Any]) -> str:
    """Return the page of several suites: one row for each, then every suite's table."""
    lines = [f"# {_encoder(evaluation)}", "", *markdown_table(SUMMARY, summary_rows(evaluation))]
    for scores in evaluation.suites:
        lines += ["", f"## {scores.suite.name}", "", scores.suite.title, ""]
        if scores.sets:
            lines += [*markdown_table(columns(scores), rows(scores)), ""]
        lines += [f"- {remark}" for remark in notes(evaluation, scores)]
    return "\n".join([*lines, "", _made(values)]) + "\n"


def markdown_table(head: Sequence[str], body: Sequence[Sequence[object]]) -> list[str]:
    """Return the lines of a table, numbers to the right; None is an empty cell."""

    def line(cells: Sequence[object]) -> str:
        return "| " + " | ".join("" if value is None else str(value).replace("|", "\\|") for value in cells) + " |"

    numeric = [all(not isinstance(row[index], str) for row in body) for index in range(len(head))]
    return [line(head), "|" + "|".join("--:" if right else "---" for right in numeric) + "|", *map(line, body)]


def cell(value: float | None, decimals: int = 2) -> Hundredths | Thousandths | int | None:
    """Return a figure as it is printed; a whole number that is a count stays one."""
    if value is None or isinstance(value, int):
        return value
    return Thousandths(value) if decimals == 3 else Hundredths(value)


def _encoder(evaluation: Evaluation) -> str:
    adapted = f", {evaluation.adaptation.title}" if evaluation.adaptation else ""
    return f"{evaluation.encoder.title}{adapted}"


def _known(scores: SuiteScores) -> bool:
    return any(item.seen is not None for item in scores.sets)


def _set_row(scores: SuiteScores, item: SetScores) -> tuple[object, ...]:
    seen = "" if item.seen is None else f"{item.seen} of {item.texts}"
    return _row(scores, _with_mark(item.task.title, [item]), item.task.size, item.result.figures, seen)


def _with_mark(name: str, items: Sequence[SetScores]) -> str:
    """Return a row's name, marked where one of its sets is not the papers' task."""
    return f"{name} {MARK.strip()}" if any((item.task.note or "").startswith(MARK) for item in items) else name


def _row(
    scores: SuiteScores, name: str, size: int, figures: Mapping[str, float | None], seen: str
) -> tuple[object, ...]:
    shown = [cell(figures.get(figure), scores.suite.decimals) for figure in scores.suite.figures]
    return (name, size, *shown, *([seen] if _known(scores) else []))


def _named(titles: Sequence[str], scores: SuiteScores) -> str:
    return "every set" if len(titles) == len(scores.sets) > 1 else ", ".join(titles)


def _undefined(item: SetScores) -> Iterable[str]:
    first = next(iter(item.result.figures), None)
    if first is None or item.result.figures[first] is not None:
        return []
    items = item.result.items
    if items is not None and items.statistic == "spearman" and len(set(items.predicted.tolist())) == 1:
        return ["no correlation, the model gives every pair the same cosine"]
    return [f"`{first}` is undefined for this model"]


def _parts(scores: SuiteScores) -> list[str]:
    parts = [(item.task.title, name, part) for item in scores.sets for name, part in item.result.parts.items()]
    if not parts:
        return []
    figures = list(dict.fromkeys(figure for _, _, part in parts for figure in part))
    body = [
        (name, part, *(cell(values.get(figure), scores.suite.decimals) for figure in figures))
        for name, part, values in parts
    ]
    return ["", "## Parts", "", *markdown_table(("set", "part", *figures), body)]


def _made(values: Mapping[str, Any]) -> str:
    return f"- {values['date']}; " + ", ".join(f"{name} {number}" for name, number in values["versions"].items())
