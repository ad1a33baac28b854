"""Scores as a table on the screen, as JSON with everything a reader needs to repeat them, and as Markdown."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from trainers.evaluation.metrics import AGGREGATIONS, Score
from trainers.evaluation.suite import SetScores, SuiteScores
from trainers.evaluation.vectors import TextEncoder

PACKAGES = ("twinviews", "torch", "transformers", "sentence-transformers", "datasets", "numpy")
COLUMNS = ("set", "pairs", "all", "mean", "weighted", "Pearson (all)")


class Hundredths(float):
    """A number that prints with two decimals, as papers do."""

    def __str__(self) -> str:
        return f"{float(self):.2f}"


def rows(scores: SuiteScores) -> list[tuple[object, ...]]:
    """Return the table's rows: Spearman x 100 under each aggregation, and Pearson.

    First the sets that are averaged, then their average, then the other sets.
    """
    lines = [_set_row(item) for item in scores.sets if item.graded.counted]
    if scores.averages:
        pairs = sum(item.graded.pairs for item in scores.sets if item.graded.counted)
        lines.append(_row(average_title(scores), pairs, scores.averages))
    return lines + [_set_row(item) for item in scores.sets if not item.graded.counted]


def average_title(scores: SuiteScores) -> str:
    """Return the average's name, which says over how many sets it is when some are missing."""
    if scores.complete:
        return f"average of {scores.counted}"
    return f"average (INCOMPLETE: {scores.counted} of {scores.expected} sets)"


def title(encoder: TextEncoder, scores: SuiteScores) -> str:
    """Return the table's title: the suite, the encoder, how its vectors were made and what was done to them."""
    kind = " (smoke test, no benchmark)" if scores.suite == "sample" else ""
    adapted = f", {scores.adaptation.title}" if scores.adaptation else ""
    return f"{scores.suite}{kind}: {encoder.title}{adapted}, Spearman x 100"


def notes(scores: SuiteScores) -> list[str]:
    """Return what must be said beside the scores: remarks on single copies, undefined figures, and what is missing."""
    remarks: dict[str, list[str]] = {}
    for item in scores.sets:
        if item.graded.note:
            remarks.setdefault(item.graded.note, []).append(item.graded.benchmark.title)
    said = [f"{', '.join(titles)}: {remark}" for remark, titles in remarks.items()]
    said += [
        f"{item.graded.benchmark.title}: no correlation, the model gives every pair the same cosine"
        for item in scores.sets if item.aggregated["all"].spearman is None
    ]  # fmt: skip
    if scores.shared:
        said.append(
            f"{scores.shared:,} of the {scores.distinct_texts:,} evaluation texts stand in the text that was fitted on"
        )
    return said + [f"missing: {item}" for item in scores.missing]


def payload(encoder: TextEncoder, scores: SuiteScores, settings: dict[str, Any]) -> dict[str, Any]:
    """Return everything about an evaluation as JSON values; figures are correlations x 100, unrounded."""
    return {
        "suite": scores.suite,
        "complete": scores.complete,
        "model": encoder.card(),
        "adaptation": scores.adaptation.card() if scores.adaptation else None,
        "texts_in_fit": scores.shared,
        "settings": settings,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "distinct_texts": scores.distinct_texts,
        "encode_seconds": round(scores.seconds, 2),
        "average": {"sets": scores.counted, "of": scores.expected, **_scores(scores.averages)},
        "sets": {item.graded.benchmark.name: _set(item) for item in scores.sets},
        "missing": [
            {"set": item.benchmark.name, "reason": item.reason, "where": item.where} for item in scores.missing
        ],
    }


def markdown(encoder: TextEncoder, scores: SuiteScores, values: dict[str, Any]) -> str:
    """Return the evaluation as a Markdown page: the table, the subsets, remarks, and how it was made."""
    lines = [f"# {title(encoder, scores)}", "", *_markdown_table(COLUMNS, rows(scores))]
    subsets = [
        (item.graded.benchmark.title, name, score.pairs, _cell(score.spearman), _cell(score.pearson))
        for item in scores.sets for name, score in item.subsets.items() if len(item.subsets) > 1
    ]  # fmt: skip
    if subsets:
        lines += ["", "## Subsets", "", *_markdown_table(("set", "subset", "pairs", "Spearman", "Pearson"), subsets)]
    lines += [
        "",
        "`all` correlates over the concatenated subsets, `mean` averages the subsets' correlations, `weighted` weights",
        "them by size. Compare a figure only with papers that use the same aggregation.",
        "",
        *(f"- {remark}" for remark in notes(scores)),
        f"- {values['date']}; " + ", ".join(f"{name} {number}" for name, number in values["versions"].items()),
    ]
    return "\n".join(lines) + "\n"


def write(directory: Path, scores: SuiteScores, values: dict[str, Any], page: str) -> list[Path]:
    """Write `<suite>.json` and `<suite>.md` into an existing directory, each whole or not at all."""
    written = []
    for suffix, text in (("json", json.dumps(values, ensure_ascii=False, indent=2) + "\n"), ("md", page)):
        path = directory / f"{scores.suite}.{suffix}"
        temporary = path.with_suffix(f".{suffix}.tmp")
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
        written.append(path)
    return written


def _row(name: str, pairs: int, aggregated: dict[str, Score]) -> tuple[object, ...]:
    return (
        name,
        pairs,
        *(_cell(aggregated[how].spearman) if how in aggregated else None for how in AGGREGATIONS),
        _cell(aggregated["all"].pearson),
    )


def _cell(value: float | None) -> Hundredths | None:
    return None if value is None else Hundredths(value)


def _set_row(item: SetScores) -> tuple[object, ...]:
    return _row(item.graded.benchmark.title, item.graded.pairs, item.aggregated)


def _scores(scores: dict[str, Score]) -> dict[str, Any]:
    return {name: {"spearman": item.spearman, "pearson": item.pearson} for name, item in scores.items()}


def _set(item: SetScores) -> dict[str, Any]:
    graded = item.graded
    return {
        "title": graded.benchmark.title,
        "pairs": graded.pairs,
        "in_average": graded.counted,
        **_scores(item.aggregated),
        "subsets": {
            name: {"pairs": score.pairs, "spearman": score.spearman, "pearson": score.pearson}
            for name, score in item.subsets.items()
        },
        "data": {"source": graded.source, "sha256": graded.sha256(), "files": dict(graded.files)},
        "note": graded.note,
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _markdown_table(columns: tuple[str, ...], body: Sequence[tuple[object, ...]]) -> list[str]:
    def line(cells: tuple[object, ...]) -> str:
        return "| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |"

    numeric = [all(not isinstance(row[index], str) for row in body) for index in range(len(columns))]
    return [line(columns), "|" + "|".join("--:" if right else "---" for right in numeric) + "|", *map(line, body)]
