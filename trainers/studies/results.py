"""What came of a study's runs, as values and as JSON; means and deviations over the seeds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainers.studies.cells import Axis, Cell
from trainers.studies.scores import Figures, Metric


@dataclass(frozen=True, slots=True)
class Run:
    """One training: its figures, or the reason why it has none."""

    seed: int
    directory: Path
    figures: Figures = field(default_factory=dict)
    seconds: float | None = None
    """Of the training, if it was done in one go."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A metric over the seeds of a cell: mean and standard deviation (n - 1; None with one value) of `count` values."""

    mean: float
    deviation: float | None
    count: int


@dataclass(frozen=True, slots=True)
class CellResult:
    """A cell and its runs so far, one a seed."""

    cell: Cell
    runs: tuple[Run, ...]

    def summary(self, metric: str) -> Summary | None:
        """Return the metric over the seeds that have it; None where none has."""
        return summarise([run.figures.get(metric) for run in self.runs if run.error is None])


@dataclass(frozen=True, slots=True)
class Baseline:
    """An encoder before any training, pooled as the trainings pool."""

    name: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Results:
    """A study, as far as it has come."""

    objective: str
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    metrics: tuple[Metric, ...]
    cells: tuple[CellResult, ...]
    baselines: tuple[Baseline, ...]

    @property
    def failed(self) -> list[tuple[Cell, Run]]:
        """All runs that came to nothing, with their cells."""
        return [(result.cell, run) for result in self.cells for run in result.runs if run.error is not None]


def summarise(values: Sequence[float | None]) -> Summary | None:
    """Return mean and standard deviation of the values that there are, None without any."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Summary(statistics.mean(known), statistics.stdev(known) if len(known) > 1 else None, len(known))


def payload(results: Results, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything as JSON values, unrounded; `extra` says how it was made."""
    return {
        "objective": results.objective,
        **extra,
        "over": {axis.name: list(axis.labels) for axis in results.axes},
        "seeds": list(results.seeds),
        "metrics": {metric.key: metric.title for metric in results.metrics},
        "untrained": {baseline.name: dict(baseline.figures) for baseline in results.baselines},
        "cells": [_cell(result, results.metrics) for result in results.cells],
    }


def _cell(result: CellResult, metrics: Sequence[Metric]) -> dict[str, Any]:
    summaries = {metric.key: result.summary(metric.key) for metric in metrics}
    known = {key: summary for key, summary in summaries.items() if summary is not None}
    return {
        "settings": dict(result.cell.labels),
        "mean": {key: summary.mean for key, summary in known.items()},
        "deviation": {key: summary.deviation for key, summary in known.items()},
        "runs": [
            {
                "seed": run.seed,
                "directory": run.directory.as_posix(),
                "figures": dict(run.figures),
                "seconds": run.seconds,
                "error": run.error,
            }
            for run in result.runs
        ],
    }
