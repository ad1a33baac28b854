"""`train sweep OBJECTIVE --over KEY=V1,V2`: a training over the values of its options, in the papers' shape."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import InputError
from trainers.studies.cells import read_axes
from trainers.studies.command import conduct, scoring_of
from trainers.studies.study import Study
from trainers.studies.table import sweep_details, sweep_tables

if TYPE_CHECKING:
    from trainers.catalogue import ObjectiveModule
    from trainers.flags import Flag
    from trainers.studies.scores import Precision


def train_sweep(
    name: str,
    module: ObjectiveModule,
    flags: Mapping[str, Flag],
    values: Mapping[str, Any],
    written: Collection[str],
    *,
    over: Sequence[str] | None,
    seeds: int | None,
    data: str | None,
    baseline: bool,
    eval_precision: Precision | None,
) -> None:
    """Train every combination of the values of `over`, print the table, write `sweep.json` and `sweep.md`.

    Args:
        name: The objective.
        module: Its module.
        flags: The options that can be swept over, by key.
        values: All options by key, as they hold where they are not swept over.
        written: Keys of those that stand on the command line.
        over: `KEY=V1,V2,...`, once for each option.
        seeds: How many for each combination; None is one.
        data: The benchmarks; None takes the environment's, if any.
        baseline: Score the encoder before training too.
        eval_precision: Number format of the scoring; None is fp32.

    Raises:
        InputError: Options or data that cannot be used.
        TwinviewsError: A run failed; the others are done.
    """
    if not over:
        raise InputError("nothing to sweep over: give --over KEY=V1,V2, such as --over batch-size=16,32,64")
    axes = read_axes(over, flags)
    for axis in axes:
        if axis.key in written:
            raise InputError(f"--over {axis.name} sweeps over it: leave --{axis.name} out")
    first = values["seed"]
    study = Study(
        objective=name,
        module=module,
        values={**values, **{axis.key: None for axis in axes}},
        axes=axes,
        seeds=tuple(range(first, first + (seeds or 1))),
        out=values["out"] or Path("runs", f"sweep-{name}"),
        file="sweep",
        scoring=scoring_of(data, eval_precision, baseline=baseline),
        baseline=baseline,
    )
    conduct(study, sweep_tables, sweep_details)
