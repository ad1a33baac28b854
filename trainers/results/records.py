"""Stored scores in long form: a record for each figure of each run, read from what evaluations and studies left."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from pipelines.console import InputError
from trainers.evaluation.discovery import suite_names

FOLDER = "evaluation"
STUDIES = ("seeds.json", "sweep.json")
UNTRAINED = "untrained=*"

Key = TypeVar("Key")
Value = TypeVar("Value")
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


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One figure of one evaluation, x 100 where it is a rate.

    `seed`: of the training, or the folder where it is no part of a study; `of`: the set that was scored; `stored`: the
    whole evaluation; `file`: where that lies.
    """

    set: str
    metric: str
    value: float | None
    seed: str
    of: StoredSet
    stored: StoredSuite
    file: Path

    def json(self, run: str) -> dict[str, Any]:
        """Return the row of the long form as JSON values; `run` is what the tables call it."""
        settings = {**self.stored.settings, "adaptation": self.stored.adaptation}
        about = {"weights": self.stored.model.get("weights"), "items": self.of.sha256, "settings": settings}
        figure = {"suite": self.stored.suite, "set": self.set, "metric": self.metric, "value": self.value}
        return {"run": run, "file": str(self.file), **about, "seed": self.seed, **figure}


@dataclass(frozen=True, slots=True)
class Run:
    """One evaluated model, or all seeds of one setting of a study: `seeds` counts those without results too."""

    title: str
    records: Sequence[Record]
    seeds: int = 1

    def of(self, suite: str) -> list[Record]:
        """Return the records of a suite."""
        return [record for record in self.records if record.stored.suite == suite]


def group(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, keys and values in order of first appearance and each once."""
    found: dict[Key, dict[Value, None]] = {}
    for key, value in pairs:
        found.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in found.items()}


def read_runs(path: Path) -> list[Run]:
    """Read what a user named: a run's directory, a folder of results, a JSON file of them, or a study.

    A model without results of its own pooling gives a run for every pooling or map that it was evaluated with. Raises
    InputError: nothing is there, or what is there cannot be read.
    """
    if path.is_file():
        if path.name in STUDIES:
            return read_study(path)
        return [Run(str(path), records_of(load(StoredSuite, path), path, str(path)))]
    if not path.is_dir():
        raise InputError(f"no run at {str(path)!r}: give a run's directory, or a JSON file of results")
    found = [run for name in STUDIES if (path / name).is_file() for run in read_study(path / name)]
    if not found:
        own = Run(str(path), read_results(path, str(path)))
        # Evaluations with another pooling or map than the model's own stand in folders below its own.
        others = [] if own.records else sorted((path / FOLDER).glob("*/"))
        read = [own, *(Run(str(folder), read_results(folder, str(folder))) for folder in others)]
        found = [run for run in read if run.records]
    if not any(run.records for run in found):
        raise InputError(f"no results in {str(path)!r}: run `train evaluate` first, or name folders in it")
    return found


def read_results(directory: Path, seed: str) -> list[Record]:
    """Return the records of the evaluations in a run's `evaluation/`, or in the directory itself.

    Raises InputError: a file of results is broken.
    """
    folder = directory / FOLDER if (directory / FOLDER).is_dir() else directory
    files = [path for name in suite_names() if (path := folder / f"{name}.json").is_file()]
    return [record for path in files for record in records_of(load(StoredSuite, path), path, seed)]


def read_study(file: Path, read: Callable[[Path, str], list[Record]] = read_results) -> list[Run]:
    """Return a run for each setting of a study, and for each untrained encoder that was scored with it.

    `file` is its `seeds.json` or `sweep.json`; `read` gives the records of a run's folder and its seed. Raises
    InputError: the file, or one of results, is broken.
    """
    runs = []
    for cell in load(StoredStudy, file).cells:
        title = ", ".join(f"{name}={label}" for name, label in cell.settings.items())
        records = []
        for run in (run for run in cell.runs if run.error is None):
            # Where the folder is now, whatever directory the study was made from.
            parts = Path(run.directory).parts[-2 if title else -1 :]
            records += read(file.parent.joinpath(*parts), str(run.seed))
        runs.append(Run(f"{file.parent} {title}".rstrip(), records, len(cell.runs)))
    starts = [Run(str(folder), read(folder, str(folder))) for folder in sorted(file.parent.glob(UNTRAINED))]
    return runs + [run for run in starts if run.records]


def records_of(stored: StoredSuite, file: Path, seed: str) -> list[Record]:
    """Return a record for each figure of an evaluation."""
    return [
        Record(name, metric, value, seed, each, stored, file)
        for name, each in stored.sets.items()
        for metric, value in each.figures.items()
    ]


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
