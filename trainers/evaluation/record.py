"""An evaluation as files: JSON with everything that is needed to repeat it, a page, and every item's prediction."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import numpy as np

from pipelines.console import InputError, TwinviewsError, note
from trainers.evaluation import report
from trainers.evaluation.suite import Evaluation, SetScores, SuiteScores
from trainers.files import whole_file

PACKAGES = ("twinviews", "torch", "transformers", "sentence-transformers", "datasets", "numpy", "scikit-learn")
ITEMS = "items.npz"


def results_folder(
    model: str, trained: Path | None, out: Path | None, parts: Sequence[str], suites: Iterable[str],
    settings: Mapping[str, object],
) -> Path:  # fmt: skip
    """Make and return the folder for results: `evaluation/` in the model's directory, below `runs/`, or `out`.

    Another pooling, a whitening or a flow makes another encoder of a model: its scores get a folder of their own in
    `evaluation/`. Results of other settings that are there already are kept; the new ones get a folder in it that is
    named by all settings.

    Args:
        model: As the user named it.
        trained: Its directory, if it has one.
        out: What the user asked for.
        parts: What makes it another encoder, for the folder's name.
        suites: What is evaluated.
        settings: All that distinguishes scores, by the names that they have in the results.

    Raises:
        InputError: The folder cannot be made, or not be written into.
    """
    own = trained is not None and Path(model).expanduser().is_dir()
    beside = trained if own and trained is not None else Path("runs") / _folder_name(model)
    folder = out or beside / "evaluation" / "-".join(map(_folder_name, parts))
    if out:
        settings = {"model": model, **settings}
    for path in (folder / f"{suite}.json" for suite in suites):
        before = _settings(path)
        key = next((key for key in settings if before is not None and before.get(key) != settings[key]), None)
        if before is not None and key is not None:
            given = [f"{name.replace('_', '-')}-{value}" for name, value in settings.items() if value is not None]
            folder /= "-".join(map(_folder_name, given))
            note(f"{path} is kept ({key.replace('_', '-')}: {before.get(key)}, here {settings[key]}): see {folder}")
            break
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {str(folder)!r} ({error.strerror}): give another with --out"
        ) from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write into {str(folder)!r}: give another folder with --out")
    return folder


def _settings(path: Path) -> dict[str, Any] | None:
    """Return what results were made with; None without any, or if they are damaged."""
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return {**values["settings"], "seed": values["seed"], "model": values["model"]["name"]}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        note(f"{path} is damaged: it is written anew")
        return None


def _folder_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "--", text).strip("-.")


def payload(evaluation: Evaluation, scores: SuiteScores) -> dict[str, Any]:
    """Return everything about one suite's evaluation as JSON values; rates and correlations x 100, unrounded."""
    return {
        "suite": scores.suite.name,
        "title": scores.suite.title,
        "complete": scores.complete,
        "model": evaluation.encoder.card(),
        "adaptation": evaluation.adaptation.card() if evaluation.adaptation else None,
        "texts_in_fit": evaluation.shared,
        "settings": dict(evaluation.settings),
        "seed": evaluation.seed,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
        "distinct_texts": scores.distinct_texts,
        "seconds": {
            # All suites' texts are encoded together: what is said is how many and how long.
            "encode": round(evaluation.encode_seconds, 2),
            "encoded_texts": evaluation.distinct_texts - evaluation.cached,
            "cached_texts": evaluation.cached,
            "score": round(scores.seconds, 2),
        },
        "average": {"sets": len(scores.counted), "of": scores.suite.expected, "figures": scores.averages},
        "sets": {item.task.name: _set(item) for item in scores.sets},
        "remarks": list(evaluation.remarks),
        "missing": [
            {"set": item.name, "title": item.title, "reason": item.reason, "where": item.where}
            for item in scores.suite.missing
        ],
    }


def write(directory: Path, evaluation: Evaluation, payloads: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Write every suite that has sets, and a summary of several; return the paths.

    `<suite>.json`, `<suite>.md`, and `<suite>.items.npz` with the arrays `<set>/gold`, `<set>/predicted` and
    `<set>/statistic` (see `task.Predictions`); `all.md` where there are several suites. Each is whole or absent.
    """
    pages: dict[str, str] = {}
    items: dict[Path, SuiteScores] = {}
    for scores, values in zip(evaluation.suites, payloads, strict=True):
        if scores.sets:
            pages[f"{scores.suite.name}.json"] = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
            pages[f"{scores.suite.name}.md"] = report.markdown(evaluation, scores, values)
            items[directory / f"{scores.suite.name}.{ITEMS}"] = scores
    if len(payloads) > 1:
        pages["all.md"] = report.summary_page(evaluation, payloads[0])
    written = [write_text(directory / name, text) for name, text in pages.items()]
    return written + [path for path, scores in items.items() if _write_items(path, scores)]


def machine() -> dict[str, Any]:
    """Return what the evaluation ran on, and the most memory that this process has had, in MB (None if unknown)."""
    try:
        import resource

        # Kilobytes on Linux, bytes on macOS.
        unit = 1024**2 if platform.system() == "Darwin" else 1024
        memory: float | None = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
    except ImportError:  # Windows
        memory = None
    return {
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "peak_memory_mb": memory,
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the metrics depend on."""
    return {"python": platform.python_version()} | {name: package_version(name) for name in PACKAGES}


def package_version(name: str) -> str:
    """Return a package's version, or that it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _set(item: SetScores) -> dict[str, Any]:
    task = item.task
    return {
        "title": task.title,
        "size": task.size,
        "source": task.source,
        "files": dict(task.files),
        "sha256": task.sha256(),
        "note": task.note,
        "counted": task.counted,
        "figures": dict(item.result.metrics),
        "parts": {name: dict(part) for name, part in item.result.parts.items()},
        "seen_in_training": None if item.seen is None else {"texts": item.seen, "of": item.texts},
    }


def _write_items(path: Path, scores: SuiteScores) -> bool:
    """Write what was predicted for every item; whether there is any."""
    arrays: dict[str, Any] = {}
    for name, found in ((item.task.name, item.result.predictions) for item in scores.sets):
        if found is not None:
            arrays[f"{name}/gold"] = np.asarray(found.gold, dtype=np.float64)
            arrays[f"{name}/predicted"] = np.asarray(found.predicted, dtype=np.float64)
            arrays[f"{name}/statistic"] = np.array(found.statistic)
    if arrays:
        replace(path, lambda stream: np.savez(stream, allow_pickle=False, **arrays))
    else:
        # Those of an earlier evaluation would be taken for this one's.
        path.unlink(missing_ok=True)
    return bool(arrays)


def write_text(path: Path, text: str) -> Path:
    """Write a text as `replace` does; return its path."""
    return replace(path, lambda stream: stream.write(text.encode("utf-8")))


def replace(path: Path, write_to: Callable[[IO[bytes]], object]) -> Path:
    """Write a file beside its place, then put it there: a reader finds the old one or the new one, whole.

    Raises:
        TwinviewsError: It cannot be written there.
    """
    try:
        with whole_file(path) as stream:
            write_to(stream)
    except OSError as error:
        raise TwinviewsError(f"cannot write {path} ({error.strerror}): give another place with --out") from None
    return path
