"""Stored scores: the files that evaluations and studies leave, read as runs with an evaluation for each seed."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from pipelines.console import InputError
from trainers.evaluation.suites import suite_names

FOLDER = "evaluation"
STUDIES = ("seeds.json", "sweep.json")
UNTRAINED = "untrained=*"

Model = TypeVar("Model", bound=BaseModel)


class _Stored(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class StoredSet(_Stored):
    """One set of an evaluation: its figures, the first the set's own, and the sha256 of its items.

    `seen_in_training`: how many of its `texts` stand in the training data, `of` how many.
    """

    title: str
    size: int
    counted: bool
    sha256: str
    note: str | None = None
    figures: dict[str, FiniteFloat | None]
    seen_in_training: dict[str, int] | None = None


class StoredSuite(_Stored):
    """The file that `train evaluate` writes for a suite."""

    suite: Annotated[str, Field(pattern=r"^[\w-]+$")]
    date: str = ""
    model: dict[str, Any]
    adaptation: Any = None
    settings: dict[str, Any]
    sets: dict[str, StoredSet]


class StudyRun(_Stored):
    """One training of a study: its folder, and why it failed if it did."""

    seed: int
    directory: str
    error: str | None = None


class StudyCell(_Stored):
    """One setting of a study under all its seeds."""

    settings: dict[str, str]
    runs: list[StudyRun]


class StoredStudy(_Stored):
    """The file that `train OBJECTIVE --seeds` and `train sweep` write; `options` hold for all settings."""

    options: dict[str, Any] = {}
    cells: list[StudyCell]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of one suite and the file they are in; `seed`: of the training, or outside a study the folder."""

    stored: StoredSuite
    file: Path
    seed: str


@dataclass(frozen=True, slots=True)
class Run:
    """One evaluated model, or all seeds of one setting of a study: `seeds` counts those without results too."""

    title: str
    evaluations: Sequence[Evaluation]
    seeds: int = 1

    def of(self, suite: str) -> list[Evaluation]:
        """Return the evaluations on a suite, one for each seed."""
        return [each for each in self.evaluations if each.stored.suite == suite]

    def records(self) -> list[dict[str, Any]]:
        """Return the long form as JSON values: a row for each figure, x 100 where it is a rate."""
        rows = []
        for each in self.evaluations:
            stored = each.stored
            about = {"run": self.title, "file": str(each.file), "weights": stored.model.get("weights")}
            settings = {**stored.settings, "adaptation": stored.adaptation}
            for name, item in stored.sets.items():
                of_set = {"items": item.sha256, "settings": settings, "seed": each.seed, "suite": stored.suite}
                for metric, value in item.figures.items():
                    rows.append({**about, **of_set, "set": name, "metric": metric, "value": value})
        return rows


def read_runs(path: Path) -> list[Run]:
    """Read what a user named: a run's directory, a folder of results, a JSON file of them, or a study.

    A model without results of its own pooling gives a run for every pooling or map that it was evaluated with. Raises
    InputError: nothing is there, or what is there cannot be read.
    """
    if path.is_file():
        if path.name in STUDIES:
            return read_study(path)
        return [Run(str(path), [Evaluation(load(StoredSuite, path), path, str(path))])]
    if not path.is_dir():
        raise InputError(f"no run at {str(path)!r}: give a run's directory, or a JSON file of results")
    found = [run for name in STUDIES if (path / name).is_file() for run in read_study(path / name)]
    if not found:
        found = _runs([path]) or _runs(sorted((path / FOLDER).glob("*/")))
    if not any(run.evaluations for run in found):
        raise InputError(f"no results in {str(path)!r}: run `train evaluate` first, or name folders in it")
    return found


def read_results(directory: Path, seed: str) -> list[Evaluation]:
    """Return the evaluations in a run's `evaluation/`, or in the directory itself.

    Raises InputError: a file of results is broken.
    """
    folder = directory / FOLDER if (directory / FOLDER).is_dir() else directory
    files = [path for name in suite_names() if (path := folder / f"{name}.json").is_file()]
    return [Evaluation(load(StoredSuite, path), path, seed) for path in files]


def read_study(file: Path, read: Callable[[Path, str], list[Evaluation]] = read_results) -> list[Run]:
    """Return a run for each setting of a study, and for each untrained encoder that was scored with it.

    `file` is its `seeds.json` or `sweep.json`; `read` gives the evaluations of a run's folder and its seed. Raises
    InputError: the file, or one of results, is broken.
    """
    runs = []
    for cell in load(StoredStudy, file).cells:
        title = ", ".join(f"{name}={label}" for name, label in cell.settings.items())
        # Where the folder is now, whatever directory the study was made from.
        depth = 2 if title else 1
        found = [
            each
            for run in cell.runs
            if run.error is None
            for each in read(file.parent.joinpath(*Path(run.directory).parts[-depth:]), str(run.seed))
        ]
        runs.append(Run(f"{file.parent} {title}".rstrip(), found, len(cell.runs)))
    return runs + _runs(sorted(file.parent.glob(UNTRAINED)), read)


def _runs(folders: Sequence[Path], read: Callable[[Path, str], list[Evaluation]] = read_results) -> list[Run]:
    """Return a run for each folder that has results."""
    runs = [Run(str(folder), read(folder, str(folder))) for folder in folders]
    return [run for run in runs if run.evaluations]


def load(model: type[Model], path: Path) -> Model:
    """Read a file of results. Raises InputError: it cannot be read, or holds something else."""
    try:
        return model.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        raise InputError(f"{path} holds no results that can be read: make them again, or leave it out") from None


def shorten(runs: Sequence[Run], named: Sequence[Path]) -> list[Run]:
    """Leave out of the titles of several runs the folders in which everything that was `named` lies."""
    if len(runs) < 2 or len({path.is_absolute() for path in named}) > 1:
        return list(runs)
    shared = os.path.join(os.path.commonpath([path.parent for path in named]), "")
    # Without the root a path would look like a relative one.
    return [replace(run, title=run.title.removeprefix(shared)) if shared != os.sep else run for run in runs]
