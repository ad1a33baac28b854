"""`train OBJECTIVE --seeds N` and `train sweep`: train every run, score it, and compare them in one table.

Finished work is not repeated: the same command resumes an interrupted study.
"""

import gc
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pipelines.storage.files import write_if_changed
from pipelines.terminal.console import InputError, TwinviewsError, counted, note, table
from trainers.catalogue import load_objective
from trainers.data.reading import DataOptions, read_examples
from trainers.encoders.location import STARTER, locate
from trainers.encoders.model import load_model
from trainers.evaluation.result_files import load, markdown, show
from trainers.evaluation.scoring import find_suites, score_into
from trainers.evaluation.task import DATA_VARIABLE
from trainers.processes import is_first, join_processes, of_first, processes
from trainers.results.comparison import compare_suite
from trainers.results.runs import TRAINING, StoredStudy, read_results, read_study, read_training
from trainers.settings import Axes, Pooling, Setting, all_settings, folder_part
from trainers.training.directory import DONE, FREE, RECIPE, check_same
from trainers.training.run import Request, request_of, run_training

Scorer: TypeAlias = Callable[..., None]

SUITE = "sts"
# What may differ between a study and its continuation; its data are told by their names here, not by their content.
OUTSIDE = FREE - {*DataOptions.model_fields, "dev"} | {"seed", "out", "dry_run", "overwrite"}


@dataclass(frozen=True, slots=True)
class Study:
    """What a user asked for, and the runs: every setting under every seed, a setting's seeds together."""

    objective: str
    values: Mapping[str, Any]
    runs: Sequence[tuple[Setting, Path, Request]]
    file: Path
    score: Scorer | None

    def shared(self) -> dict[str, Any]:
        """Return the options that apply to all runs, as they are stored."""
        options = {
            key: value for key, value in self.values.items() if key not in OUTSIDE and value not in (None, [], ())
        }
        return dict(json.loads(json.dumps(options, default=str)))


def train_study(
    name: str, values: Mapping[str, Any], axes: Axes | None = None, *, seeds: int | None, data: str | None,
    baseline: bool,
) -> None:  # fmt: skip
    """Train every combination of the axes' values under several seeds, score the runs, and print their comparison.

    It is written to `seeds.json` and `seeds.md` beside the runs, or to `sweep.json` and `sweep.md` with axes. `values`
    are all options by key; `seeds` (None: one) count from `values["seed"]` on. Several processes train every run
    together; the first one scores and saves. Raises InputError: options or data that cannot be used. Raises
    TwinviewsError: a run failed; the others are done.
    """
    values = {**values, **dict.fromkeys(axes or ())}
    out = values["out"] or Path("runs", f"sweep-{name}" if axes else name)
    runs = []
    for setting in all_settings(axes or {}):
        for seed in range(values["seed"], values["seed"] + (seeds or 1)):
            folder = out / setting.folder / f"seed-{seed}"
            own = {**setting.values, "seed": seed, "out": folder}
            runs.append((setting, folder, request_of(name, {**values, **own})))
    file = out / ("sweep.json" if axes else "seeds.json")
    study = Study(name, values, runs, file, find_scorer(data, baseline=baseline))
    rows = _plan(study)
    if values["dry_run"]:
        columns = [*runs[0][0].labels, "seed", "rows", "steps", "directory", "state"]
        table(columns, rows, title=f"train {name}, {len(runs)} runs: a dry run, nothing is written")
        return
    join_processes()
    if study.score is not None and baseline and is_first():
        starts = [(run.encoder or STARTER, run.resolved(locate(run.encoder))[1].pooling) for *_, run in runs]
        for encoder, pooling in dict.fromkeys(starts):
            folder = out / f"untrained={folder_part(f'{encoder}-{pooling}')}"
            study.score(encoder, folder, pooling, again=values["overwrite"])
    errors = _train(study)
    if is_first():
        _report(study, errors)


def find_scorer(data: str | None, *, baseline: bool) -> Scorer | None:
    """Read the benchmarks in `data` or the environment's once; return what scores a model on them, as `score_into`.

    It takes the model, a folder, and perhaps another pooling. Raises InputError: they are missing but needed.
    """
    data = data or os.environ.get(DATA_VARIABLE)
    if not data:
        if baseline:
            raise InputError(f"--baseline needs benchmarks to score on: give --data DIR, or set {DATA_VARIABLE}")
        return None
    (suite,) = find_suites([SUITE], data)

    def score(model: str, directory: Path, pooling: Pooling | None = None, *, again: bool = False) -> None:
        encoder = load_model(model, pooling=pooling)
        settings = {"data": data, "pooling": pooling, "precision": "fp32", "device": encoder.device}
        score_into(encoder, suite, directory, settings=settings, again=again)

    return score


def _plan(study: Study) -> list[list[object]]:
    """Check every run; return labels, seed, rows, steps, directory and state of each; raises InputError."""
    out = study.file.parent
    if (out / RECIPE).is_file():
        raise InputError(f"{out} holds a single run: give another --out, the runs of a study get folders in it")
    if study.file.is_file() and not study.values["overwrite"]:
        check_same(out, load(StoredStudy, study.file).options, study.shared(), what="other options")
    sources = {run.encoder: locate(run.encoder) for *_, run in study.runs}
    sizes: dict[str, int] = {}
    lines: list[list[object]] = []
    for setting, folder, run in study.runs:
        if (data := repr(run.data)) not in sizes:
            sizes[data] = len(read_examples(run.data, load_objective(study.objective).READS)[0])
        rows, (_, training, params) = sizes[data], run.resolved(sources[run.encoder])
        training = training.model_copy(update={"batch_size": min(training.batch_size, rows)})
        if hasattr(params, "held_out"):
            rows -= params.held_out(rows, training.batch_size)
        state = "finished" if (folder / DONE).is_file() else "begun" if (folder / RECIPE).is_file() else ""
        lines.append([*setting.labels.values(), run.seed, rows, training.steps(rows), str(folder), state])
    return lines


def _train(study: Study) -> dict[Path, str | None]:
    """Train and score every run; return by directory why each failed, if it did. What single runs print goes to stderr.

    With several processes a failure ends the study.
    """
    errors: dict[Path, str | None] = {}
    if is_first() and (study.values["overwrite"] or not study.file.is_file()):
        _save(study, errors)
    for number, (setting, out, run) in enumerate(study.runs, 1):
        errors[out] = None
        if is_first():
            note(f"[{number} of {len(study.runs)}] {', '.join(filter(None, [setting.title, f'seed {run.seed}']))}")
        is_finished = not run.overwrite and (out / DONE).is_file()
        try:
            with redirect_stdout(sys.stderr):
                run_training(run)
            if study.score is not None and is_first():
                study.score(str(out), out / "evaluation", again=run.overwrite)
        except TwinviewsError as error:
            # A finished run is refused if the data changed: its results must stay.
            if processes() > 1 or (is_finished and isinstance(error, InputError)):
                raise
            errors[out] = str(error)
        except RuntimeError as error:
            if type(error).__name__ != "OutOfMemoryError" or processes() > 1:
                raise
            errors[out] = "out of memory: take a smaller --batch-size or --max-tokens"
        # Trainer and its callbacks refer to each other and to the model.
        gc.collect()
        if errors[out] is not None:
            note(f"failed: {errors[out]}")
        if is_first():
            _save(study, errors)
    # No process exits while the first one still scores.
    of_first(None)
    return errors


def _save(study: Study, errors: Mapping[Path, str | None]) -> None:
    """List the runs that have been done in the study's file."""
    cells: dict[str, dict[str, Any]] = {}
    for setting, out, run in study.runs:
        if out in errors:
            cell = cells.setdefault(setting.title, {"settings": dict(setting.labels), "runs": []})
            cell["runs"].append({"seed": run.seed, "directory": out.as_posix(), "error": errors[out]})
    values = {"objective": study.objective, "options": study.shared(), "cells": list(cells.values())}
    study.file.parent.mkdir(parents=True, exist_ok=True)
    write_if_changed(study.file, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def _report(study: Study, errors: Mapping[Path, str | None]) -> None:
    """Print the comparison of the settings, and write it to a page. Raises TwinviewsError: a run failed."""
    suite, reader = (TRAINING, read_training) if study.score is None else (SUITE, read_results)
    tables = compare_suite(suite, read_study(study.file, reader))
    failures = [f"{run.as_posix()} failed: {error}" for run, error in errors.items() if error]
    page = study.file.with_suffix(".md")
    write_if_changed(page, markdown(f"train {study.objective}", [f"- {line}" for line in failures], tables))
    show(tables)
    if study.score is None:
        note("no scores: give --data DIR (as for `train evaluate`) or set TWINVIEWS_DATA; the same command adds them")
    note(f"written: {study.file}, {page}")
    if failures:
        advice = ", see above; the others are done" if len(errors) > 1 else ", see above"
        raise TwinviewsError(f"{len(failures)} of {counted(len(errors), 'run')} failed{advice}")
