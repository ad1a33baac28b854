"""`train OBJECTIVE --seeds N` and `train sweep`: train every run, score it, and compare them in one table.

What is finished is not done again: the same command goes on where it was interrupted.
"""

import gc
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pipelines.console import InputError, TwinviewsError, note, table
from trainers.catalogue import ObjectiveModule
from trainers.data.kinds import DataOptions, read_examples
from trainers.embedding.model import load_model as load_encoder
from trainers.encoders.location import STARTER, locate
from trainers.encoders.modules import Pooling
from trainers.evaluation.cli import DATA_VARIABLE
from trainers.evaluation.record import write
from trainers.evaluation.suite import evaluate_suites, find_suites
from trainers.evaluation.table import markdown, show
from trainers.evaluation.task import Suite
from trainers.files import whole_file
from trainers.processes import is_first, join_processes, of_first, processes
from trainers.results import records
from trainers.results.axes import Axes, Setting, folder_part, settings
from trainers.results.comparison import compare_suite
from trainers.results.records import Evaluation, StoredStudy, StoredSuite, StudyRun, load, read_results
from trainers.settings import Training, resolve
from trainers.training.directory import DONE, FREE, RECIPE, check_same
from trainers.training.run import request_of, run_training, settings_of

SUITE = "sts"
TRAINING = "training"
LOG = "log.jsonl"

# What may differ between a study and its continuation; its data are told by their names here, not by their content.
OUTSIDE = FREE - {*DataOptions.model_fields, "dev"} | {"seed", "out", "dry_run", "overwrite"}


class Scoring(NamedTuple):
    """The benchmarks that every run is scored on, read once."""

    data: str
    precision: Literal["fp32", "bf16"]
    suite: Suite


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
        given, own = settings_of(self.module, options), locate(options["encoder"]).pooling()
        return resolve(self.module.PRESETS, self.module.PARAMS, options["preset"], given, own_pooling=own)[1]

    def shared(self) -> dict[str, Any]:
        """Return the options that hold for all runs, as they are stored."""
        given = {key: value for key, value in self.values.items() if key not in OUTSIDE and value not in (None, [], ())}
        values: dict[str, Any] = json.loads(json.dumps(given, default=str))
        return values


def train_study(
    name: str, module: ObjectiveModule, values: Mapping[str, Any], axes: Axes | None = None, *, seeds: int | None,
    data: str | None, baseline: bool, eval_precision: Literal["fp32", "bf16"] | None,
) -> None:  # fmt: skip
    """Train every combination of the axes' values under several seeds, score the runs, and print their comparison.

    It is written to `seeds.json` and `seeds.md` in the folder of the runs, or to `sweep.json` and `sweep.md` with axes.
    Where several processes were started together, all of them call this and train every run together; the first one
    scores and saves.

    `values` are all options by key, as they hold where they are not swept over; `seeds` (None: one) count from
    `values["seed"]` on; `data` are the benchmarks, or the environment's; `baseline` scores the encoder untrained too.
    Raises InputError: options or data that cannot be used. Raises TwinviewsError: a run failed; the others are done.
    """
    values = {**values, **dict.fromkeys(axes or ())}
    out = values["out"] or Path("runs", f"sweep-{name}" if axes else name)
    runs = [
        (setting, seed, {**values, **setting.values, "seed": seed, "out": out / setting.folder / f"seed-{seed}"})
        for setting in settings(axes or {})
        for seed in range(values["seed"], values["seed"] + (seeds or 1))
    ]
    file = out / ("sweep.json" if axes else "seeds.json")
    study = Study(name, module, values, runs, file, find_scoring(data, eval_precision, baseline=baseline))
    planned = _planned(study)
    if values["dry_run"]:
        columns = [*runs[0][0].labels, "seed", "rows", "steps", "directory", "state"]
        table(columns, planned, title=f"train {name}, {len(runs)} runs: a dry run, nothing is written")
        return
    join_processes()
    if study.scoring is not None and baseline and is_first():
        starts = [(options["encoder"] or STARTER, study.training(options).pooling) for _, _, options in runs]
        for encoder, pooling in dict.fromkeys(starts):
            folder = out / f"untrained={folder_part(f'{encoder}-{pooling}')}"
            score(encoder, folder, study.scoring, pooling, anew=values["overwrite"])
    done = _train(study)
    if is_first():
        _report(study, done)


def find_scoring(data: str | None, precision: Literal["fp32", "bf16"] | None, *, baseline: bool) -> Scoring | None:
    """Read the benchmarks in `data` (a folder, or `hf:ORGANISATION`), or in the environment's; None without data.

    Raises InputError: none of them is there, a file cannot be read, or a baseline would have none.
    """
    data = data or os.environ.get(DATA_VARIABLE)
    if baseline and not data:
        raise InputError(f"--baseline needs benchmarks to score on: give --data DIR, or set {DATA_VARIABLE}")
    return Scoring(data, precision or "fp32", find_suites([SUITE], data)[0]) if data else None


def score(model: str, directory: Path, scoring: Scoring, pooling: Pooling | None = None, *, anew: bool = False) -> None:
    """Write the scores of a model (a directory, a Hub name or `starter`) into `directory`, as `train evaluate` does.

    Scores that are there are kept, unless `anew`, for the same vectors (weights, configuration, settings, versions)
    and the same items. `pooling` is taken instead of what the model says.
    """
    encoder = load_encoder(model, pooling=pooling, precision=scoring.precision)
    path = directory / f"{SUITE}.json"
    if path.exists() and not anew:
        if _is_of(path, encoder.fingerprint(), scoring.suite):
            return
        note(f"{path} is damaged, or of other weights, settings or items: evaluated anew")
    given = {"data": scoring.data, "pooling": pooling, "precision": scoring.precision, "device": encoder.device}
    evaluation = evaluate_suites(encoder, [scoring.suite], trained=encoder.directory, settings=given)
    directory.mkdir(parents=True, exist_ok=True)
    write(directory, evaluation)


def _is_of(path: Path, fingerprint: str | None, suite: Suite) -> bool:
    """Whether a file has the scores of this encoder on these items."""
    try:
        stored = load(StoredSuite, path)
    except InputError:
        return False
    items = {name: each.sha256 for name, each in stored.sets.items()}
    same = fingerprint is not None and stored.model.get("fingerprint") == fingerprint and not stored.adaptation
    return same and items == {task.name: task.sha256() for task in suite.tasks}


def read_training(run: Path, seed: str) -> list[Evaluation]:
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
    sets = {
        key: records.StoredSet(title="", size=0, counted=False, sha256="", figures={key: figures[key]})
        for key in figures
    }
    stored = StoredSuite(suite=TRAINING, model={}, settings={}, sets=sets)
    return [Evaluation(stored, run, seed)] if sets else []


def _planned(study: Study) -> list[list[object]]:
    """Check every run's options and data; return labels, seed, rows, steps, directory and state of each.

    Raises InputError: a setting or data that cannot be used, or a folder that belongs to something else.
    """
    out = study.file.parent
    if (out / RECIPE).is_file():
        raise InputError(f"{out} holds a single run: give another --out, the runs of a study get folders in it")
    if study.file.is_file() and not study.values["overwrite"]:
        check_same(out, load(StoredStudy, study.file).options, study.shared(), what="other options")
    for name in dict.fromkeys(options["encoder"] for _, _, options in study.runs):
        locate(name)
    counted: dict[str, int] = {}
    planned: list[list[object]] = []
    for setting, seed, options in study.runs:
        data = request_of(study.objective, study.module, options).data
        if repr(data) not in counted:
            counted[repr(data)] = len(read_examples(data, study.module.READS)[0])
        rows, training = counted[repr(data)], study.training(options)
        steps = training.model_copy(update={"batch_size": min(training.batch_size, rows)}).steps(rows)
        state = "finished" if _is_done(options["out"]) else "begun" if (options["out"] / RECIPE).is_file() else ""
        planned.append([*setting.labels.values(), seed, rows, steps, str(options["out"]), state])
    return planned


def _is_done(directory: Path) -> bool:
    return (directory / DONE).is_file()


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
    finished = not options["overwrite"] and _is_done(directory)
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


def _save(study: Study, done: Sequence[StudyRun]) -> None:
    """List what has been done in the study's folder."""
    cells: dict[str, records.StudyCell] = {}
    for (setting, _, _), run in zip(study.runs, done, strict=False):
        cells.setdefault(setting.title, records.StudyCell(settings=dict(setting.labels), runs=[])).runs.append(run)
    listed = [cell.model_dump() for cell in cells.values()]
    values = {"objective": study.objective, "options": study.shared(), "cells": listed}
    study.file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(study.file) as stream:
        stream.write((json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode())


def _report(study: Study, done: Sequence[StudyRun]) -> None:
    """Print how the settings compare, and leave the same as a page. Raises TwinviewsError: a run failed."""
    scored = study.scoring is not None
    read = records.read_study(study.file, read_results if scored else read_training)
    runs = records.shorten(read, [study.file.parent])
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
