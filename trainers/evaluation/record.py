"""Scores as tables, signatures and files: JSON with all that is needed to repeat them, a page, every prediction."""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pipelines.console import InputError
from trainers.evaluation.suites import SMOKE_TEST
from trainers.evaluation.table import DECIMALS, Table, markdown, noted
from trainers.evaluation.task import MARK, Scores
from trainers.files import whole_file

SEEN = "seen in training"
DIGITS = 12  # hex digits of a checksum in a signature


def results_table(scores: Scores) -> Table:
    """Return a suite's table: the counted sets, their average, then the other sets.

    Its columns are set, size, the suite's metrics, and what was seen in training if that is known; its title says what
    was evaluated, and how its vectors were made.
    """
    values, suite = scores.values, scores.suite
    average, sets = values["average"], values["sets"].values()
    known = any(item["seen_in_training"] for item in sets)
    columns = ("set", "size", *suite.metrics, *([SEEN] if known else []))
    counted = [item for item in sets if item["counted"] and average["of"]]

    def row(name: str, items: Sequence[Mapping[str, Any]], scored: Mapping[str, Any]) -> tuple[str, ...]:
        mark = f" {MARK.strip()}" if any((item["note"] or "").startswith(MARK) for item in items) else ""
        shown = [_cell(scored["figures"].get(metric), suite.name) for metric in suite.metrics]
        seen = scored.get("seen_in_training")
        counts = [f"{seen['texts']} of {seen['of']}" if seen else ""] if known else []
        return (name + mark, str(sum(item["size"] for item in items)), *shown, *counts)

    kind = "of {sets}" if values["complete"] else "(INCOMPLETE: {sets} of {of} sets)"
    rows = [row(item["title"], [item], item) for item in counted]
    rows += [row(f"average {kind.format(**average)}", counted, average)] if average["figures"] else []
    rows += [row(item["title"], [item], item) for item in sets if item not in counted]
    smoke = " (smoke test, no benchmark)" if suite.name == SMOKE_TEST else ""
    return Table(f"{suite.name}{smoke}: {values['encoder']}", columns, tuple(rows), columns[1:])


def _cell(value: float | None, suite: str) -> str:
    if value is None or isinstance(value, int):  # a whole number is a count
        return "" if value is None else str(value)
    return f"{value:.{DECIMALS.get(suite, 2)}f}"


def notes(scores: Scores) -> list[str]:
    """Return the notes on a suite's scores: on single copies, undefined metrics, leakage, and missing sets."""
    sets = scores.values["sets"].values()
    remarks: list[tuple[str, str]] = []
    for item in sets:
        remarks += [(item["title"], item["note"])] if item["note"] else []
        metric, value = next(iter(item["figures"].items()))
        remarks += [(item["title"], f"`{metric}` is undefined for this model's vectors")] if value is None else []
    said = list(noted(remarks, len(sets)))
    leaked = [item["title"] for item in sets if item["seen_in_training"] and item["seen_in_training"]["texts"]]
    if leaked:
        said.append(f"the model was trained on texts of {', '.join(leaked)}: see the column `{SEEN}`")
    return said + [f"missing: {item}" for item in scores.suite.missing]


def page(scores: Scores) -> str:
    """Return a suite's results as Markdown: the table with its notes, the parts, and how it was made."""
    table, values = results_table(scores), scores.values
    tables = [replace(table, title="Scores", notes=tuple(notes(scores)))]
    parts = [(item["title"], *part) for item in values["sets"].values() for part in item["parts"].items()]
    if parts:
        metrics = tuple(dict.fromkeys(metric for *_, part in parts for metric in part))
        body = ((*names, *(_cell(part.get(each), scores.suite.name) for each in metrics)) for *names, part in parts)
        tables.append(Table("Parts", ("set", "part", *metrics), tuple(body), metrics))
    versions = ", ".join(f"{name} {number}" for name, number in values["versions"].items())
    return markdown(table.title, [scores.suite.title, "", f"{values['date']}; {versions}"], tables)


def signature(evaluations: Sequence[Mapping[str, Any]], sets: Sequence[str], metrics: Sequence[str]) -> str:
    """Return every setting that decides figures of one suite, in one line that a paper can quote.

    Example: `sts|sets:stsb|metric:all|pooling:mean|tokens:128|precision:fp32|seed:1111|items:0f3c92a1...|...`

    `evaluations` are the suite's results as `train evaluate` stores them, one for each training seed. `sets`, `metrics`
    (for correlations, how subsets were joined) and settings that differ between the evaluations are joined by "+".
    """
    parts = [_settings(stored, [name for name in sets if name in stored["sets"]]) for stored in evaluations]
    line = {"sets": "+".join(sets), "metric": "+".join(metrics)}
    line |= {key: "+".join(dict.fromkeys(each[key] for each in parts if each[key])) for key in parts[0]}
    line["runs"] = str(len(parts)) if len(parts) > 1 else ""
    return "|".join([str(evaluations[0]["suite"]), *(f"{key}:{value}" for key, value in line.items() if value)])


def suite_signature(stored: Mapping[str, Any]) -> str:
    """Return the signature of a suite's average, or of all its sets if it has none."""
    counted = [name for name, each in stored["sets"].items() if each["counted"]]
    sets = counted if len(counted) > 1 else list(stored["sets"])
    metrics = dict.fromkeys(metric for name in sets for metric in list(stored["sets"][name]["figures"])[:1])
    return signature([stored], sets, list(metrics))


def _settings(stored: Mapping[str, Any], sets: Sequence[str]) -> dict[str, str]:
    def joined(digests: Sequence[object]) -> str:
        whole = "".join(map(str, digests))
        return (hashlib.sha256(whole.encode()).hexdigest() if len(digests) > 1 else whole)[:DIGITS]

    model = stored["model"]
    return {
        "pooling": str(model.get("pooling") or ""),
        "tokens": str(model.get("max_tokens") or ""),
        "precision": str(stored["settings"].get("precision") or ""),
        "seed": str(stored.get("seed") or ""),
        "items": joined([stored["sets"][name]["sha256"] for name in sets]),
        "weights": joined(list((model.get("weights") or {}).values())),
        "version": str(stored.get("versions", {}).get("twinviews", "")),
    }


def results_folder(model: str, trained: Path | None, out: Path | None, parts: Sequence[str]) -> Path:
    """Make and return the folder for results: `evaluation/` in the model's directory, or below `runs/`, or `out`.

    `trained` is the model's directory, if it has one; `parts`, the settings that are not the default, name a folder in
    `evaluation/`. Raises InputError: the folder cannot be written.
    """

    def named(text: str) -> str:
        return re.sub(r"[^\w.-]+", "--", text).strip("-.")

    beside = trained if trained and Path(model).expanduser().is_dir() else Path("runs") / named(model)
    folder = out or beside / "evaluation" / "-".join(map(named, parts))
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"cannot write into the folder {str(folder)!r}: give another with --out")
    return folder


def write(directory: Path, evaluation: Sequence[Scores]) -> list[Path]:
    """Write the results of every suite that has sets; return the paths.

    `<suite>.json`, `<suite>.md`, and `<suite>.items.npz` with the arrays `<set>/gold`, `<set>/predicted` and
    `<set>/statistic` (see `task.Predictions`). Each is whole or absent. Raises TwinviewsError: one cannot be written.
    """
    written = []
    for scores in (scores for scores in evaluation if scores.suite.tasks):
        arrays: dict[str, Any] = {
            f"{name}/{part}": np.asarray(value)
            for name, found in scores.predictions.items()
            for part, value in found._asdict().items()
        }
        texts = {"json": json.dumps(scores.values, indent=2, ensure_ascii=False) + "\n", "md": page(scores)}
        # The items of an earlier evaluation do not belong to this one.
        (directory / f"{scores.suite.name}.items.npz").unlink(missing_ok=True)
        for ending in (*texts, *(["items.npz"] if arrays else [])):
            written.append(directory / f"{scores.suite.name}.{ending}")
            with whole_file(written[-1]) as stream:
                if ending in texts:
                    stream.write(texts[ending].encode())
                else:
                    np.savez(stream, allow_pickle=False, **arrays)
    return written
