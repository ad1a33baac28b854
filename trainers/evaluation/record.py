"""Scores as tables, and as files: JSON with all that is needed to repeat them, a page, every item's prediction."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from pipelines.console import InputError, TwinviewsError, note
from trainers.evaluation.discovery import SMOKE_TEST
from trainers.evaluation.suite import Scores
from trainers.evaluation.task import MARK, Predictions
from trainers.files import whole_file

SEEN = "seen in training"


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
    lines = [f"# {title(scores)}", "", scores.suite.title, "", *_markdown_table(columns(scores), rows(scores), 1)]
    sets = scores.values["sets"].values()
    parts = [(item["title"], name, part) for item in sets for name, part in item["parts"].items()]
    if parts:
        metrics = list(dict.fromkeys(metric for _, _, part in parts for metric in part))
        body = [(*names, *(cell(part.get(each), scores.suite.decimals) for each in metrics)) for *names, part in parts]
        lines += ["", "## Parts", "", *_markdown_table(("set", "part", *metrics), body, 2)]
    versions = ", ".join(f"{name} {number}" for name, number in scores.values["versions"].items())
    lines += ["", *(f"- {remark}" for remark in notes(scores)), f"- {scores.values['date']}; {versions}"]
    return "\n".join(lines) + "\n"


def cell(value: float | None, decimals: int = 2) -> str:
    """Return a metric as it is printed; a whole number that is a count stays one, and None is empty."""
    if value is None or isinstance(value, int):
        return "" if value is None else str(value)
    return f"{value:.{decimals}f}"


def _markdown_table(names: Sequence[str], body: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return the lines of a Markdown table whose first `left` columns are set to the left."""
    rules = ["---"] * left + ["--:"] * (len(names) - left)
    cells = [[value.replace("|", "\\|") for value in row] for row in (names, *body)]
    return [f"| {' | '.join(cells[0])} |", f"|{'|'.join(rules)}|", *(f"| {' | '.join(row)} |" for row in cells[1:])]


def _with_mark(name: str, items: Sequence[Mapping[str, Any]]) -> str:
    """Return a row's name, marked where one of its sets is not the papers' task."""
    return f"{name} {MARK.strip()}" if any((item["note"] or "").startswith(MARK) for item in items) else name


def results_folder(
    model: str, trained: Path | None, out: Path | None, parts: Sequence[str], suites: Iterable[str],
    settings: Mapping[str, object],
) -> Path:  # fmt: skip
    """Make and return the folder for results: `evaluation/` in the model's directory, below `runs/`, or `out`.

    Results of other settings that are there already are kept; the new ones get a folder in it that is named by all
    settings.

    Args:
        model: As the user named it.
        trained: Its directory, if it has one.
        out: What the user asked for.
        parts: What makes it another encoder (a pooling, a map), for the name of a folder in `evaluation/`.
        suites: What is evaluated.
        settings: All that distinguishes scores, by the names that they have in the results.

    Raises:
        InputError: The folder cannot be made or written into.
    """
    beside = trained if trained and Path(model).expanduser().is_dir() else Path("runs") / _folder_name(model)
    folder = out or beside / "evaluation" / "-".join(map(_folder_name, parts))
    if out:
        settings = {"model": model, **settings}
    if any(_other_settings(folder / f"{suite}.json", settings) for suite in suites):
        given = [f"{name.replace('_', '-')}-{value}" for name, value in settings.items() if value is not None]
        kept, folder = folder, folder / "-".join(map(_folder_name, given))
        note(f"results of other settings in {kept} are kept: these go to {folder}")
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"cannot write into the folder {str(folder)!r}: give another with --out")
    return folder


def _other_settings(path: Path, settings: Mapping[str, object]) -> bool:
    """Whether there are results that were made with other settings; damaged ones are nobody's."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        before = {**values["settings"], "seed": values["seed"], "model": values["model"]["name"]}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False
    return any(before.get(key) != value for key, value in settings.items())


def _folder_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "--", text).strip("-.")


def write(directory: Path, evaluation: Sequence[Scores]) -> list[Path]:
    """Write every suite that has sets; return the paths.

    `<suite>.json`, `<suite>.md`, and `<suite>.items.npz` with the arrays `<set>/gold`, `<set>/predicted` and
    `<set>/statistic` (see `task.Predictions`). Each is whole or absent.

    Raises:
        TwinviewsError: One of them cannot be written.
    """
    written = []
    for scores in evaluation:
        name = scores.suite.name
        if scores.suite.tasks:
            written.append(write_json(directory / f"{name}.json", scores.values))
            written.append(write_file(directory / f"{name}.md", markdown(scores).encode("utf-8")))
        if scores.predictions:
            written.append(write_file(directory / f"{name}.items.npz", _arrays(scores.predictions)))
        elif scores.suite.tasks:
            # Those of an earlier evaluation would be taken for this one's.
            (directory / f"{name}.items.npz").unlink(missing_ok=True)
    return written


def _arrays(predictions: Mapping[str, Predictions]) -> bytes:
    import numpy as np

    arrays: dict[str, Any] = {}
    for name, found in predictions.items():
        arrays[f"{name}/gold"] = np.asarray(found.gold, dtype=np.float64)
        arrays[f"{name}/predicted"] = np.asarray(found.predicted, dtype=np.float64)
        arrays[f"{name}/statistic"] = np.array(found.statistic)
    stream = BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def write_json(path: Path, values: Mapping[str, Any]) -> Path:
    """Write values as JSON as `write_file` does; return the path."""
    return write_file(path, (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))


def write_file(path: Path, content: bytes) -> Path:
    """Write a file beside its place, then put it there: a reader finds the old one or the new one, whole.

    Raises:
        TwinviewsError: It cannot be written there.
    """
    try:
        with whole_file(path) as stream:
            stream.write(content)
    except OSError as error:
        raise TwinviewsError(f"cannot write {path} ({error.strerror}): give another place with --out") from None
    return path
