"""A study: every cell under every seed is one run in a folder of its own; what is finished is not done again."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import InputError, TwinviewsError, note
from trainers.data.kinds import DataOptions, read_examples
from trainers.options import request_of, settings_of
from trainers.processes import is_first, join_processes, of_first, processes
from trainers.settings import Training, resolve
from trainers.studies.cells import Axis, Cell, cells
from trainers.studies.results import Baseline, CellResult, Results, Run, payload
from trainers.studies.scores import (
    TRAINING_METRICS,
    Metric,
    Scoring,
    score,
    score_figures,
    score_metrics,
    training_figures,
)
from trainers.training.directory import DONE, FREE, RECIPE, check_same
from trainers.training.run import run_training

if TYPE_CHECKING:
    from trainers.catalogue import ObjectiveModule

# What may differ between a study and its continuation; its data are told by their names here, not by their content.
NAMED = {field.name for field in fields(DataOptions)} | {"dev"}
OUTSIDE = (FREE - NAMED) | {"seed", "out", "dry_run", "overwrite", "resume"}


@dataclass(frozen=True, slots=True)
class Study:
    """What a user asked for: an objective's options, what to vary, and how to score.

    `values` are the options by key as they hold for all cells; `file` is the name of the results, without a suffix.
    """

    objective: str
    module: ObjectiveModule
    values: Mapping[str, Any]
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    out: Path
    file: str
    scoring: Scoring | None
    baseline: bool

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All settings, the last axis running fastest."""
        return cells(self.axes)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What the runs can be compared by."""
        return score_metrics(self.scoring) if self.scoring is not None else TRAINING_METRICS

    def options(self, cell: Cell, seed: int) -> dict[str, Any]:
        """Return the options of one run."""
        return {**self.values, **cell.values, "seed": seed, "out": self.out / cell.folder / f"seed-{seed}"}

    def training(self, options: Mapping[str, Any]) -> Training:
        """Return the training settings of one run, its preset's beneath what was given."""
        given = settings_of(self.module, options)
        return resolve(self.module.PRESETS, self.module.PARAMS, options["preset"], given)[1]

    def runs(self) -> Iterator[tuple[Cell, int, dict[str, Any]]]:
        """Yield every cell under every seed with its options, all seeds of a cell together."""
        for cell in self.cells:
            for seed in self.seeds:
                yield cell, seed, self.options(cell, seed)


@dataclass(frozen=True, slots=True)
class Planned:
    """One run before it is done."""

    cell: Cell
    seed: int
    directory: Path
    rows: int
    steps: int
    state: str


def plan(study: Study) -> list[Planned]:
    """Check every run's options and data, and count rows and steps; nothing is written.

    Raises:
        InputError: A setting or data that cannot be used, or a folder that belongs to something else.
    """
    from trainers.encoders.location import locate

    _check_folder(study)
    for name in dict.fromkeys(options["encoder"] for _, _, options in study.runs()):
        locate(name)
    counted: dict[str, int] = {}
    planned = []
    for cell, seed, options in study.runs():
        wanted = request_of(study.objective, study.module, options).data
        if repr(wanted) not in counted:
            counted[repr(wanted)] = len(read_examples(wanted, study.module.READS)[0])
        rows = counted[repr(wanted)]
        training = study.training(options)
        steps = training.model_copy(update={"batch_size": min(training.batch_size, rows)}).steps(rows)
        planned.append(Planned(cell, seed, options["out"], rows, steps, _state(options["out"])))
    return planned


def _state(directory: Path) -> str:
    if (directory / DONE).is_file():
        return "finished"
    return "begun" if (directory / RECIPE).is_file() else ""


def _check_folder(study: Study) -> None:
    out = study.out
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file: give --out a directory")
    if (out / RECIPE).is_file():
        raise InputError(f"{out} holds a single run: give another --out, the runs of a study get folders in it")
    path = out / f"{study.file}.json"
    if study.values["overwrite"] or not path.is_file():
        return
    try:
        before = json.loads(path.read_text(encoding="utf-8"))["options"]
    except (ValueError, LookupError, TypeError):
        raise InputError(f"{path} is none of our files: use --overwrite, or give another --out") from None
    check_same(out, before, _shared_options(study), what="other options")


def _shared_options(study: Study) -> dict[str, Any]:
    given = {key: value for key, value in study.values.items() if key not in OUTSIDE and value not in (None, [], ())}
    values: dict[str, Any] = json.loads(json.dumps(given, default=str))
    return values


def run_study(study: Study, save: Callable[[Results], object]) -> Results:
    """Train and score every run that is not done yet; `save` is called with the results after each.

    A run that fails is kept with its reason, and the others go on. What single runs say goes to stderr.

    Where several processes were started together, all of them call this and train every run together; the first one
    scores and saves. A run that fails ends such a study: the processes would no longer be at the same run.

    Raises:
        InputError: A finished run is of other data.
        TwinviewsError: The untrained encoder cannot be scored; or, under several processes, a run failed.
    """
    join_processes()
    baselines = _baselines(study)
    earlier = _earlier_seconds(study)
    done: list[CellResult] = []
    results = Results(study.objective, study.axes, study.seeds, study.metrics, (), baselines)
    if is_first() and (study.values["overwrite"] or not (study.out / f"{study.file}.json").is_file()):
        save(results)
    total = len(study.cells) * len(study.seeds)
    for number, (cell, seed, options) in enumerate(study.runs(), 1):
        if is_first():
            note(f"[{number} of {total}] {cell.run_title(seed)}")
        run = _run(study, seed, options, earlier)
        # Trainer and its callbacks hold each other, and with them the model.
        gc.collect()
        if run.error is not None:
            note(f"failed: {run.error}")
        if done and done[-1].cell == cell:
            done[-1] = replace(done[-1], runs=(*done[-1].runs, run))
        else:
            done.append(CellResult(cell, (run,)))
        results = replace(results, cells=tuple(done))
        if is_first():
            save(results)
    # No process leaves while the first one still scores.
    of_first(None)
    return results


def _run(study: Study, seed: int, options: Mapping[str, Any], earlier: Mapping[str, float | None]) -> Run:
    directory: Path = options["out"]
    state, start = _state(directory), time.perf_counter()
    if options["overwrite"]:
        state = ""
    try:
        with redirect_stdout(sys.stderr):
            run_training(
                request_of(study.objective, study.module, options), study.module, settings_of(study.module, options)
            )
        if not is_first():
            return Run(seed, directory)
        seconds = time.perf_counter() - start if not state else earlier.get(directory.as_posix())
        figures = training_figures(directory)
        if study.scoring is not None:
            values = score(str(directory), directory / "evaluation", study.scoring, anew=options["overwrite"])
            figures.update(score_figures(values))
    except TwinviewsError as error:
        # A finished run that is refused is of other data: the results that are there are not to be replaced by that.
        if processes() > 1 or (state == "finished" and isinstance(error, InputError)):
            raise
        return Run(seed, directory, error=str(error))
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError" or processes() > 1:
            raise
        return Run(seed, directory, error="out of memory: take a smaller --batch-size or --max-tokens")
    return Run(seed, directory, figures, seconds)


def _baselines(study: Study) -> tuple[Baseline, ...]:
    """Score the encoders that the runs start from, each under every pooling that they are trained with."""
    if not study.baseline or study.scoring is None or not is_first():
        return ()
    from trainers.encoders.location import STARTER

    starts: dict[tuple[str, str], None] = {}
    for _, _, options in study.runs():
        encoder = options["encoder"] or STARTER
        starts[encoder, study.training(options).pooling] = None
    found = []
    for encoder, pooling in starts:
        several = [
            label
            for label, kinds in ((encoder, {name for name, _ in starts}), (pooling, {kind for _, kind in starts}))
            if len(kinds) > 1
        ]
        folder = Cell({"untrained": f"{encoder}-{pooling}"}, {}).folder
        values = score(encoder, study.out / folder, study.scoring, pooling, anew=study.values["overwrite"])
        found.append(Baseline(", ".join(["untrained", *several]), score_figures(values)))
    return tuple(found)


def _earlier_seconds(study: Study) -> dict[str, float | None]:
    """How long finished runs took, by their folders."""
    path = study.out / f"{study.file}.json"
    if not path.is_file():
        return {}
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        return {run["directory"]: run["seconds"] for cell in before["cells"] for run in cell["runs"]}
    except (ValueError, LookupError, TypeError):
        return {}


def write_results(study: Study, results: Results, page: str) -> list[Path]:
    """Write the results as JSON and Markdown into the study's folder, each whole or not at all.

    Raises:
        InputError: They cannot be written there.
    """
    extra = {
        "options": _shared_options(study),
        "evaluation": {"data": study.scoring.data, "precision": study.scoring.precision} if study.scoring else None,
    }
    written = []
    for suffix, text in (
        ("json", json.dumps(payload(results, extra), indent=2, ensure_ascii=False) + "\n"),
        ("md", page),
    ):
        path = study.out / f"{study.file}.{suffix}"
        draft = path.with_name(f"{path.name}.tmp")
        try:
            study.out.mkdir(parents=True, exist_ok=True)
            draft.write_text(text, encoding="utf-8")
            os.replace(draft, path)
        except OSError as error:
            raise InputError(f"cannot write {path} ({error.strerror}): give another --out") from None
        written.append(path)
    return written
