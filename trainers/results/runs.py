"""Stored scores: the files that evaluations leave, read as runs with an evaluation for each seed."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.terminal.console import InputError
from trainers.evaluation.result_files import StoredSet, StoredSuite, load
from trainers.evaluation.suites import suite_names
from trainers.files import LOG, RECIPE

FOLDER, TRAINING = "evaluation", "training"


class Evaluation(NamedTuple):
    """The results of one suite and their file."""

    stored: StoredSuite
    file: Path


Reader = Callable[[Path], list[Evaluation]]  # from a run's folder to its evaluations


class Run(NamedTuple):
    """One evaluated model, or all seeds of one training: `seeds` counts those without results too."""

    title: str
    evaluations: Sequence[Evaluation]
    seeds: int = 1

    def of(self, suite: str) -> list[Evaluation]:
        """Return the evaluations on a suite, one for each seed."""
        return [evaluation for evaluation in self.evaluations if evaluation.stored.suite == suite]


def read_runs(path: Path) -> list[Run]:
    """Read a run, a folder or JSON file of results, or the folder of several seeds; raises InputError if it holds none.

    A model that has only results of other settings gives a run for each. Seeds without results give what they logged.
    """
    if not path.exists():
        raise InputError(f"no run at {str(path)!r}: give a run's directory, or a JSON file of results")
    for reader in (read_results, read_training) if seed_folders(path) != [path] else ():
        if (seeds := read_seeds(path, reader)).evaluations:
            return [seeds]
    if path.is_file():
        return [Run(str(path), [Evaluation(load(StoredSuite, path), path)])]
    runs = _runs([path]) or _runs(sorted((path / FOLDER).glob("*/")))
    if not runs:
        raise InputError(f"no results in {str(path)!r}: run `train evaluate` first, or name folders in it")
    return runs


def seed_folders(path: Path) -> list[Path]:
    """Return the folders that `--seeds` makes in a folder, in the order of the seeds; of anything else itself."""
    folders = sorted(file.parent for file in path.glob(f"seed-*/{RECIPE}"))
    return sorted(folders, key=lambda folder: len(folder.name)) or [path]


def read_seeds(path: Path, reader: Reader) -> Run:
    """Return all seeds in a folder as one run."""
    folders = seed_folders(path)
    return Run(str(path), [scores for folder in folders for scores in reader(folder)], len(folders))


def named(runs: Sequence[Run]) -> list[Run]:
    """Return the runs titled by the name of their folder, or of the model that results are of, where that is unique."""

    def name(run: Run) -> str:
        own = run.seeds > 1 or (Path(run.title) / FOLDER).is_dir()
        models = [] if own else [str(scores.stored.model.get("name", run.title)) for scores in run.evaluations]
        return Path([*models, run.title][0]).name

    counts = Counter(map(name, runs))
    return [run._replace(title=name(run)) if counts[name(run)] == 1 else run for run in runs]


def read_results(directory: Path) -> list[Evaluation]:
    """Return the evaluations in a run's `evaluation/`, or in the directory itself; raises as `load` does."""
    folder = directory / FOLDER if (directory / FOLDER).is_dir() else directory
    names = [*suite_names(), *sorted(path.stem for path in folder.glob("judge-*.json")), "mteb"]
    files = [path for name in names if (path := folder / f"{name}.json").is_file()]
    return [Evaluation(load(StoredSuite, path), path) for path in files]


def read_training(run: Path) -> list[Evaluation]:
    """Return the last loss and spread in a run's log, and the dev score of the weights that were kept."""
    try:
        lines = [json.loads(line) for line in (run / LOG).read_text(encoding="utf-8").splitlines()]
        keep = json.loads((run / RECIPE).read_text(encoding="utf-8")).get("keep")
    except (FileNotFoundError, ValueError):
        return []
    figures = {key: entry[key] for entry in lines for key in ("loss", "spread") if key in entry}
    if dev := [entry["dev"] for entry in lines if "dev" in entry]:
        figures["dev"] = max(dev) if keep == "best" else dev[-1]
    common: dict[str, Any] = {"title": "", "size": 0, "counted": False, "sha256": ""}
    sets = {key: StoredSet(figures={key: value}, **common) for key, value in figures.items()}
    return [Evaluation(StoredSuite(suite=TRAINING, model={}, settings={}, sets=sets), run)] if sets else []


def _runs(folders: Sequence[Path]) -> list[Run]:
    """Return a run for each folder that has results."""
    runs = [Run(str(folder), read_results(folder)) for folder in folders]
    return [run for run in runs if run.evaluations]
