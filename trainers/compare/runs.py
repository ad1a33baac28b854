"""Evaluations as they lie beside runs: one run, a folder of results, or all seeds of a study."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.console import InputError
from trainers.compare.items import read_items

if TYPE_CHECKING:
    from trainers.evaluation.task import Items

FOLDER = "evaluation"
STUDIES = ("seeds.json", "sweep.json")
UNTRAINED = "untrained=*"
MANY = 8
"""Folders that are named one by one; of more, the number of the others."""


@dataclass(frozen=True, slots=True)
class SetFigures:
    """One set of an evaluation: the items that were scored, and the figures x 100, the first the set's own.

    `seen`: how many of its distinct texts stand in what the model was trained on, of how many; None: unknown.
    `note`: what must be known of this copy or its protocol, remarks parted by "; ". `sha256`: of the items.
    """

    title: str
    size: int
    counted: bool
    figures: Mapping[str, float | None]
    seen: tuple[int, int] | None
    note: str | None
    sha256: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One suite's results of one run, as `train evaluate` wrote them.

    `encoder`: its name, weights (checksums, shortened), pooling, precision and what its vectors were adapted by.
    """

    path: Path
    suite: str
    date: str
    sets: Mapping[str, SetFigures]
    encoder: Mapping[str, str]

    @property
    def items_file(self) -> Path:
        """Where the items lie, if the suite has any and they are still there."""
        return self.path.with_name(f"{self.suite}.items.npz")

    def items(self) -> dict[str, Items]:
        """Return what each item of each set gave, from `<suite>.items.npz` beside the results.

        Nothing where there is no such file: some suites have no items, such as geometry.

        Raises:
            InputError: The file is broken.
        """
        return read_items(self.items_file) if self.items_file.is_file() else {}


@dataclass(frozen=True, slots=True)
class Contender:
    """A row of ours: one run, or the seeds of one setting; each run's evaluations by suite.

    `path`: the folder or file, whole; `title`: what is printed for it, with the setting if it is one of a study.
    `lost`: the seeds of the setting that have no results, by what became of them.
    """

    title: str
    path: Path
    runs: tuple[Mapping[str, Evaluation], ...]
    lost: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        """The number of seeds that were run, with results or without."""
        return len(self.runs) + sum(len(seeds) for seeds in self.lost.values())

    def of(self, suite: str) -> list[Evaluation]:
        """Return the evaluations on a suite, one for each run that has it."""
        return [run[suite] for run in self.runs if suite in run]


def read_contenders(path: Path) -> list[Contender]:
    """Read what a user named: a run's directory, a folder of results, a JSON file of them, or a study.

    A study (`train OBJECTIVE --seeds`, `train sweep`) gives a contender for every setting, all its seeds in one, and
    one for each untrained encoder that was scored with it. A model without results of its own pooling gives one for
    every pooling or map that it was evaluated with.

    Raises:
        InputError: Nothing is there, or what is there is no result.
    """
    if path.is_file():
        values = _json(path)
        if isinstance(values.get("cells"), list):
            return _study(path, values)
        found = _evaluation(path, values)
        return [Contender(str(path), path, ({found.suite: found},))]
    if not path.is_dir():
        raise InputError(f"no run at {str(path)!r}: give a run's directory, or a JSON file of results")
    present = _in_folder(path)
    if not present:
        below = [str(folder) for folder in sorted(path.iterdir()) if _holds_results(folder)]
        if below:
            others = f" or {len(below) - MANY} more" if len(below) > MANY else ""
            raise InputError(
                f"no results in {str(path)!r} itself: name folders in it, {', '.join(below[:MANY])}{others}"
            )
        raise InputError(f"no results in {str(path)!r}: run `train evaluate {path}` first")
    return present


def shortened(contenders: Sequence[Contender], named: Sequence[Path]) -> list[Contender]:
    """Return the contenders with titles that leave out the folders in which everything that was named lies.

    Args:
        contenders: As they were read; a single one keeps its title.
        named: What they were read from.
    """
    if len(contenders) < 2 or len({path.is_absolute() for path in named}) > 1:
        return list(contenders)
    shared = os.path.commonpath([path.parent for path in named])
    start = os.path.join(shared, "") if shared else ""
    within = all(each.title.startswith(start) and each.title[len(start) :][:2] != ".." for each in contenders)
    # Without the root alone a path would look like a relative one, and ".." says nothing by itself.
    if not within or start == os.sep:
        return list(contenders)
    return [replace(contender, title=contender.title[len(start) :]) for contender in contenders]


def _in_folder(path: Path) -> list[Contender]:
    """Return what a run's folder, a folder of results or a study holds; nothing if it is none of them."""
    studies = [path / name for name in STUDIES if (path / name).is_file()]
    if studies:
        return [contender for file in studies for contender in _study(file, _json(file))]
    # What was evaluated with other poolings or maps than its own stands in folders below.
    ways = sorted(folder for folder in (path / FOLDER).glob("*") if folder.is_dir())
    own = read_results(path)
    results = {path: own} if own else {folder: read_results(folder) for folder in ways}
    return [Contender(str(folder), folder, (suites,)) for folder, suites in results.items() if suites]


def _holds_results(folder: Path) -> bool:
    try:
        return folder.is_dir() and bool(_in_folder(folder))
    except (InputError, OSError):
        return False


def read_results(directory: Path) -> dict[str, Evaluation]:
    """Return the evaluations in a run's `evaluation/`, or in the directory itself, by suite.

    Raises:
        InputError: A file of results is broken, or two are of the same suite.
    """
    folder = directory / FOLDER if (directory / FOLDER).is_dir() else directory
    found: dict[str, Evaluation] = {}
    for path in sorted(folder.glob("*.json")):
        values = _json(path)
        if "suite" in values and "sets" in values:
            evaluation = _evaluation(path, values)
            other = found.setdefault(evaluation.suite, evaluation)
            if other is not evaluation:
                raise InputError(
                    f"{other.path} and {path} are both results of {evaluation.suite}: name one, or move one away"
                )
    return found


def _study(file: Path, values: Mapping[str, Any]) -> list[Contender]:
    try:
        found = [_setting(file.parent, cell) for cell in values["cells"] if cell["runs"]]
    except (LookupError, TypeError, AttributeError):
        raise InputError(f"{file} is no study's results: train again, or name the runs one by one") from None
    for folder in sorted(file.parent.glob(UNTRAINED)):
        results = read_results(folder)
        if results:
            found.append(Contender(str(folder), folder, (results,)))
    if not any(contender.runs for contender in found):
        raise InputError(f"no run of {file} is evaluated: train it again with --data DIR, the same command adds scores")
    return found


def _setting(study: Path, cell: Mapping[str, Any]) -> Contender:
    settings = ", ".join(f"{name}={label}" for name, label in cell["settings"].items())
    runs, lost = [], dict[str, tuple[str, ...]]()
    for run in cell["runs"]:
        results = {} if run["error"] else read_results(_moved(study, run["directory"]))
        if results:
            runs.append(results)
        else:
            why = "failed" if run["error"] else "not evaluated"
            lost[why] = (*lost.get(why, ()), str(run["seed"]))
    return Contender(f"{study} {settings}".rstrip(), study, tuple(runs), lost)


def _moved(study: Path, written: str) -> Path:
    """Return a run's folder where it is now: below the study, whatever directory the study was made from."""
    parts = Path(written).parts
    candidates = [study.joinpath(*parts[start:]) for start in range(len(parts))]
    return next((folder for folder in candidates if folder.is_dir()), Path(written))


def _json(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as JSON ({error}): evaluate again, or leave it out") from None
    return values if isinstance(values, dict) else {}


def _evaluation(path: Path, values: Mapping[str, Any]) -> Evaluation:
    suite = values.get("suite")
    if not isinstance(suite, str) or not re.fullmatch(r"[\w-]+", suite) or not isinstance(values.get("sets"), dict):
        raise InputError(f"{path} holds no evaluation: give a file that `train evaluate` wrote, or a run's directory")
    try:
        sets = {name: _set(item) for name, item in values["sets"].items()}
        encoder = _encoder(values)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path} is damaged, or of another version of Twinviews: run `train evaluate` again") from None
    return Evaluation(path, suite, str(values.get("date", ""))[:10], sets, encoder)


def _set(item: Mapping[str, Any]) -> SetFigures:
    figures = {name: None if value is None else _number(value) for name, value in item["figures"].items()}
    seen, note = item["seen_in_training"], item["note"]
    counts = None if seen is None else (int(_number(seen["texts"])), int(_number(seen["of"])))
    return SetFigures(
        str(item["title"]),
        int(_number(item["size"])),
        bool(item["counted"]),
        figures,
        counts,
        None if note is None else str(note),
        str(item["sha256"]),
    )


def _number(value: object) -> float:
    # Compared so, NaN is refused too, and whole numbers that are too great for a float.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{value!r} is no number")
    return float(value)


def _encoder(values: Mapping[str, Any]) -> dict[str, str]:
    model, adaptation = values["model"], values["adaptation"]
    weights = ", ".join(str(digest)[:8] for digest in (model.get("weights") or {}).values())
    return {
        "model": str(model["name"]),
        "weights": weights,
        "pooling": str(model.get("pooling")),
        "precision": str(values["settings"].get("precision")),
        "adaptation": json.dumps(adaptation) if adaptation else "none",
    }


def suites_of(contenders: Sequence[Contender]) -> list[str]:
    """Return the suites that any of them has, in order of first appearance."""
    return list(dict.fromkeys(suite for each in contenders for run in each.runs for suite in run))


def all_sets(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, SetFigures]]:
    """Yield every set of several evaluations of a suite by name, each once."""
    seen: dict[str, SetFigures] = {}
    for evaluation in evaluations:
        for name, figures in evaluation.sets.items():
            seen.setdefault(name, figures)
    yield from seen.items()
