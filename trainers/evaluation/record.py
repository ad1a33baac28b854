"""Scores as tables, signatures and files: JSON with all that is needed to repeat them, a page, every prediction."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipelines.console import InputError, note
from trainers.evaluation.suites import SMOKE_TEST
from trainers.evaluation.table import Table, noted
from trainers.evaluation.task import MARK, Scores
from trainers.files import whole_file

SEEN = "seen in training"
DIGITS = 12
"""Hex digits of a checksum that are printed in a signature."""


def results_table(scores: Scores) -> Table:
    """Return a suite's table: the sets that are averaged, their average, then the other sets.

    Its columns are set, size, the suite's metrics, and what was seen in training where that is known; its title says
    what was evaluated, and how its vectors were made.
    """
    values, suite = scores.values, scores.suite
    average, sets = values["average"], values["sets"].values()
    known = any(item["seen_in_training"] for item in sets)
    columns = ("set", "size", *suite.metrics, *([SEEN] if known else []))
    counted = [item for item in sets if item["counted"] and average["of"]]

    def row(name: str, items: Sequence[Mapping[str, Any]], scored: Mapping[str, Any]) -> tuple[str, ...]:
        mark = f" {MARK.strip()}" if any((item["note"] or "").startswith(MARK) for item in items) else ""
        shown = [_cell(scored["figures"].get(metric), suite.decimals) for metric in suite.metrics]
        seen = scored.get("seen_in_training")
        counts = [f"{seen['texts']} of {seen['of']}" if seen else ""] if known else []
        return (name + mark, str(sum(item["size"] for item in items)), *shown, *counts)

    kind = "of {sets}" if values["complete"] else "(INCOMPLETE: {sets} of {of} sets)"
    rows = [row(item["title"], [item], item) for item in counted]
    rows += [row(f"average {kind.format(**average)}", counted, average)] if average["figures"] else []
    rows += [row(item["title"], [item], item) for item in sets if item not in counted]
    smoke = " (smoke test, no benchmark)" if suite.name == SMOKE_TEST else ""
    return Table(f"{suite.name}{smoke}: {values['encoder']}", columns, tuple(rows), columns[1:])


def notes(scores: Scores) -> list[str]:
    """Return what must be said beside a suite's scores: on single copies, undefined metrics, and what is missing."""
    sets = scores.values["sets"].values()
    remarks: list[tuple[str, str]] = []
    for item in sets:
        remarks += [(item["title"], item["note"])] if item["note"] else []
        metric, value = next(iter(item["figures"].items()))
        remarks += [(item["title"], f"`{metric}` is undefined for this model's vectors")] if value is None else []
    said = list(noted(remarks, len(sets)))
    if scores.values["texts_in_fit"]:
        said.append(f"{scores.values['texts_in_fit']:,} evaluation texts stand in the text that was fitted on")
    leaked = [item["title"] for item in sets if item["seen_in_training"] and item["seen_in_training"]["texts"]]
    if leaked:
        said.append(f"texts of {', '.join(leaked)} stand in the model's training data: see the column `{SEEN}`")
    return said + [f"missing: {item}" for item in scores.suite.missing]


def markdown(scores: Scores) -> str:
    """Return a suite's page: the table, the parts, remarks, and how it was made."""
    table, suite = results_table(scores), scores.suite
    lines = [f"# {table.title}", "", suite.title, "", *table.markdown()]
    sets = scores.values["sets"].values()
    parts = [(item["title"], name, part) for item in sets for name, part in item["parts"].items()]
    if parts:
        metrics = tuple(dict.fromkeys(metric for _, _, part in parts for metric in part))
        body = [(*names, *(_cell(part.get(each), suite.decimals) for each in metrics)) for *names, part in parts]
        lines += ["", "## Parts", "", *Table("", ("set", "part", *metrics), tuple(body), metrics).markdown()]
    versions = ", ".join(f"{name} {number}" for name, number in scores.values["versions"].items())
    lines += ["", *(f"- {remark}" for remark in notes(scores)), f"- {scores.values['date']}; {versions}"]
    return "\n".join(lines) + "\n"


def _cell(value: float | None, decimals: int) -> str:
    """Return a metric as it is printed; a whole number that is a count stays one, and None is empty."""
    if value is None or isinstance(value, int):
        return "" if value is None else str(value)
    return f"{value:.{decimals}f}"


def signature(evaluations: Sequence[Mapping[str, Any]], sets: Sequence[str], metrics: Sequence[str]) -> str:
    """Return every setting that decides figures of one suite, in one line that a paper can quote.

    Example: `sts|sets:stsb|metric:all|pooling:mean|tokens:128|precision:fp32|seed:1111|items:0f3c92a1...|...`

    `evaluations` are the suite's results as `train evaluate` stores them, one for each training seed; what is not the
    same in all of them is joined by "+", as are `sets` and `metrics` (for correlations, how subsets were joined).
    """
    parts = [_settings(stored, [name for name in sets if name in stored["sets"]]) for stored in evaluations]
    line = {"sets": "+".join(sets), "metric": "+".join(metrics)}
    line |= {key: "+".join(dict.fromkeys(each[key] for each in parts if each[key])) for key in parts[0]}
    line["runs"] = str(len(parts)) if len(parts) > 1 else ""
    return "|".join([str(evaluations[0]["suite"]), *(f"{key}:{value}" for key, value in line.items() if value)])


def suite_signature(stored: Mapping[str, Any]) -> str:
    """Return the signature of a suite's average, or of all its sets where it has none."""
    counted = [name for name, each in stored["sets"].items() if each["counted"]]
    sets = counted if len(counted) > 1 else list(stored["sets"])
    metrics = dict.fromkeys(metric for name in sets for metric in list(stored["sets"][name]["figures"])[:1])
    return signature([stored], sets, list(metrics))


def _settings(stored: Mapping[str, Any], sets: Sequence[str]) -> dict[str, str]:
    def joined(digests: Sequence[object]) -> str:
        whole = [str(digest) for digest in digests]
        return (whole[0] if len(whole) == 1 else _sha256("".join(whole)))[:DIGITS] if whole else ""

    def short(value: object) -> str:
        return _sha256(json.dumps(value, sort_keys=True))[:DIGITS] if isinstance(value, Mapping) else str(value)

    model, adaptation = stored["model"], stored.get("adaptation") or {}
    return {
        "pooling": str(model.get("pooling") or ""),
        "tokens": str(model.get("max_tokens") or ""),
        "precision": str(stored["settings"].get("precision") or ""),
        "adaptation": ",".join(f"{key}={short(value)}" for key, value in adaptation.items() if value is not None),
        "seed": str(stored.get("seed") or ""),
        "items": joined([stored["sets"][name]["sha256"] for name in sets]),
        "weights": joined(list((model.get("weights") or {}).values())),
        "version": str(stored.get("versions", {}).get("twinviews", "")),
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def results_folder(
    model: str, trained: Path | None, out: Path | None, parts: Sequence[str], suites: Iterable[str],
    settings: Mapping[str, object],
) -> Path:  # fmt: skip
    """Make and return the folder for results: `evaluation/` in the model's directory, below `runs/`, or `out`.

    Where results of other settings lie already, the new ones get a folder in it that is named by all settings.
    `trained` is the model's directory, if it has one; `parts` (a pooling, a map) make it another encoder, with a folder
    in `evaluation/`; `settings` are all that distinguishes scores, by the names that they have in the results. Raises
    InputError: the folder cannot be made or written into.
    """

    def named(text: str) -> str:
        return re.sub(r"[^\w.-]+", "--", text).strip("-.")

    beside = trained if trained and Path(model).expanduser().is_dir() else Path("runs") / named(model)
    folder = out or beside / "evaluation" / "-".join(map(named, parts))
    settings = {"model": model, **settings} if out else settings
    if any(_other_settings(folder / f"{suite}.json", settings) for suite in suites):
        given = [f"{name.replace('_', '-')}-{value}" for name, value in settings.items() if value is not None]
        kept, folder = folder, folder / "-".join(map(named, given))
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


def write(directory: Path, evaluation: Sequence[Scores]) -> list[Path]:
    """Write every suite that has sets; return the paths.

    `<suite>.json`, `<suite>.md`, and `<suite>.items.npz` with the arrays `<set>/gold`, `<set>/predicted` and
    `<set>/statistic` (see `task.Predictions`). Each is whole or absent. Raises TwinviewsError: one of them cannot be
    written.
    """
    import numpy as np

    written = []
    for scores in (scores for scores in evaluation if scores.suite.tasks):
        arrays: dict[str, Any] = {
            f"{name}/{part}": np.asarray(getattr(found, part))
            for name, found in scores.predictions.items()
            for part in ("gold", "predicted", "statistic")
        }
        texts = {"json": json.dumps(scores.values, indent=2, ensure_ascii=False) + "\n", "md": markdown(scores)}
        for ending in (*texts, *(["items.npz"] if arrays else [])):
            written.append(directory / f"{scores.suite.name}.{ending}")
            with whole_file(written[-1]) as stream:
                if ending in texts:
                    stream.write(texts[ending].encode())
                else:
                    np.savez(stream, allow_pickle=False, **arrays)
        if not arrays:
            # Those of an earlier evaluation would be taken for this one's.
            (directory / f"{scores.suite.name}.items.npz").unlink(missing_ok=True)
    return written
