"""Scores as tables on the screen and as Markdown, and what must be said beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class Rounded(float):
    """A number that prints with some decimals: two as papers print rates, three of what is no rate x 100."""

    decimals = 2

    def __str__(self) -> str:
        return f"{float(self):.{self.decimals}f}"


class Thousandths(Rounded):
    """A number that prints with three decimals."""

    decimals = 3


def columns(scores: SuiteScores) -> tuple[str, ...]:
    """Return the table's columns: set, size, the suite's metrics, and what was seen in training where that is known."""
    return ("set", "size", *scores.suite.metrics, *([SEEN] if _leaks_known(scores) else []))


def rows(scores: SuiteScores) -> list[tuple[object, ...]]:
    """Return the table's rows: the sets that are averaged, then their average, then the other sets."""

    def row(name: str, items: Sequence[SetScores], metrics: Mapping[str, float | None], seen: str) -> tuple[Any, ...]:
        shown = [cell(metrics.get(metric), scores.suite.decimals) for metric in scores.suite.metrics]
        size = sum(item.task.size for item in items)
        return (_with_mark(name, items), size, *shown, *([seen] if _leaks_known(scores) else []))

    def of_set(item: SetScores) -> tuple[object, ...]:
        seen = "" if item.seen is None else f"{item.seen} of {item.texts}"
        return row(item.task.title, [item], item.result.metrics, seen)

    counted = scores.counted if scores.suite.expected else []
    average = [row(average_title(scores), counted, scores.averages, "")] if scores.averages else []
    return [*map(of_set, counted), *average, *(of_set(item) for item in scores.sets if item not in counted)]


def average_title(scores: SuiteScores) -> str:
    """Return the average's name, which says over how many sets it is when some are missing."""
    if scores.complete:
        return f"average of {len(scores.counted)}"
    return f"average (INCOMPLETE: {len(scores.counted)} of {scores.suite.expected} sets)"


def title(evaluation: Evaluation, scores: SuiteScores | None = None) -> str:
    """Return a table's title: the suite, if it is of one, the encoder, how its vectors were made and what was done."""
    adapted = f", {evaluation.adaptation.title}" if evaluation.adaptation else ""
    encoder = f"{evaluation.encoder.title}{adapted}"
    if scores is None:
        return encoder
    kind = " (smoke test, no benchmark)" if scores.suite.name == SMOKE_TEST else ""
    return f"{scores.suite.name}{kind}: {encoder}"


def summary_rows(evaluation: Evaluation) -> list[tuple[object, ...]]:
    """Return a row per suite: sets found, sets missing, distinct texts, and its first metric's average.

    A suite without an average has the metric of its first set, by name.
    """
    lines: list[tuple[object, ...]] = []
    for scores in evaluation.suites:
        name, value = _main_metric(scores)
        counts = len(scores.sets), len(scores.suite.missing), scores.distinct_texts
        lines.append((scores.suite.name, *counts, name, cell(value, scores.suite.decimals)))
    return lines


def _main_metric(scores: SuiteScores) -> tuple[str | None, float | None]:
    for name, value in scores.averages.items():
        part = "" if scores.complete else f" (of {len(scores.counted)} of {scores.suite.expected})"
        return _with_mark(f"{name}{part}", scores.counted), value
    for item in scores.sets:
        for name, value in item.result.metrics.items():
            return _with_mark(f"{name} ({item.task.title})", [item]), value
    return None, None


def notes(evaluation: Evaluation, scores: SuiteScores) -> list[str]:
    """Return what must be said beside a suite's scores: on single copies, undefined metrics, and what is missing."""
    remarks: dict[str, list[str]] = {}
    for item in scores.sets:
        if item.task.note:
            remarks.setdefault(item.task.note, []).append(item.task.title)
    for item in scores.sets:
        if reason := _undefined(item):
            remarks.setdefault(reason, []).append(item.task.title)
    said = []
    for remark, titles in remarks.items():
        named = "every set" if len(titles) == len(scores.sets) > 1 else ", ".join(titles)
        mark = MARK if remark.startswith(MARK) else ""
        said.append(f"{mark}{named}: {remark.removeprefix(MARK)}")
    if evaluation.shared:
        said.append(
            f"{evaluation.shared:,} of the {evaluation.distinct_texts:,} evaluation texts stand in the text that was "
            "fitted on"
        )
    leaked = [item.task.title for item in scores.sets if item.seen]
    if leaked:
        said.append(f"texts of {', '.join(leaked)} stand in the model's training data: see the column `{SEEN}`")
    return said + [f"missing: {item}" for item in scores.suite.missing]


def _undefined(item: SetScores) -> str | None:
    """Return why a set's first metric is undefined, if it is."""
    first = next(iter(item.result.metrics), None)
    if first is None or item.result.metrics[first] is not None:
        return None
    predictions = item.result.predictions
    if predictions is not None and predictions.statistic == "spearman" and len(set(predictions.predicted)) == 1:
        return "no correlation, the model gives every pair the same cosine"
    return f"`{first}` is undefined for this model"


def markdown(evaluation: Evaluation, scores: SuiteScores, values: Mapping[str, Any]) -> str:
    """Return a suite's page: the table, the parts, remarks, and how it was made."""
    lines = [f"# {title(evaluation, scores)}", "", scores.suite.title, ""]
    lines += [*markdown_table(columns(scores), rows(scores)), *_parts(scores)]
    if "weighted" in scores.suite.metrics:
        lines += ["", *_AGGREGATIONS]
    lines += ["", *(f"- {remark}" for remark in notes(evaluation, scores)), _made(values)]
    return "\n".join(lines) + "\n"


def summary_page(evaluation: Evaluation, values: Mapping[str, Any]) -> str:
    """Return the page of several suites: one row for each, then every suite's table."""
    lines = [f"# {title(evaluation)}", "", *markdown_table(SUMMARY, summary_rows(evaluation))]
    for scores in evaluation.suites:
        lines += ["", f"## {scores.suite.name}", "", scores.suite.title, ""]
        if scores.sets:
            lines += [*markdown_table(columns(scores), rows(scores)), ""]
        lines += [f"- {remark}" for remark in notes(evaluation, scores)]
    return "\n".join([*lines, "", _made(values)]) + "\n"


def markdown_table(names: Sequence[str], body: Sequence[Sequence[object]]) -> list[str]:
    """Return the lines of a table, numbers to the right; None is an empty cell."""

    def line(cells: Sequence[object]) -> str:
        return "| " + " | ".join("" if value is None else str(value).replace("|", "\\|") for value in cells) + " |"

    numeric = [all(not isinstance(row[index], str) for row in body) for index in range(len(names))]
    return [line(names), "|" + "|".join("--:" if right else "---" for right in numeric) + "|", *map(line, body)]


def cell(value: float | None, decimals: int = 2) -> float | None:
    """Return a metric as it is printed; a whole number that is a count stays one."""
    if value is None or isinstance(value, int):
        return value
    return Thousandths(value) if decimals == 3 else Rounded(value)


def _leaks_known(scores: SuiteScores) -> bool:
    return any(item.seen is not None for item in scores.sets)


def _with_mark(name: str, items: Sequence[SetScores]) -> str:
    """Return a row's name, marked where one of its sets is not the papers' task."""
    return f"{name} {MARK.strip()}" if any((item.task.note or "").startswith(MARK) for item in items) else name


def _parts(scores: SuiteScores) -> list[str]:
    parts = [(item.task.title, name, part) for item in scores.sets for name, part in item.result.parts.items()]
    if not parts:
        return []
    metrics = list(dict.fromkeys(metric for _, _, part in parts for metric in part))
    body = [
        (name, part, *(cell(values.get(metric), scores.suite.decimals) for metric in metrics))
        for name, part, values in parts
    ]
    return ["", "## Parts", "", *markdown_table(("set", "part", *metrics), body)]


def _made(values: Mapping[str, Any]) -> str:
    return f"- {values['date']}; " + ", ".join(f"{name} {number}" for name, number in values["versions"].items())
