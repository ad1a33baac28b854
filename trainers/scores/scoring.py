"""Run suites: find their sets, encode every distinct text of all of them once, score every set."""

import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from pipelines.base.console import InputError, note, progress
from trainers.encoders.functions import Encoder, open_encoder
from trainers.encoders.two_sides import TwoEncoders
from trainers.encoders.vectors import TextEncoder, Vectors
from trainers.scores.pairs import METRICS, average, read_pairs
from trainers.scores.provenance import Leaks, find_leaks
from trainers.scores.result_files import load, write
from trainers.scores.suites import SMOKE_TEST, SUITES, expanded, load_suite
from trainers.scores.task import SEED, Metrics, Missing, Result, Scores, Suite, Task, distinct_texts
from trainers.settings import Pooling

PACKAGES = ("twinviews", "torch", "transformers", "sentence-transformers", "datasets", "numpy", "scikit-learn")


def find_suites(names: Sequence[str], data: str | None) -> list[Suite]:
    """Find suites by name, or `all`, in a folder.

    Raises InputError if one is unknown, malformed, or none is there.
    """
    names = expanded(names)
    if names != [SMOKE_TEST]:
        if not data:
            raise InputError(f"{', '.join(names)} needs data: give --data DIR, or TWINVIEWS_DATA=DIR")
        if not Path(data).expanduser().is_dir():
            raise InputError(f"no data folder {data!r}: give a folder that exists")
    suites = []
    for name in names:
        module = load_suite(name)
        benchmarks = getattr(module, "BENCHMARKS", ())
        with SUITES.errors_of(name):
            pairs = (read_pairs(benchmark, data or "") for benchmark in benchmarks)
            items = list(module.find(data or "") if hasattr(module, "find") else pairs)
        tasks = tuple(item for item in items if isinstance(item, Task))
        missing = tuple(item for item in items if isinstance(item, Missing))
        metrics = tuple(getattr(module, "METRICS", METRICS))
        counted = getattr(module, "COUNTED", sum(benchmark.counted for benchmark in benchmarks))
        suites.append(Suite(name, metrics, counted, tasks, missing))
    if not any(suite.tasks for suite in suites):
        first = next((f"; the first is {item}" for suite in suites for item in suite.missing), "")
        raise InputError(
            f"no set of {', '.join(names)} is in {data}{first}; data_cards/ says where to get them"
        )
    return suites


def opened(
    encoder: Encoder,
    documents: "Encoder | None" = None,
    *,
    pooling: Pooling | None = None,
    max_tokens: int | None = None,
    **running: Any,  # noqa: ANN401 - as `load_model` has them
) -> TextEncoder:
    """Return an encoder, beside that of documents if there is one."""
    texts = open_encoder(encoder, pooling=pooling, max_tokens=max_tokens, **running)
    return texts if documents is None else TwoEncoders(texts, open_encoder(documents, **running))


def evaluate_suites(
    encoder: TextEncoder, suites: Sequence[Suite], *, seed: int = SEED, settings: Mapping[str, object] = {}
) -> list[Scores]:
    """Encode the distinct texts of all suites once and score every set; `seed` decides folds and draws.

    Two encoders score only the sets that have two sides. Raises InputError if there is none.
    """
    if not 0 <= seed < 2**32:
        raise InputError(f"the seed {seed} is not between 0 and 2**32 - 1: give another")
    if isinstance(encoder, TwoEncoders):
        suites = [_two_sided(suite) for suite in suites]
    vectors = _encode(encoder, [task for suite in suites for task in suite.tasks])
    trained = getattr(encoder, "directory", None)
    tasks = {suite.name: suite.tasks for suite in suites}
    leaks, dev_leaks, remarks = find_leaks(trained, tasks) if trained else ({}, {}, [])
    common = {
        "encoder": encoder.title,
        "model": {**encoder.card(), "dimension": vectors.matrix.shape[1]},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "settings": dict(settings),
        "seed": seed,
        "remarks": remarks,
    }
    scores = []
    with progress("scoring", sum(map(len, tasks.values())), unit="sets") as advance:
        for suite in suites:
            results: dict[str, Result] = {}
            for task in suite.tasks:
                with SUITES.errors_of(suite.name):
                    results[task.name] = task.score(vectors, seed)
                advance(1)
            values = _values(suite, results, leaks, dev_leaks, suite.baseline(seed)) | common
            predictions = {name: result.predictions for name, result in results.items() if result.predictions}
            scores.append(Scores(suite, values, predictions))
    return scores


def _encode(encoder: TextEncoder, tasks: Sequence[Task]) -> Vectors:
    """Return the vectors of all texts of the tasks."""
    if not isinstance(encoder, TwoEncoders):
        texts = distinct_texts(tasks)
        with progress(f"encoding with {encoder.name}", len(texts), unit="texts") as advance:
            return Vectors.encode(encoder, texts, advance)
    sides = [task.sides for task in tasks if task.sides]
    queries, documents = (list(dict.fromkeys(chain.from_iterable(side))) for side in zip(*sides, strict=True))
    total = len(queries) + len(documents)
    with progress(
        f"encoding with {encoder.name} and {encoder.documents.name}", total, unit="texts"
    ) as advance:
        return encoder.vectors(queries, documents, advance)


def _two_sided(suite: Suite) -> Suite:
    """Return a suite's sets of two sides; raises InputError if it has none."""
    tasks = tuple(task for task in suite.tasks if task.sides)
    if not tasks:
        problem = f"{suite.name} has no queries and documents, and no pairs of two languages"
        raise InputError(f"{problem}: two encoders cannot share it; leave out --documents-encoder")
    return suite._replace(tasks=tasks)


def score_into(
    encoder: TextEncoder,
    suite: Suite,
    folder: Path,
    *,
    seed: int = SEED,
    settings: Mapping[str, object] = {},
) -> Path:
    """Score an encoder on a suite into a folder, unless the same vectors, items and seed were.

    Return their file.
    """
    file = folder / f"{suite.name}.json"
    if file.exists():
        with suppress(InputError):
            stored = load(file)
            checksums = {name: item.sha256 for name, item in stored.sets.items()}
            scored = stored.model, stored.versions, stored.seed, checksums
            asked = encoder.card(), _versions(), seed, {task.name: task.sha256() for task in suite.tasks}
            if encoder.revision and _unnamed(*scored) == _unnamed(*asked):
                return file
        note(f"{file} is damaged, or of other weights, settings or items: it is replaced")
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, evaluate_suites(encoder, [suite], seed=seed, settings=settings))
    return file


def _versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def _unnamed(card: Mapping[str, Any], *others: object) -> tuple[object, ...]:
    """What decides figures; an encoder has several names, and its dimension follows from the rest."""
    return {key: value for key, value in card.items() if key not in ("name", "dimension")}, *others


def _values(
    suite: Suite,
    results: Mapping[str, Result],
    leaks: Leaks,
    dev_leaks: Leaks,
    baseline: Metrics,
) -> dict[str, Any]:
    """Return a suite's results as JSON values; the average has each metric that all counted sets have."""
    sets = {}
    for task in suite.tasks:
        result, key = results[task.name], (suite.name, task.name)
        dev, total = dev_leaks.get(key, (0, 0))
        texts, total = leaks.get(key, (0, total))
        fields = ("title", "size", "source", "note", "counted")
        sets[task.name] = {name: getattr(task, name) for name in fields} | {
            "sha256": task.sha256(),
            "figures": dict(result.metrics),
            "parts": {name: dict(part) for name, part in result.parts.items()},
            "seen_in_training": {"texts": texts, "of": total, "dev": dev} if total else None,
            "baseline": baseline.get(task.name),
        }
    counted = [results[task.name].metrics for task in suite.tasks if task.counted and suite.expected]
    shared = [name for name in (counted[0] if counted else ()) if all(name in figures for figures in counted)]
    averages = {name: average([figures[name] for figures in counted]) for name in shared}
    missing = [dict(zip(("set", "title", "reason", "where"), item, strict=True)) for item in suite.missing]
    return {
        "suite": suite.name,
        "complete": len(counted) == suite.expected,
        "average": {"sets": len(counted), "of": suite.expected, "figures": averages},
        "sets": sets,
        "missing": missing,
    }
