"""`train OBJECTIVE --seeds N`: the same training under several seeds, with means and deviations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import InputError
from trainers.studies.command import conduct, scoring_of
from trainers.studies.study import Study
from trainers.studies.table import seeds_tables

if TYPE_CHECKING:
    from trainers.catalogue import ObjectiveModule
    from trainers.studies.scores import Precision


def train_seeds(
    name: str,
    module: ObjectiveModule,
    values: Mapping[str, Any],
    *,
    seeds: int,
    data: str | None,
    baseline: bool,
    eval_precision: Precision | None,
) -> None:
    """Train seeds `values["seed"]` and following, score them, print the table and write `seeds.json` and `seeds.md`.

    Args:
        name: The objective.
        module: Its module.
        values: Its options by key.
        seeds: How many.
        data: The benchmarks; None takes the environment's, if any.
        baseline: Score the encoder before training too.
        eval_precision: Number format of the scoring; None is fp32.

    Raises:
        InputError: Options or data that cannot be used.
        TwinviewsError: A run failed; the others are done.
    """
    if values["resume"]:
        raise InputError("--resume is for a single run: several seeds are resumed anyway, leave it out")
    out = values["out"] or Path("runs", name)
    first = values["seed"]
    study = Study(
        objective=name,
        module=module,
        values=values,
        axes=(),
        seeds=tuple(range(first, first + seeds)),
        out=out,
        file="seeds",
        scoring=scoring_of(data, eval_precision, baseline=baseline),
        baseline=baseline,
    )
    conduct(study, seeds_tables)
