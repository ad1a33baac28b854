"""An evaluation as files: JSON with everything that is needed to repeat it, a page, and what every item gave."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import numpy as np

from pipelines.console import TwinviewsError
from trainers.evaluation import report
from trainers.evaluation.files import whole_file
from trainers.evaluation.suite import Evaluation, SetScores, SuiteScores

PACKAGES = ("twinviews", "torch", "transformers", "sentence-transformers", "datasets", "numpy", "scikit-learn")
ITEMS = "items.npz"


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
    `<set>/statistic` (see `task.Items`); `all.md` where there are several suites. Each is whole or not there at all.
    """
    written = []
    for scores, values in zip(evaluation.suites, payloads, strict=True):
        if not scores.sets:
            continue
        stem = directory / scores.suite.name
        written.append(_replace(stem.with_suffix(".json"), json.dumps(values, indent=2, ensure_ascii=False) + "\n"))
        written.append(_replace(stem.with_suffix(".md"), report.markdown(evaluation, scores, values)))
        written += _write_items(directory / f"{scores.suite.name}.{ITEMS}", scores)
    if len(payloads) > 1:
        written.append(_replace(directory / "all.md", report.summary_page(evaluation, payloads[0])))
    return written


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
    """Return the versions of Python and of the packages that the figures depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


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
        "figures": dict(item.result.figures),
        "parts": {name: dict(part) for name, part in item.result.parts.items()},
        "seen_in_training": None if item.seen is None else {"texts": item.seen, "of": item.texts},
    }


def _write_items(path: Path, scores: SuiteScores) -> list[Path]:
    arrays: dict[str, Any] = {}
    for item in scores.sets:
        items = item.result.items
        if items is not None:
            arrays[f"{item.task.name}/gold"] = np.asarray(items.gold, dtype=np.float64)
            arrays[f"{item.task.name}/predicted"] = np.asarray(items.predicted, dtype=np.float64)
            arrays[f"{item.task.name}/statistic"] = np.array(items.statistic)
    if not arrays:
        # Those of an earlier evaluation would be taken for this one's.
        path.unlink(missing_ok=True)
        return []
    return [replace(path, lambda stream: np.savez(stream, allow_pickle=False, **arrays))]


def _replace(path: Path, text: str) -> Path:
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
