"""`train OBJECTIVE --seeds N` and `train sweep`: train every run, score it, and print one table.

What is finished is not done again: the same command goes on where it was interrupted.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import InputError, TwinviewsError, note, show, table
from trainers.data.kinds import DataOptions, read_examples
from trainers.files import whole_file
from trainers.options import request_of, settings_of
from trainers.processes import is_first, join_processes, of_first, processes
from trainers.results.axes import Axis, Setting, settings
from trainers.results.scoring import Precision, Scoring, find_scoring, score, score_figures, training_figures
from trainers.results.study import Study, Trial
from trainers.results.study_tables import failures, seeds_tables, sweep_details, sweep_tables, title
from trainers.results.table import Table, mean
from trainers.training.directory import DONE, FREE, RECIPE, check_same
from trainers.training.run import run_training

if TYPE_CHECKING:
    from trainers.catalogue import ObjectiveModule

HOW_TO_SCORE = "no scores: give --data DIR (as `train evaluate`) or set TWINVIEWS_DATA; the same command adds them"
# What may differ between a study and its continuation; its data are told by their names here, not by their content.
NAMED = {*DataOptions.model_fields, "dev"}
OUTSIDE = (FREE - NAMED) | {"seed", "out", "dry_run", "overwrite", "resume"}


def train_study(
    name: str,
    module: ObjectiveModule,
    values: Mapping[str, Any],
    axes: Sequence[Axis] = (),
    *,
    seeds: int | None,
    data: str | None,
    baseline: bool,
    eval_precision: Precision | None,
) -> None:
    """Train every combination of the axes' values under several seeds, score the runs, and print the tables.

    Without axes it writes `seeds.json` and `seeds.md`, otherwise `sweep.json` and `sweep.md`.

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
    scoring = _scoring(data, eval_precision, baseline=baseline)
    chosen = range(values["seed"], values["seed"] + (seeds or 1))
    out = values["out"] or Path("runs", f"sweep-{name}" if axes else name)
    file = "sweep" if axes else "seeds"
    _conduct(Study(name, module, values, axes, settings(axes), chosen, out, file, scoring, baseline))


def _scoring(data: str | None, precision: Precision | None, *, baseline: bool) -> Scoring | None:
    """Return what to score on, from the options or the environment; None without data."""
    from trainers.evaluation.cli import DATA_VARIABLE

    data = data or os.environ.get(DATA_VARIABLE)
    if data:
        return find_scoring(data, precision or "fp32")
    if baseline:
        raise InputError(f"--baseline needs benchmarks to score on: give --data DIR, or set {DATA_VARIABLE}")
    return None


def _conduct(study: Study) -> None:
    """Check everything, then do the runs that are not done, print the tables, and leave JSON and a page in the folder.

    Where several processes were started together, all of them call this and train every run together; the first one
    scores and saves.
    """
    planned = _planned(study)
    if study.values["dry_run"]:
        columns = [*(axis.name for axis in study.axes), "seed", "rows", "steps", "directory", "state"]
        about = f"train {study.objective}, {len(planned)} runs: a dry run, nothing is written"
        table(columns, planned, title=about)
        return
    join_processes()
    _train(study)
    if not is_first():
        return
    for made in _tables(study):
        made.show()
    for line in failures(study):
        show(line)
    if study.scoring is None:
        note(HOW_TO_SCORE)
    note(f"written: {study.results}, {study.results.with_suffix('.md')}")
    failed = sum(trial.error is not None for trial in study.trials)
    if failed:
        raise TwinviewsError(f"{failed} of {len(planned)} runs failed, see above; the others are done")


def _planned(study: Study) -> list[list[object]]:
    """Check every run's options and data; return labels, seed, rows, steps, directory and state of each.

    Raises:
        InputError: A setting or data that cannot be used, or a folder that belongs to something else.
    """
    from trainers.encoders.location import locate

    _check_folder(study)
    for name in dict.fromkeys(options["encoder"] for _, _, options in study.runs()):
        locate(name)
    counted: dict[str, int] = {}
    planned: list[list[object]] = []
    for setting, seed, options in study.runs():
        wanted = request_of(study.objective, study.module, options).data
        if repr(wanted) not in counted:
            counted[repr(wanted)] = len(read_examples(wanted, study.module.READS)[0])
        rows = counted[repr(wanted)]
        training = study.training(options)
        steps = training.model_copy(update={"batch_size": min(training.batch_size, rows)}).steps(rows)
        out: Path = options["out"]
        planned.append([*setting.labels.values(), seed, rows, steps, str(out), _state(out)])
    return planned


def _train(study: Study) -> None:
    """Do the runs; one that fails is noted, and the others go on. What single runs say goes to stderr.

    Under several processes a run that fails ends the study: the processes would no longer be at the same run.
    """
    study.untrained = _untrained(study)
    earlier = _stored(study)
    if is_first() and (study.values["overwrite"] or not study.results.is_file()):
        _save(study)
    runs = list(study.runs())
    for number, (setting, seed, options) in enumerate(runs, 1):
        if is_first():
            note(f"[{number} of {len(runs)}] {setting.run_title(seed)}")
        study.trials.append(_trial(study, setting, seed, options, earlier))
        # Trainer and its callbacks hold each other, and with them the model.
        gc.collect()
        if study.trials[-1].error is not None:
            note(f"failed: {study.trials[-1].error}")
        if is_first():
            _save(study)
    # No process leaves while the first one still scores.
    of_first(None)


def _trial(study: Study, setting: Setting, seed: int, options: Mapping[str, Any], earlier: Mapping[str, Any]) -> Trial:
    directory: Path = options["out"]
    of = (setting.run_title(seed), setting, seed, directory)
    state, start = "" if options["overwrite"] else _state(directory), time.perf_counter()
    try:
        with redirect_stdout(sys.stderr):
            request = request_of(study.objective, study.module, options)
            run_training(request, study.module, settings_of(study.module, options))
        if not is_first():
            return Trial(*of)
        seconds = earlier.get(directory.as_posix()) if state else time.perf_counter() - start
        figures = training_figures(directory)
        if study.scoring is not None:
            values = score(str(directory), directory / "evaluation", study.scoring, anew=options["overwrite"])
            figures.update(score_figures(values))
        return Trial(*of, figures, seconds)
    except TwinviewsError as error:
        # A finished run that is refused is of other data: the results that are there are not to be replaced by that.
        if processes() > 1 or (state == "finished" and isinstance(error, InputError)):
            raise
        return Trial(*of, error=str(error))
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError" or processes() > 1:
            raise
        return Trial(*of, error="out of memory: take a smaller --batch-size or --max-tokens")


def _untrained(study: Study) -> list[Trial]:
    """Score the encoders that the runs start from, each under every pooling that they are trained with."""
    if not study.baseline or study.scoring is None or not is_first():
        return []
    from trainers.encoders.location import STARTER

    starts = [(options["encoder"] or STARTER, study.training(options).pooling) for _, _, options in study.runs()]
    encoders, poolings = ({start[place] for start in starts} for place in (0, 1))
    found = []
    for encoder, pooling in dict.fromkeys(starts):
        several = [*([encoder] if len(encoders) > 1 else []), *([pooling] if len(poolings) > 1 else [])]
        folder = study.out / Setting({"untrained": f"{encoder}-{pooling}"}, {}).folder
        values = score(encoder, folder, study.scoring, pooling, anew=study.values["overwrite"])
        found.append(Trial(", ".join(["untrained", *several]), figures=score_figures(values)))
    return found


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
    if study.values["overwrite"] or not study.results.is_file():
        return
    try:
        before = json.loads(study.results.read_text(encoding="utf-8"))["options"]
    except (ValueError, LookupError, TypeError):
        raise InputError(f"{study.results} is none of our files: use --overwrite, or give another --out") from None
    check_same(out, before, _shared_options(study), what="other options")


def _shared_options(study: Study) -> dict[str, Any]:
    given = {key: value for key, value in study.values.items() if key not in OUTSIDE and value not in (None, [], ())}
    values: dict[str, Any] = json.loads(json.dumps(given, default=str))
    return values


def _stored(study: Study) -> dict[str, float | None]:
    """Return how long finished runs took, by their folders."""
    try:
        before = json.loads(study.results.read_text(encoding="utf-8"))
        return {run["directory"]: run["seconds"] for cell in before["cells"] for run in cell["runs"]}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _save(study: Study) -> None:
    """Write what there is as JSON and Markdown into the study's folder, each whole or not at all.

    Raises:
        InputError: It cannot be written there.
    """
    scoring = study.scoring
    evaluation = {"data": scoring.data, "precision": scoring.precision} if scoring else None
    values = study.json({"options": _shared_options(study), "evaluation": evaluation})
    page = study.results.with_suffix(".md")
    try:
        study.out.mkdir(parents=True, exist_ok=True)
        for path, text in (
            (study.results, json.dumps(values, indent=2, ensure_ascii=False) + "\n"),
            (page, _page(study)),
        ):
            with whole_file(path) as stream:
                stream.write(text.encode())
    except OSError as error:
        raise InputError(f"cannot write {study.results} ({error.strerror}): give another --out") from None


def _tables(study: Study) -> list[Table]:
    return sweep_tables(study) if study.axes else seeds_tables(study)


def _page(study: Study) -> str:
    lines = [f"# {title(study)}", ""]
    for made in (*_tables(study), *([sweep_details(study)] if study.axes else [])):
        lines += made.markdown()
    lines += [f"- {line}" for line in failures(study)]
    seconds = mean(trial.seconds for trial in study.trials)
    if seconds is not None:
        lines.append(f"- A training took {seconds.value:.0f} s (mean of {seconds.count}).")
    if len(study.seeds) > 1:
        lines.append(f"- Mean +- standard deviation (n - 1) over seeds {', '.join(map(str, study.seeds))}.")
    if study.scoring is not None:
        lines.append("- Scores: Spearman x 100 of the cosine, aggregation `all`.")
    return "\n".join(lines) + "\n"
