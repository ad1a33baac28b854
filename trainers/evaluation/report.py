"""Scores as tables on the screen and as Markdown, and what must be said beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainers.evaluation.discovery import SMOKE_TEST
from trainers.evaluation.suite import Scores
from trainers.evaluation.task import MARK

SEEN = "seen in training"
SUMMARY = ("suite", "sets", "missing", "texts", "figure", "score")


def columns(scores: Scores) -> tuple[str, ...]:
    """Return the table's columns: set, size, the suite's metrics, and what was seen in training where that is known."""
    known = any(item["seen_in_training"] for item in scores.values["sets"].values())
    return ("set", "size", *scores.suite.metrics, *([SEEN] if known else []))


def rows(scores: Scores) -> list[tuple[str, ...]]:
    """Return the table's rows: the sets that are averaged, then their average, then the other sets."""
    average, names = scores.values["average"], columns(scores)
    sets = scores.values["sets"].values()
    counted = [item for item in sets if item["counted"] and average["of"]]

    def row(name: str, items: Sequence[Mapping[str, Any]], figures: Mapping[str, float | None]) -> tuple[str, ...]:
        shown = [cell(figures.get(metric), scores.suite.decimals) for metric in scores.suite.metrics]
        seen = items[0]["seen_in_training"] if items[0]["figures"] is figures else None
        counts = [f"{seen['texts']} of {seen['of']}" if seen else ""] if names[-1] == SEEN else []
        return (_with_mark(name, items), str(sum(item["size"] for item in items)), *shown, *counts)

    kind = "of {sets}" if scores.values["complete"] else "(INCOMPLETE: {sets} of {of} sets)"
    title = f"average {kind.format(**average)}"
    return [
        *(row(item["title"], [item], item["figures"]) for item in counted),
        *([row(title, counted, average["figures"])] if average["figures"] else []),
        *(row(item["title"], [item], item["figures"]) for item in sets if item not in counted),
    ]


def title(scores: Scores) -> str:
    """Return a table's title: the suite, the encoder, how its vectors were made and what was done to them."""
    kind = " (smoke test, no benchmark)" if scores.suite.name == SMOKE_TEST else ""
    return f"{scores.suite.name}{kind}: {scores.values['encoder']}"


def summary_row(scores: Scores) -> tuple[str, ...]:
    """Return a suite's row among several: sets, missing ones, distinct texts, and its first metric's average.

    A suite without an average has the metric of its first set, by name.
    """
    average, sets = scores.values["average"], list(scores.values["sets"].values())
    name, value = "", None
    if average["figures"]:
        name, value = next(iter(average["figures"].items()))
        part = "" if scores.values["complete"] else f" (of {average['sets']} of {average['of']})"
        name = _with_mark(f"{name}{part}", [item for item in sets if item["counted"]])
    elif sets:
        name, value = next(iter(sets[0]["figures"].items()))
        name = _with_mark(f"{name} ({sets[0]['title']})", sets[:1])
    counts = len(sets), len(scores.suite.missing), scores.values["distinct_texts"]
    return (scores.suite.name, *map(str, counts), name, cell(value, scores.suite.decimals))


def notes(scores: Scores) -> list[str]:
    """Return what must be said beside a suite's scores: on single copies, undefined metrics, and what is missing."""
    sets = scores.values["sets"].values()
    remarks: dict[str, list[str]] = {}
    for item in sets:
        undefined = [metric for metric, value in list(item["figures"].items())[:1] if value is None]
        for remark in (item["note"], *(f"`{metric}` is undefined for this model's vectors" for metric in undefined)):
            if remark:
                remarks.setdefault(remark, []).append(item["title"])
    said = []
    for remark, titles in remarks.items():
        named = "every set" if len(titles) == len(sets) > 1 else ", ".join(titles)
        mark = MARK if remark.startswith(MARK) else ""
        said.append(f"{mark}{named}: {remark.removeprefix(MARK)}")
    if scores.values["texts_in_fit"]:
        said.append(f"{scores.values['texts_in_fit']:,} evaluation texts stand in the text that was fitted on")
    leaked = [item["title"] for item in sets if item["seen_in_training"] and item["seen_in_training"]["texts"]]
    if leaked:
        said.append(f"texts of {', '.join(leaked)} stand in the model's training data: see the column `{SEEN}`")
    return said + [f"missing: {item}" for item in scores.suite.missing]


def markdown(scores: Scores) -> str:
    """Return a suite's page: the table, the parts, remarks, and how it was made."""
    lines = [f"# {title(scores)}", "", scores.suite.title, "", *_table(columns(scores), rows(scores), 1)]
    sets = scores.values["sets"].values()
    parts = [(item["title"], name, part) for item in sets for name, part in item["parts"].items()]
    if parts:
        metrics = list(dict.fromkeys(metric for _, _, part in parts for metric in part))
        body = [(*names, *(cell(part.get(each), scores.suite.decimals) for each in metrics)) for *names, part in parts]
        lines += ["", "## Parts", "", *_table(("set", "part", *metrics), body, 2)]
    versions = ", ".join(f"{name} {number}" for name, number in scores.values["versions"].items())
    lines += ["", *(f"- {remark}" for remark in notes(scores)), f"- {scores.values['date']}; {versions}"]
    return "\n".join(lines) + "\n"


def cell(value: float | None, decimals: int = 2) -> str:
    """Return a metric as it is printed; a whole number that is a count stays one, and None is empty."""
    if value is None or isinstance(value, int):
        return "" if value is None else str(value)
    return f"{value:.{decimals}f}"


def _table(names: Sequence[str], body: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return the lines of a Markdown table whose first `left` columns are set to the left."""
    rules = ["---"] * left + ["--:"] * (len(names) - left)
    cells = [[value.replace("|", "\\|") for value in row] for row in (names, *body)]
    return [f"| {' | '.join(cells[0])} |", f"|{'|'.join(rules)}|", *(f"| {' | '.join(row)} |" for row in cells[1:])]


def _with_mark(name: str, items: Sequence[Mapping[str, Any]]) -> str:
    """Return a row's name, marked where one of its sets is not the papers' task."""
    return f"{name} {MARK.strip()}" if any((item["note"] or "").startswith(MARK) for item in items) else name
