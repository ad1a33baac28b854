"""Stored scores: the files that evaluations and studies leave, read as runs with an evaluation for each seed."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.terminal.console import InputError
from trainers.evaluation.result_files import Stored, StoredSet, StoredSuite, load
from trainers.evaluation.suites import suite_names
from trainers.training.directory import LOG, RECIPE

FOLDER, TRAINING = "evaluation", "training"
STUDY, UNTRAINED = "seeds.json", "untrained"


class SeedRun(Stored):
    """One training of several seeds, in the folder `seed-N`, and why it failed if it did."""

    seed: int
    error: str | None = None


class StoredSeeds(Stored):
    """The file that `train OBJECTIVE --seeds` writes."""

    runs: list[SeedRun]


class Evaluation(NamedTuple):
    """The results of one suite and their file; `seed`: the training's, or the folder if it is not known."""

    stored: StoredSuite
    file: Path
    seed: str


Reader = Callable[[Path, str], list[Evaluation]]  # from a run's folder and its seed to its evaluations


class Run(NamedTuple):
    """One evaluated model, or all seeds of one training: `seeds` counts those without results too."""

    title: str
    evaluations: Sequence[Evaluation]
    seeds: int = 1

    def of(self, suite: str) -> list[Evaluation]:
        """Return the evaluations on a suite, one for each seed."""
        return [evaluation for evaluation in self.evaluations if evaluation.stored.suite == suite]

    def records(self) -> list[dict[str, Any]]:
        """Return the long form as JSON values: a row for each figure, x 100 for rates."""
        return [
            {"run": self.title, "file": str(file), "weights": stored.model.get("weights"), "items": item.sha256,
             "settings": stored.settings, "seed": seed, "suite": stored.suite, "set": name, "metric": metric,
             "value": value}
            for stored, file, seed in self.evaluations
            for name, item in stored.sets.items()
            for metric, value in item.figures.items()
        ]  # fmt: skip


def read_runs(path: Path) -> list[Run]:
    """Read a run's directory, a folder of results, a JSON file of them, or a study.

    A model that has only results of other settings gives a run for each. A study without results gives what its
    trainings logged. Raises InputError if none can be read.
    """
    if not path.exists():
        raise InputError(f"no run at {str(path)!r}: give a run's directory, or a JSON file of results")
    for reader in (read_results, read_training):
        runs = [run for file in _studies(path) for run in read_study(file, reader)]
        if any(run.evaluations for run in runs):
            return runs
    if path.is_file():
        return [Run(str(path), [Evaluation(load(StoredSuite, path), path, str(path))])]
    runs = _runs([path]) or _runs(sorted((path / FOLDER).glob("*/")))
    if not runs:
        raise InputError(f"no results in {str(path)!r}: run `train evaluate` first, or name folders in it")
    return runs


def seed_folders(path: Path) -> list[Path]:
    """Return the folders of several seeds, those that failed left out; of anything else the path itself."""
    return [folder for file in _studies(path) for folder in _folders(file).values()] or [path]


def named(runs: Sequence[Run]) -> list[Run]:
    """Return the runs titled by the name of their folder, or of the model that results are of, where that is unique."""

    def name(run: Run) -> str:
        own = run.seeds > 1 or (Path(run.title) / FOLDER).is_dir() or Path(run.title).name == UNTRAINED
        models = [] if own else [str(scores.stored.model.get("name", run.title)) for scores in run.evaluations]
        return Path([*models, run.title][0]).name

    counts = Counter(map(name, runs))
    return [run._replace(title=name(run)) if counts[name(run)] == 1 else run for run in runs]


def _studies(path: Path) -> list[Path]:
    return [file for file in (path, path / STUDY) if file.name == STUDY and file.is_file()]


def read_results(directory: Path, seed: str) -> list[Evaluation]:
    """Return the evaluations in a run's `evaluation/`, or in the directory itself; raises as `load` does."""
    folder = directory / FOLDER if (directory / FOLDER).is_dir() else directory
    names = [*suite_names(), *sorted(path.stem for path in folder.glob("judge-*.json")), "mteb"]
    files = [path for name in names if (path := folder / f"{name}.json").is_file()]
    return [Evaluation(load(StoredSuite, path), path, seed) for path in files]


def read_training(run: Path, seed: str) -> list[Evaluation]:
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
    return [Evaluation(StoredSuite(suite=TRAINING, model={}, settings={}, sets=sets), run, seed)] if sets else []


def read_study(file: Path, reader: Reader = read_results) -> list[Run]:
    """Return the seeds of a `seeds.json` as one run, and the untrained encoder beside it if it was scored."""
    evaluations = [found for seed, folder in _folders(file).items() for found in reader(folder, str(seed))]
    seeds = Run(str(file.parent), evaluations, len(load(StoredSeeds, file).runs))
    return [seeds, *_runs([file.parent / UNTRAINED], reader)]


def _folders(file: Path) -> dict[int, Path]:
    """Return the folders of the seeds that did not fail; their parent may have been moved since."""
    runs = load(StoredSeeds, file).runs
    return {run.seed: file.parent / f"seed-{run.seed}" for run in runs if run.error is None}


def _runs(folders: Sequence[Path], reader: Reader = read_results) -> list[Run]:
    """Return a run for each folder that has results."""
    runs = [Run(str(folder), reader(folder, str(folder))) for folder in folders]
    return [run for run in runs if run.evaluations]
