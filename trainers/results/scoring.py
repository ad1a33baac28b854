"""What the runs of a study are compared by: their scores on the benchmarks, or else what their trainings logged."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pipelines.console import InputError, note
from trainers.results.records import Record, StoredSet, StoredSuite, load, records_of
from trainers.training.directory import RECIPE

if TYPE_CHECKING:
    from trainers.evaluation.suite import Suite

SUITE = "sts"
TRAINING = "training"
LOG = "log.jsonl"

Precision = Literal["fp32", "bf16"]
"""The number format of the forward passes of an evaluation."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The benchmarks that every run is scored on, read once."""

    data: str
    precision: Precision
    suite: Suite


def find_scoring(data: str | None, precision: Precision | None, *, baseline: bool) -> Scoring | None:
    """Read the benchmarks in `data` (a folder, or `hf:ORGANISATION`), or in the environment's; None without data.

    Raises:
        InputError: None of them is there, a file cannot be read, or a baseline would have none.
    """
    from trainers.evaluation.cli import DATA_VARIABLE
    from trainers.evaluation.suite import find_suites

    data = data or os.environ.get(DATA_VARIABLE)
    if baseline and not data:
        raise InputError(f"--baseline needs benchmarks to score on: give --data DIR, or set {DATA_VARIABLE}")
    return Scoring(data, precision or "fp32", find_suites([SUITE], data)[0]) if data else None


def score(model: str, directory: Path, scoring: Scoring, pooling: str | None = None, *, anew: bool = False) -> None:
    """Write a model's scores into `directory` as `train evaluate` does, unless they are there already.

    Stored scores are kept only for the same vectors (weights, configuration, settings, versions) and the same items.

    Args:
        model: A directory, a Hub name or `starter`.
        directory: Folder of the results; made if it is not there.
        scoring: The benchmarks.
        pooling: Pool like this instead of what the model says.
        anew: Evaluate even if scores are stored.
    """
    from trainers.embedding.model import load_model as load_encoder
    from trainers.evaluation.record import write
    from trainers.evaluation.suite import evaluate_suites

    encoder = load_encoder(model, pooling=cast(Any, pooling), precision=scoring.precision)
    path = directory / f"{SUITE}.json"
    if path.exists() and not anew:
        if _is_of(path, encoder.fingerprint(), scoring.suite):
            return
        note(f"{path} is damaged, or of other weights, settings or items: evaluated anew")
    settings = {"data": scoring.data, "pooling": pooling, "precision": scoring.precision, "device": encoder.device}
    evaluation = evaluate_suites(encoder, [scoring.suite], trained=encoder.directory, settings=settings)
    directory.mkdir(parents=True, exist_ok=True)
    write(directory, evaluation)


def _is_of(path: Path, fingerprint: str | None, suite: Suite) -> bool:
    """Whether a file has the scores of this encoder on these items."""
    try:
        stored = load(StoredSuite, path)
    except InputError:
        return False
    items = {name: each.sha256 for name, each in stored.sets.items()}
    encoder = None if stored.adaptation else stored.model.get("fingerprint")
    return (
        encoder is not None and encoder == fingerprint and items == {task.name: task.sha256() for task in suite.tasks}
    )


def training_records(run: Path, seed: str) -> list[Record]:
    """Return what a finished run's log says last of its loss and spread, and the dev score of the weights it kept."""
    try:
        lines = [json.loads(line) for line in (run / LOG).read_text(encoding="utf-8").splitlines()]
        keep = json.loads((run / RECIPE).read_text(encoding="utf-8")).get("keep")
    except (FileNotFoundError, ValueError):
        return []
    figures = {key: entry[key] for entry in lines for key in ("loss", "spread") if key in entry}
    # At step 0 it is the untrained encoder's.
    dev = [entry["dev"] for entry in lines if "dev" in entry and entry.get("step") != 0]
    if dev:
        figures["dev"] = max(dev) if keep == "best" else dev[-1]
    sets = {key: StoredSet(title="", size=0, counted=False, sha256="", figures={key: figures[key]}) for key in figures}
    return records_of(StoredSuite(suite=TRAINING, model={}, settings={}, sets=sets), run, seed)
