"""A study: an objective trained with several settings and seeds, a folder for each run, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.options import settings_of
from trainers.results.axes import Axis, Setting
from trainers.results.records import group
from trainers.results.scoring import TRAINING_METRICS, Figures, Metric, Scoring, score_metrics
from trainers.results.table import Figure, mean
from trainers.settings import Training, resolve

if TYPE_CHECKING:
    from trainers.catalogue import ObjectiveModule


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One training: its figures, or the reason why it has none. Without a setting, an encoder before any training.

    `seconds`: of the training, if it was done in one go.
    """

    title: str
    setting: Setting | None = None
    seed: int = 0
    directory: Path = Path()
    figures: Figures = field(default_factory=dict)
    seconds: float | None = None
    error: str | None = None

    def json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "seed": self.seed,
            "directory": self.directory.as_posix(),
            "figures": dict(self.figures),
            "seconds": self.seconds,
            "error": self.error,
        }


@dataclass(slots=True)
class Study:
    """What a user asked for: an objective's options, what to vary, and how to score; and what has come of it so far.

    `values` are the options by key as they hold for all settings; `file` is the name of the results, without a suffix.
    """

    objective: str
    module: ObjectiveModule
    values: Mapping[str, Any]
    axes: Sequence[Axis]
    settings: Sequence[Setting]
    seeds: Sequence[int]
    out: Path
    file: str
    scoring: Scoring | None
    baseline: bool
    untrained: list[Trial] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What the runs can be compared by."""
        return score_metrics(self.scoring) if self.scoring is not None else TRAINING_METRICS

    @property
    def results(self) -> Path:
        """The file of the results."""
        return self.out / f"{self.file}.json"

    def options(self, setting: Setting, seed: int) -> dict[str, Any]:
        """Return the options of one run."""
        return {**self.values, **setting.values, "seed": seed, "out": self.out / setting.folder / f"seed-{seed}"}

    def training(self, options: Mapping[str, Any]) -> Training:
        """Return the training settings of one run, its preset's beneath what was given."""
        given = settings_of(self.module, options)
        return resolve(self.module.PRESETS, self.module.PARAMS, options["preset"], given)[1]

    def runs(self) -> Iterator[tuple[Setting, int, dict[str, Any]]]:
        """Yield every setting under every seed with its options, all seeds of a setting together."""
        for setting in self.settings:
            for seed in self.seeds:
                yield setting, seed, self.options(setting, seed)

    def by_setting(self) -> dict[Setting, list[Trial]]:
        """Return the trials so far, all seeds of a setting together."""
        return group((trial.setting, trial) for trial in self.trials if trial.setting is not None)

    def json(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything as JSON values, unrounded; `extra` says how it was made."""
        return {
            "objective": self.objective,
            **extra,
            "over": {axis.name: list(axis.labels) for axis in self.axes},
            "seeds": list(self.seeds),
            "metrics": {metric.key: metric.title for metric in self.metrics},
            "untrained": {trial.title: dict(trial.figures) for trial in self.untrained},
            "cells": [self._cell(setting, trials) for setting, trials in self.by_setting().items()],
        }

    def _cell(self, setting: Setting, trials: Sequence[Trial]) -> dict[str, Any]:
        means = {metric.key: figure for metric in self.metrics if (figure := summary(trials, metric)) is not None}
        return {
            "settings": dict(setting.labels),
            "mean": {key: figure.value for key, figure in means.items()},
            "deviation": {key: figure.deviation for key, figure in means.items()},
            "runs": [trial.json() for trial in trials],
        }


def summary(trials: Sequence[Trial], metric: Metric) -> Figure | None:
    """Return a metric over the trials that have it; None where none has."""
    return mean((trial.figures.get(metric.key) for trial in trials if trial.error is None), metric.digits)
