"""`train OBJECTIVE --seeds N` and `train sweep`: train every run, score it, and compare them in one table.

What is finished is not done again: the same command goes on where it was interrupted.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import InputError, TwinviewsError, note, table
from trainers.data.kinds import DataOptions, read_examples
from trainers.files import whole_file
from trainers.processes import is_first, join_processes, of_first, processes
from trainers.results.axes import Axis, Setting, settings
from trainers.results.comparison import compare_suite
from trainers.results.records import StoredStudy, StudyRun, group, load, read_results, read_study, shorten
from trainers.results.scoring import SUITE, TRAINING, Precision, Scoring, find_scoring, score, training_records
from trainers.results.table import markdown, show
from trainers.settings import Training, resolve
from trainers.training.directory import DONE, FREE, RECIPE, check_same
from trainers.training.run import request_of, run_training, settings_of

if TYPE_CHECKING:
    from trainers.catalogue import ObjectiveModule

# What may differ between a study and its continuation; its data are told by their names here, not by their content.
NAMED = {*DataOptions.model_fields, "dev"}
OUTSIDE = (FREE - NAMED) | {"seed", "out", "dry_run", "overwrite", "resume"}


@dataclass(frozen=True, slots=True)
class Study:
    """What a user asked for: an objective's options by key, and the file that lists the runs.

    `runs`: every setting under every seed with its options, all seeds of a setting together.
    """

    objective: str
    module: ObjectiveModule
    values: Mapping[str, Any]
    runs: Sequence[tuple[Setting, int, dict[str, Any]]]
    file: Path
    scoring: Scoring | None

    def training(self, options: Mapping[str, Any]) -> Training:
        """Return the training settings of one run, its preset's beneath what was given."""
        from trainers.encoders.location import locate

        given, own = settings_of(self.module, options), locate(options["encoder"]).pooling()
        return resolve(self.module.PRESETS, self.module.PARAMS, options["preset"], given, own_pooling=own)[1]


def train_study(
    name: str, module: ObjectiveModule, values: Mapping[str, Any], axes: Sequence[Axis] = (), *, seeds: int | None,
    data: str | None, baseline: bool, eval_precision: Precision | None,
) -> None:  # fmt: skip
    """Train every combination of the axes' values under several seeds, score the runs, and print their comparison.

    It is written to `seeds.json` and `seeds.md` in the folder of the runs, or to `sweep.json` and `sweep.md` with axes.
    Where several processes were started together, all of them call this and train every run together; the first one
    scores and saves.

    Args:
        name: The objective.
        module: Its module.
        values: All options by key, as they hold where they are not swept over.
        axes: What is swept over, from `read_axes`.
        seeds: How many from `values["seed"]` on; None is one.
        data: The benchmarks; None takes the environment's, if any.
        baseline: Score the encoder before training too.
        eval_precision: Number format of the scoring; None is fp32.

    Raises:
        InputError: Options or data that cannot be used.
        TwinviewsError: A run failed; the others are done.
    """
    if values.get("resume"):
        raise InputError("--resume is for a single run: several seeds are resumed anyway, leave it out")
    values = {**values, **{axis.key: None for axis in axes}}
    out = values["out"] or Path("runs", f"sweep-{name}" if axes else name)
    runs = [
        (setting, seed, {**values, **setting.values, "seed": seed, "out": out / setting.folder / f"seed-{seed}"})
        for setting in settings(axes)
        for seed in range(values["seed"], values["seed"] + (seeds or 1))
    ]
    file = out / ("sweep.json" if axes else "seeds.json")
    study = Study(name, module, values, runs, file, find_scoring(data, eval_precision, baseline=baseline))
    planned = _planned(study)
    if values["dry_run"]:
        columns = [*(axis.name for axis in axes), "seed", "rows", "steps", "directory", "state"]
        table(columns, planned, title=f"train {name}, {len(runs)} runs: a dry run, nothing is written")
        return
    join_processes()
    if baseline and is_first():
        _score_untrained(study)
    done = _train(study)
    if is_first():
        _report(study, done)


def _planned(study: Study) -> list[list[object]]:
    """Check every run's options and data; return labels, seed, rows, steps, directory and state of each.

    Raises:
        InputError: A setting or data that cannot be used, or a folder that belongs to something else.
    """
    from trainers.encoders.location import locate

    _check_folder(study)
    for name in dict.fromkeys(options["encoder"] for _, _, options in study.runs):
        locate(name)
    counted: dict[str, int] = {}
    planned: list[list[object]] = []
    for setting, seed, options in study.runs:
        data = request_of(study.objective, study.module, options).data
        if repr(data) not in counted:
            counted[repr(data)] = len(read_examples(data, study.module.READS)[0])
        rows = counted[repr(data)]
        training = study.training(options)
        steps = training.model_copy(update={"batch_size": min(training.batch_size, rows)}).steps(rows)
        planned.append([*setting.labels.values(), seed, rows, steps, str(options["out"]), _state(options["out"])])
    return planned


def _check_folder(study: Study) -> None:
    out = study.file.parent
    if (out / RECIPE).is_file():
        raise InputError(f"{out} holds a single run: give another --out, the runs of a study get folders in it")
    if study.values["overwrite"] or not study.file.is_file():
        return
    check_same(out, load(StoredStudy, study.file).options, _shared_options(study), what="other options")


def _shared_options(study: Study) -> dict[str, Any]:
    given = {key: value for key, value in study.values.items() if key not in OUTSIDE and value not in (None, [], ())}
    values: dict[str, Any] = json.loads(json.dumps(given, default=str))
    return values


def _state(directory: Path) -> str:
    if (directory / DONE).is_file():
        return "finished"
    return "begun" if (directory / RECIPE).is_file() else ""


def _train(study: Study) -> list[StudyRun]:
    """Do the runs; one that fails is noted, and the others go on. What single runs say goes to stderr."""
    done: list[StudyRun] = []
    if is_first() and (study.values["overwrite"] or not study.file.is_file()):
        _save(study, done)
    for number, (setting, seed, options) in enumerate(study.runs, 1):
        if is_first():
            title = ", ".join(part for part in (setting.title, f"seed {seed}") if part)
            note(f"[{number} of {len(study.runs)}] {title}")
        error = _run(study, options)
        # Trainer and its callbacks hold each other, and with them the model.
        gc.collect()
        if error is not None:
            note(f"failed: {error}")
        done.append(StudyRun(seed=seed, directory=options["out"].as_posix(), error=error))
        if is_first():
            _save(study, done)
    # No process leaves while the first one still scores.
    of_first(None)
    return done


def _run(study: Study, options: Mapping[str, Any]) -> str | None:
    """Train and score one run; return why it failed, None if it did not.

    Under several processes a run that fails ends the study: the processes would no longer be at the same run.
    """
    directory: Path = options["out"]
    finished = not options["overwrite"] and _state(directory) == "finished"
    try:
        with redirect_stdout(sys.stderr):
            request = request_of(study.objective, study.module, options)
            run_training(request, study.module, settings_of(study.module, options))
        if study.scoring is not None and is_first():
            score(str(directory), directory / "evaluation", study.scoring, anew=options["overwrite"])
    except TwinviewsError as error:
        # A finished run that is refused is of other data: the results that are there are not to be replaced by that.
        if processes() > 1 or (finished and isinstance(error, InputError)):
            raise
        return str(error)
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError" or processes() > 1:
            raise
        return "out of memory: take a smaller --batch-size or --max-tokens"
    return None


def _score_untrained(study: Study) -> None:
    """Score the encoders that the runs start from, each under every pooling that they are trained with."""
    from trainers.encoders.location import STARTER

    starts = [(options["encoder"] or STARTER, study.training(options).pooling) for _, _, options in study.runs]
    for encoder, pooling in dict.fromkeys(starts):
        folder = study.file.parent / Setting({"untrained": f"{encoder}-{pooling}"}, {}).folder
        if study.scoring is not None:
            score(encoder, folder, study.scoring, pooling, anew=study.values["overwrite"])


def _save(study: Study, done: Sequence[StudyRun]) -> None:
    """List what has been done in the study's folder."""
    pairs = zip(study.runs, done, strict=False)
    cells = [
        {"settings": dict(setting.labels), "runs": [run.model_dump() for run in runs]}
        for setting, runs in group((setting, run) for (setting, _, _), run in pairs).items()
    ]
    values = {"objective": study.objective, "options": _shared_options(study), "cells": cells}
    study.file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(study.file) as stream:
        stream.write((json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode())


def _report(study: Study, done: Sequence[StudyRun]) -> None:
    """Print how the settings compare, and leave the same as a page.

    Raises:
        TwinviewsError: A run failed.
    """
    scored = study.scoring is not None
    runs = shorten(read_study(study.file, read_results if scored else training_records), [study.file.parent])
    tables = compare_suite(SUITE if scored else TRAINING, runs)
    failed = [f"{run.directory} failed: {run.error}" for run in done if run.error]
    page = study.file.with_suffix(".md")
    with whole_file(page) as stream:
        stream.write(markdown(f"train {study.objective}", [f"- {line}" for line in failed], tables).encode())
    show(tables)
    if not scored:
        note("no scores: give --data DIR (as `train evaluate`) or set TWINVIEWS_DATA; the same command adds them")
    note(f"written: {study.file}, {page}")
    if failed:
        raise TwinviewsError(f"{len(failed)} of {len(done)} runs failed, see above; the others are done")
