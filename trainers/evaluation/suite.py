"""Run suites: find their sets, encode every distinct text of all of them once, score every set."""

import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipelines.console import InputError, progress
from trainers.embedding.vectors import TextEncoder, Vectors
from trainers.evaluation.leakage import Leakage, find_leaks
from trainers.evaluation.metrics import average
from trainers.evaluation.pairs import read_all
from trainers.evaluation.suites import SMOKE_TEST, expanded, load_suite
from trainers.evaluation.task import HUB, SEED, Missing, Result, Scores, Suite, Task

PACKAGES = ("twinviews", "torch", "transformers", "sentence-transformers", "datasets", "numpy", "scikit-learn")


def find_suites(names: Sequence[str], data: str | None) -> list[Suite]:
    """Find suites in a folder, or on the Hub if `data` is `hf:ORGANISATION`; `all` names all but the smoke test.

    Raises InputError: nothing at all is there, a count is wrong, a file is malformed, or there is no such suite or
    folder.
    """
    chosen = expanded(names)
    if chosen != [SMOKE_TEST]:
        if not data:
            raise InputError(f"{', '.join(chosen)} needs data: give --data DIR, --data hf:mteb, or TWINVIEWS_DATA=DIR")
        if not data.startswith(HUB) and not Path(data).expanduser().is_dir():
            raise InputError(f"no data folder {data!r}: give a folder that exists, or hf:mteb")
    suites = []
    for name in chosen:
        module = load_suite(name)
        read = module.find(data or "") if hasattr(module, "find") else read_all(module.BENCHMARKS, data or "")
        tasks = tuple(item for item in read if isinstance(item, Task))
        missing = tuple(item for item in read if isinstance(item, Missing))
        title = module.__doc__.splitlines()[0]
        suites.append(Suite(name, title, tuple(module.METRICS), module.COUNTED, tasks, missing))
    if not any(suite.tasks for suite in suites):
        first = next((f"; the first is {item}" for suite in suites for item in suite.missing), "")
        raise InputError(f"no set of {', '.join(chosen)} is in {data}{first}; data_cards/ says where to get them")
    return suites


def evaluate_suites(
    encoder: TextEncoder, suites: Sequence[Suite], *, seed: int = SEED, trained: Path | None = None,
    settings: Mapping[str, object] | None = None,
) -> list[Scores]:  # fmt: skip
    """Encode the distinct texts of all suites once and score every set.

    `seed` decides folds and draws; `trained` is the model's directory, whose recipe names its training text; `settings`
    are recorded. Raises as `check` in `trainers.embedding.vectors` does.
    """
    texts = distinct_texts(task for suite in suites for task in suite.tasks)
    start = time.perf_counter()
    with progress(f"encoding with {encoder.name}", len(texts), unit="texts") as advance:
        vectors = Vectors.encode(encoder, texts, advance)
    spent, known = round(time.perf_counter() - start, 2), getattr(encoder, "found", 0)
    leaks = find_leaks(trained, {suite.name: suite.tasks for suite in suites}) if trained is not None else None
    common = {
        "encoder": encoder.title,
        "model": encoder.card(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        "settings": dict(settings or {}),
        "seed": seed,
        "remarks": list(leaks.notes) if leaks else [],
    }
    seconds = {"encode": spent, "encoded_texts": len(texts) - known, "cached_texts": known}
    scores = []
    with progress("scoring", sum(len(suite.tasks) for suite in suites), unit="sets") as advance:
        for suite in suites:
            start = time.perf_counter()
            results: dict[str, Result] = {}
            for task in suite.tasks:
                results[task.name] = task.score(vectors, seed)
                advance(1)
            predictions = {name: each.predictions for name, each in results.items() if each.predictions}
            times = {"seconds": seconds | {"score": round(time.perf_counter() - start, 2)}}
            scores.append(Scores(suite, _values(suite, results, leaks) | common | times, predictions))
    return scores


def _values(suite: Suite, results: Mapping[str, Result], leaks: Leakage | None) -> dict[str, Any]:
    """Return a suite's results as JSON values; the average has each metric that all counted sets have."""
    sets = {}
    for task in suite.tasks:
        seen = leaks.counts.get((suite.name, task.name)) if leaks else None
        known = ("title", "size", "source", "files", "note", "counted")
        sets[task.name] = {name: getattr(task, name) for name in known} | {
            "sha256": task.sha256(),
            "figures": dict(results[task.name].metrics),
            "parts": {name: dict(part) for name, part in results[task.name].parts.items()},
            "seen_in_training": {"texts": seen[0], "of": seen[1]} if seen else None,
        }
    counted = [results[task.name].metrics for task in suite.tasks if task.counted and suite.expected]
    shared = [name for name in (counted[0] if counted else ()) if all(name in figures for figures in counted)]
    averages = {name: average([figures[name] for figures in counted]) for name in shared}
    return {
        "suite": suite.name,
        "title": suite.title,
        "complete": len(counted) == suite.expected,
        "distinct_texts": len(distinct_texts(suite.tasks)),
        "average": {"sets": len(counted), "of": suite.expected, "figures": averages},
        "sets": sets,
        "missing": [dict(zip(("set", "title", "reason", "where"), item, strict=True)) for item in suite.missing],
    }


def distinct_texts(tasks: Iterable[Task]) -> list[str]:
    """Return the distinct texts of all sets in order of first appearance."""
    return list(dict.fromkeys(text for task in tasks for text in task.texts))
