"""What the runs of a study are compared by: their scores on the benchmarks, or else what their trainings logged."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pipelines.console import note
from trainers.training.directory import RECIPE

if TYPE_CHECKING:
    from trainers.evaluation.suite import Suite

SUITE = "sts"
LOG = "log.jsonl"
AVERAGE = "average"
HEADLINE = ("stsb-dev", "stsb", AVERAGE)
"""What the papers' tables of settings report; the other sets stand in the page beside the table."""

Precision = Literal["fp32", "bf16"]
"""The number format of the forward passes of an evaluation."""

Figures = Mapping[str, float | None]
"""A run's figures by metric; None where there is none (a constant cosine has no correlation)."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of every run: its key in the results, its name in tables, its decimals there."""

    key: str
    title: str
    digits: int = 2

    @property
    def headline(self) -> bool:
        """Whether it stands in the small tables; figures of the training always do."""
        return self.digits > 2 or self.key in HEADLINE


@dataclass(frozen=True, slots=True)
class Scoring:
    """The benchmarks that every run is scored on, read once."""

    data: str
    precision: Precision
    suite: Suite


def find_scoring(data: str, precision: Precision) -> Scoring:
    """Read the benchmarks in `data` (a folder, or `hf:ORGANISATION`).

    Raises:
        InputError: None of them is there, or one of their files cannot be read.
    """
    from trainers.evaluation.suite import find_suites

    (suite,) = find_suites([SUITE], data)
    return Scoring(data, precision, suite)


def score(
    model: str, directory: Path, scoring: Scoring, pooling: str | None = None, *, anew: bool = False
) -> Mapping[str, Any]:
    """Return a model's scores as `train evaluate` writes them into `directory`; evaluates it if they are not there yet.

    Stored scores are reused only for the same vectors (weights, configuration, settings, versions) and the same items.

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
    found = None if anew or not path.exists() else _stored(path, encoder.fingerprint(), scoring.suite)
    if found is not None:
        return found
    settings = {"data": scoring.data, "pooling": pooling, "precision": scoring.precision, "device": encoder.device}
    evaluation = evaluate_suites(encoder, [scoring.suite], trained=encoder.directory, settings=settings)
    directory.mkdir(parents=True, exist_ok=True)
    write(directory, evaluation)
    return evaluation[0].values


def _stored(path: Path, fingerprint: str | None, suite: Suite) -> dict[str, Any] | None:
    """Return stored scores of this encoder on these items; None and a note if they belong to others or are damaged."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        of = found["model"].get("fingerprint"), found["adaptation"]
        items = {name: item["sha256"] for name, item in found["sets"].items()}
        for value in score_figures(found).values():
            if value is not None and not math.isfinite(value):
                raise ValueError(value)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        note(f"{path} is damaged: evaluated anew")
        return None
    same_items = items == {task.name: task.sha256() for task in suite.tasks}
    if fingerprint is not None and of == (fingerprint, None) and same_items:
        return found
    note(f"{path} is of {'other weights or settings' if same_items else 'other items'}: evaluated anew")
    return None


def score_figures(values: Mapping[str, Any]) -> dict[str, float | None]:
    """Return Spearman x 100, aggregation `all`, of every set and of their average."""
    figures = {name: item["figures"]["all"] for name, item in values["sets"].items()}
    return {**figures, AVERAGE: values["average"]["figures"].get("all")}


def score_metrics(scoring: Scoring) -> tuple[Metric, ...]:
    """Return the metrics of an evaluation in the papers' order: the sets that are averaged, the average, the others."""
    counted = [task for task in scoring.suite.tasks if task.counted]
    others = [task for task in scoring.suite.tasks if not task.counted]
    expected = scoring.suite.expected
    kind = f"average of {expected}" if len(counted) == expected else f"average ({len(counted)} of {expected} sets)"
    return (
        *(Metric(task.name, task.title) for task in counted),
        *([Metric(AVERAGE, kind)] if len(counted) > 1 else []),
        *(Metric(task.name, task.title) for task in others),
    )


TRAINING_METRICS = (Metric("loss", "loss", 4), Metric("spread", "spread", 3), Metric("dev", "dev score"))


def training_figures(run: Path) -> dict[str, float | None]:
    """Return what a finished run's log says of `TRAINING_METRICS`: the last values, and the dev score that was kept."""
    try:
        lines = [json.loads(line) for line in (run / LOG).read_text(encoding="utf-8").splitlines()]
        keep = json.loads((run / RECIPE).read_text(encoding="utf-8")).get("keep")
    except (FileNotFoundError, ValueError):
        return {}
    figures: dict[str, float | None] = {}
    for entry in lines:
        figures.update({metric.key: entry[metric.key] for metric in TRAINING_METRICS if metric.key in entry})
    # At step 0 it is the untrained encoder's.
    dev = [entry["dev"] for entry in lines if "dev" in entry and entry.get("step") != 0]
    if dev:
        figures["dev"] = max(dev) if keep == "best" else dev[-1]
    return figures
