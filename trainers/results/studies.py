"""`train OBJECTIVE --seeds N`: train with several seeds, score every run, and show them as mean and deviation.

Finished work is not repeated: the same command goes on after an interruption.
"""

import gc
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias

from pipelines.storage.lock import write_page
from pipelines.terminal.console import InputError, TwinviewsError, counted, note
from trainers.encoders.location import STARTER, locate
from trainers.encoders.model import load_model
from trainers.evaluation.result_files import markdown, show
from trainers.evaluation.scoring import find_suites, score_into
from trainers.evaluation.task import DATA_VARIABLE
from trainers.processes import is_first, join_processes, of_first, processes
from trainers.results.comparison import compare_suite
from trainers.results.runs import STUDY, TRAINING, UNTRAINED, named, read_results, read_study, read_training
from trainers.settings import Pooling, Request
from trainers.training.directory import RECIPE
from trainers.training.run import run_training

Scorer: TypeAlias = Callable[..., None]

SUITE = "sts"


def train_seeds(name: str, values: Mapping[str, Any], *, seeds: int, data: str | None, baseline: bool) -> None:
    """Train with so many seeds, from `values["seed"]` on, score the runs, and print and write their table.

    Each run has a folder below `values["out"]`; `seeds.json` lists them and `seeds.md` is the table. `values` are all
    options by key. Several processes train every run together; the first one scores and saves. Raises InputError:
    options or data that cannot be used. Raises TwinviewsError: a run failed; the others are done.
    """
    out = values["out"] or Path("runs", name)
    first, numbers = values["seed"], range(values["seed"], values["seed"] + seeds)
    runs = [Request.of(name, {**values, "seed": seed, "out": out / f"seed-{seed}"}) for seed in numbers]
    if (out / RECIPE).is_file():
        raise InputError(f"{out} holds a single run: give another --out, the runs of the seeds get folders in it")
    score = find_scorer(data, baseline=baseline)
    if values["dry_run"]:
        run_training(runs[0])
        note(f"the same for {counted(seeds, 'seed')}: {out}/seed-{first} to {out}/seed-{numbers[-1]}")
        return
    join_processes()
    if score is not None and baseline and is_first():
        pooling = runs[0].resolved(locate(values["encoder"]).pooling())[1].pooling
        score(values["encoder"] or STARTER, out / UNTRAINED, pooling, again=values["overwrite"])
    errors = _train(runs, out, score)
    if is_first():
        _report(name, out, errors, scored=score is not None)


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


def _train(runs: Sequence[Request], out: Path, score: Scorer | None) -> dict[int, str | None]:
    """Train and score every run; return by seed why it failed, if it did. What single runs print goes to stderr.

    With several processes a failure ends the study.
    """
    errors: dict[int, str | None] = {}
    for run in runs:
        folder, errors[run.seed] = out / f"seed-{run.seed}", None
        try:
            with redirect_stdout(sys.stderr):
                run_training(run)
            if score is not None and is_first():
                score(str(folder), folder / "evaluation", again=run.overwrite)
        except TwinviewsError as error:
            if processes() > 1 or isinstance(error, InputError):  # the other seeds could not be trained either
                raise
            errors[run.seed] = str(error)
            note(f"seed {run.seed} failed: {error}")
        # Trainer and its callbacks refer to each other and to the model.
        gc.collect()
        if is_first():
            listed = [{"seed": seed, "error": error} for seed, error in errors.items()]
            write_page(out / STUDY, json.dumps({"runs": listed}, indent=2, ensure_ascii=False) + "\n")
    # No process exits while the first one still scores.
    of_first(None)
    return errors


def _report(name: str, out: Path, errors: Mapping[int, str | None], *, scored: bool) -> None:
    """Print the table of the seeds, and write it to a page. Raises TwinviewsError: a run failed."""
    suite, reader = (SUITE, read_results) if scored else (TRAINING, read_training)
    tables = compare_suite(suite, named(read_study(out / STUDY, reader)))
    failures = [f"seed {seed} failed: {error}" for seed, error in errors.items() if error]
    page = (out / STUDY).with_suffix(".md")
    write_page(page, markdown(f"train {name}", [f"- {line}" for line in failures], tables))
    show(tables)
    if not scored:
        note("no scores: give --data DIR (as for `train evaluate`) or set TWINVIEWS_DATA; the same command adds them")
    note(f"written: {out / STUDY}, {page}")
    if failures:
        advice = ", see above; the others are done" if len(errors) > 1 else ", see above"
        raise TwinviewsError(f"{len(failures)} of {counted(len(errors), 'run')} failed{advice}")
