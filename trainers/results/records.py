"""Stored scores in long form: a record for each figure of each run, read from what evaluations and studies left."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from pipelines.console import InputError

FOLDER = "evaluation"
STUDIES = ("seeds.json", "sweep.json")
UNTRAINED = "untrained=*"
MANY = 8
"""Folders that are named one by one; of more, the number of the others."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Seen(_Strict):
    """How many of a set's distinct texts stand in the training data."""

    texts: int
    of: int


class StoredSet(_Strict):
    """One set of an evaluation as it is stored: its figures, the first the set's own, and what they are of.

    `note`: remarks on this copy or its protocol, parted by "; "; `sha256`: of the items.
    """

    title: str
    size: int
    counted: bool
    sha256: str
    note: str | None
    figures: dict[str, FiniteFloat | None]
    seen_in_training: Seen | None


class StoredModel(_Strict):
    """The encoder: its name, pooling, and the checksums of its weights."""

    name: str
    pooling: str | None = None
    weights: dict[str, Any] | None = None


class StoredSuite(_Strict):
    """What is read of the file that `train evaluate` writes for a suite."""

    suite: Annotated[str, Field(pattern=r"^[\w-]+$")]
    date: str = ""
    model: StoredModel
    adaptation: Any
    settings: dict[str, Any]
    sets: dict[str, StoredSet]

    @property
    def encoder(self) -> dict[str, str]:
        """Everything that tells one encoder from another, checksums shortened."""
        return {
            "model": self.model.name,
            "weights": ", ".join(str(digest)[:8] for digest in (self.model.weights or {}).values()),
            "pooling": str(self.model.pooling),
            "precision": str(self.settings.get("precision")),
            "adaptation": json.dumps(self.adaptation) if self.adaptation else "none",
        }


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One figure of one evaluation, x 100 where it is a rate.

    `seed`: of the training, or the folder where it is no part of a study; `of`: the set that was scored; `values`: the
    whole file, for the signature.
    """

    set: str
    metric: str
    value: float | None
    seed: str
    of: StoredSet
    stored: StoredSuite
    file: Path
    values: Mapping[str, Any]

    @property
    def suite(self) -> str:
        """The suite's name."""
        return self.stored.suite

    @property
    def items_file(self) -> Path:
        """Where the predictions for the single items lie, if the suite has any and they are still there."""
        return self.file.with_name(f"{self.suite}.items.npz")


@dataclass(frozen=True, slots=True)
class Run:
    """One evaluated model, or all seeds of one setting of a study.

    `title`: what is printed for it; `path`: the folder or file, whole; `lost`: seeds without results, by the reason.
    """

    title: str
    path: Path
    records: tuple[Record, ...]
    lost: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def known(self) -> list[str]:
        """The seeds that have results."""
        return list(dict.fromkeys(record.seed for record in self.records))

    @property
    def seeds(self) -> int:
        """The number of seeds, with results or without."""
        return len(self.known) + sum(map(len, self.lost.values()))

    def of(self, suite: str) -> list[Record]:
        """Return the records of a suite."""
        return [record for record in self.records if record.suite == suite]


def group(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the values of each key, keys and values in order of first appearance and each once."""
    found: dict[Key, dict[Value, None]] = {}
    for key, value in pairs:
        found.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in found.items()}


def read_runs(path: Path) -> list[Run]:
    """Read what a user named: a run's directory, a folder of results, a JSON file of them, or a study.

    A study (`train OBJECTIVE --seeds`, `train sweep`) gives a run for every setting, all its seeds in one, and one for
    each untrained encoder that was scored with it. A model without results of its own pooling gives one for every
    pooling or map that it was evaluated with.

    Raises:
        InputError: Nothing is there, or what is there is no result.
    """
    if path.is_file():
        values = read_json(path)
        if isinstance(values.get("cells"), list):
            return _study(path, values)
        return [Run(str(path), path, tuple(_records(path, values, str(path))))]
    if not path.is_dir():
        raise InputError(f"no run at {str(path)!r}: give a run's directory, or a JSON file of results")
    found = _in_folder(path)
    if found:
        return found
    below = [str(folder) for folder in sorted(path.iterdir()) if _holds_results(folder)]
    if not below:
        raise InputError(f"no results in {str(path)!r}: run `train evaluate {path}` first")
    others = f" or {len(below) - MANY} more" if len(below) > MANY else ""
    raise InputError(f"no results in {str(path)!r} itself: name folders in it, {', '.join(below[:MANY])}{others}")


def shortened(runs: Sequence[Run], named: Sequence[Path]) -> list[Run]:
    """Return the runs with titles that leave out the folders in which everything that was named lies.

    Args:
        runs: As they were read; a single one keeps its title.
        named: What they were read from.
    """
    if len(runs) < 2 or len({path.is_absolute() for path in named}) > 1:
        return list(runs)
    shared = os.path.commonpath([path.parent for path in named])
    start = os.path.join(shared, "") if shared else ""
    within = all(run.title.startswith(start) and run.title[len(start) :][:2] != ".." for run in runs)
    # Without the root alone a path would look like a relative one, and ".." says nothing by itself.
    if not within or start == os.sep:
        return list(runs)
    return [replace(run, title=run.title[len(start) :]) for run in runs]


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, an empty one where something else is in it.

    Raises:
        InputError: It cannot be read.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON ({error}): evaluate again, or leave it out") from None
    return values if isinstance(values, dict) else {}


def read_results(directory: Path, seed: str) -> list[Record]:
    """Return the records of the evaluations in a run's `evaluation/`, or in the directory itself.

    Raises:
        InputError: A file of results is broken, or two are of the same suite.
    """
    folder = directory / FOLDER if (directory / FOLDER).is_dir() else directory
    files: dict[str, Path] = {}
    records = []
    for path in sorted(folder.glob("*.json")):
        values = read_json(path)
        if "suite" in values and "sets" in values:
            records += _records(path, values, seed)
            other = files.setdefault(values["suite"], path)
            if other is not path:
                raise InputError(
                    f"{other} and {path} are both results of {values['suite']}: name one, or move one away"
                )
    return records


def _in_folder(path: Path) -> list[Run]:
    """Return what a run's folder, a folder of results or a study holds; nothing if it is none of them."""
    studies = [path / name for name in STUDIES if (path / name).is_file()]
    if studies:
        return [run for file in studies for run in _study(file, read_json(file))]
    # Evaluations with another pooling or map than the model's own stand in folders below.
    own = read_results(path, str(path))
    folders = [path] if own else [folder for folder in sorted((path / FOLDER).glob("*")) if folder.is_dir()]
    found = [Run(str(folder), folder, tuple(own or read_results(folder, str(folder)))) for folder in folders]
    return [run for run in found if run.records]


def _holds_results(folder: Path) -> bool:
    try:
        return folder.is_dir() and bool(_in_folder(folder))
    except (InputError, OSError):
        return False


def _study(file: Path, values: Mapping[str, Any]) -> list[Run]:
    try:
        found = [_setting(file.parent, cell) for cell in values["cells"] if cell["runs"]]
    except (LookupError, TypeError, AttributeError):
        raise InputError(f"{file} is no study's results: train again, or name the runs one by one") from None
    for folder in sorted(file.parent.glob(UNTRAINED)):
        records = read_results(folder, str(folder))
        if records:
            found.append(Run(str(folder), folder, tuple(records)))
    if not any(run.records for run in found):
        raise InputError(f"no run of {file} is evaluated: train it again with --data DIR, the same command adds scores")
    return found


def _setting(study: Path, cell: Mapping[str, Any]) -> Run:
    settings = ", ".join(f"{name}={label}" for name, label in cell["settings"].items())
    records: list[Record] = []
    lost = []
    for run in cell["runs"]:
        seed = str(run["seed"])
        scores = [] if run["error"] else read_results(_moved(study, run["directory"]), seed)
        records += scores
        if not scores:
            lost.append(("failed" if run["error"] else "not evaluated", seed))
    return Run(f"{study} {settings}".rstrip(), study, tuple(records), group(lost))


def _moved(study: Path, written: str) -> Path:
    """Return a run's folder where it is now: below the study, whatever directory the study was made from."""
    parts = Path(written).parts
    candidates = [study.joinpath(*parts[start:]) for start in range(len(parts))]
    return next((folder for folder in candidates if folder.is_dir()), Path(written))


def _records(path: Path, values: Mapping[str, Any], seed: str) -> list[Record]:
    """Return the records of one file of results.

    Raises:
        InputError: It is no evaluation, or damaged.
    """
    try:
        stored = StoredSuite.model_validate(values)
    except ValidationError as error:
        if {"suite", "sets"} & {place for each in error.errors() for place in each["loc"][:1] if len(each["loc"]) == 1}:
            raise InputError(
                f"{path} holds no evaluation: give a file that `train evaluate` wrote, or a run's directory"
            ) from None
        raise InputError(f"{path} is damaged, or of another version of Twinviews: run `train evaluate` again") from None
    return [
        Record(name, metric, value, seed, each, stored, path, values)
        for name, each in stored.sets.items()
        for metric, value in each.figures.items()
    ]
