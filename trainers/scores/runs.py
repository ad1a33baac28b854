"""Stored scores: the files that evaluations leave, read as runs with an evaluation for each seed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pipelines.base.console import InputError
from trainers.encoders.location import RECIPE
from trainers.scores.result_files import StoredSet, StoredSuite, load
from trainers.scores.statistics.estimates import Estimate, estimate
from trainers.scores.suites import suite_names
from trainers.scores.task import PREFIX, Predictions

FOLDER = "evaluation"
ROUNDING = 0.01  # the most that the score of the items may differ from the figure beside them


class ScoredSet(NamedTuple):
    """The results of one set, the predictions behind them, and the estimate of its first figure."""

    stored: StoredSet
    items: Predictions
    estimate: Estimate


Sets: TypeAlias = Mapping[str, ScoredSet]
"""A run's sets of one suite by name; those without a score are left out."""


class Run(NamedTuple):
    """One evaluated model, or all seeds of one training: `seeds` counts those without results too."""

    title: str
    evaluations: Sequence[StoredSuite]
    seeds: int = 1

    def of(self, suite: str) -> list[StoredSuite]:
        """Return the evaluations on a suite, one for each seed."""
        return [evaluation for evaluation in self.evaluations if evaluation.suite == suite]


def estimates_by_title(sets: Sets) -> dict[str, Estimate]:
    """Return the estimates of sets by their titles."""
    return {of.stored.title: of.estimate for of in sets.values()}


def read_runs(path: Path) -> list[Run]:
    """Read a run, a folder of results or of several seeds, or a file of results.

    Raises InputError for none.
    """
    if not path.exists():
        raise InputError(f"no run at {str(path)!r}: give a run's directory, or a JSON file of results")
    seeds = [folder for folder in seed_folders(path) if folder != path]
    if evaluations := [evaluation for folder in seeds for evaluation in read_results(folder)]:
        return [Run(str(path), evaluations, len(seeds))]
    runs = _runs([path]) or _runs(sorted((path / FOLDER).glob("*/")))
    if not runs:
        raise InputError(f"no results in {str(path)!r}: run `train evaluate` first, or name folders in it")
    return runs


def seed_folders(path: Path) -> list[Path]:
    """The folders that `--seeds` makes in a folder, in the order of the seeds; of anything else itself."""
    folders = sorted(file.parent for file in path.glob(f"seed-*/{RECIPE}"))
    return sorted(folders, key=lambda folder: len(folder.name)) or [path]


def named(runs: Sequence[Run]) -> list[Run]:
    """Return the runs titled by the name of their folder, or of the model that results are of, where that is unique."""

    def name(run: Run) -> str:
        if run.seeds > 1 or (Path(run.title) / FOLDER).is_dir():
            return Path(run.title).name
        return Path(run.evaluations[0].model.get("name", run.title)).name

    names = [name(run) for run in runs]
    return [
        run._replace(title=name) if names.count(name) == 1 else run
        for run, name in zip(runs, names, strict=True)
    ]


def read_results(directory: Path) -> list[StoredSuite]:
    """Return the evaluations in a run's `evaluation/`, in the directory itself, or in a file.

    Raises as `load` does.
    """
    if directory.is_file():
        return [load(directory)]
    folder = directory / FOLDER if (directory / FOLDER).is_dir() else directory
    names = [*suite_names(), *sorted(path.stem for path in folder.glob(f"{PREFIX}*.json"))]
    files = [path for name in names if (path := folder / f"{name}.json").is_file()]
    return [load(path) for path in files]


def read_sets(evaluation: StoredSuite) -> Sets:
    """Return the sets of an evaluation; raises InputError for damaged items or those of another one."""
    file = evaluation.file.with_name(f"{evaluation.suite}.items.npz")
    sets, arrays = dict[str, ScoredSet](), dict[str, Any]()
    try:
        if file.is_file():
            with np.load(file) as stored_arrays:
                arrays = dict(stored_arrays)
        for name in dict.fromkeys(key.rpartition("/")[0] for key in arrays):
            gold, predicted, statistic = (
                arrays[f"{name}/{part}"] for part in ("gold", "predicted", "statistic")
            )
            items = Predictions(statistic.item(), gold, predicted, arrays.get(f"{name}/groups"))
            stored = evaluation.sets[name]
            scored = ScoredSet(stored, items, estimate(items))
            figure, score = next(iter(stored.figures.values()), None), scored.estimate.score
            if figure is None and np.isnan(score):
                continue
            if figure is None or not abs(score - figure) <= ROUNDING:
                raise ValueError(f"{name}: {score} there, {figure} in the results")
            sets[name] = scored
    except Exception as error:  # a flipped bit can be taken for encryption, an unknown compression and so on
        raise InputError(f"{file} does not match the results beside it ({error}): evaluate again") from None
    return sets


def check_items(first: Sets, second: Sets) -> None:
    """Raise InputError if a set that both have is of different items."""
    for name, of in first.items():
        if name in second and of.stored.sha256 != second[name].stored.sha256:
            raise InputError(
                f"{of.stored.title} has different items in the two runs: evaluate both on one copy"
            )


def _runs(folders: Sequence[Path]) -> list[Run]:
    runs = [Run(str(folder), read_results(folder)) for folder in folders]
    return [run for run in runs if run.evaluations]
