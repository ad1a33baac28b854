"""`train OBJECTIVE --seeds N`: train with several seeds, each in a folder, and show what they logged side by side.

The same command goes on after an interruption, and `train compare` reads the folder as one row.
"""

import gc
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pipelines.terminal.console import InputError, note
from trainers.evaluation.result_files import show
from trainers.files import RECIPE
from trainers.processes import is_first
from trainers.results.comparison import compare_suite
from trainers.results.runs import TRAINING, named, read_seeds, read_training
from trainers.settings import Request
from trainers.training.run import run_training


def train_seeds(name: str, values: Mapping[str, Any]) -> None:
    """Train with each seed; raises as `run_training` does."""
    out, first = values["out"] or Path("runs", name), values["seed"]
    seeds = range(first, first + values["seeds"])
    runs = [Request.of(name, {**values, "seeds": None, "seed": seed, "out": out / f"seed-{seed}"}) for seed in seeds]
    if (out / RECIPE).is_file():
        raise InputError(f"{out} holds a single run: give another --out, the runs of the seeds get folders in it")
    if values["dry_run"]:
        run_training(runs[0])
        note(f"the same for {len(runs)} seeds: {out}/seed-{first} to {out}/seed-{seeds[-1]}")
        return
    for run in runs:
        with redirect_stdout(sys.stderr):
            run_training(run)
        gc.collect()  # Trainer and its callbacks refer to each other and to the model
    if is_first():
        show(compare_suite(TRAINING, named([read_seeds(out, read_training)])))
        note(f"next: `train evaluate` on each folder in {out}, then `train compare {out}`: mean and deviation")
