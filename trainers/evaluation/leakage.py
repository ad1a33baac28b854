"""Texts that an evaluation set shares with the text that a model was trained on."""

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import regex

from pipelines.console import InputError, MissingExtraError
from trainers.data.examples import Examples
from trainers.evaluation.task import Task

RECIPE = "recipe.json"
# Not marks, which are vowels in many scripts. Joiners and other invisible characters go with the spaces.
IGNORED = regex.compile(r"[\p{P}\p{S}\p{Z}\p{C}]+")


class Leakage(NamedTuple):
    """How much of each set occurs in a training text.

    `counts`: by suite and set, the distinct texts that occur there, and all distinct texts; texts that differ only in
    case, spaces and punctuation are one. `notes`: training text that could not be read and is not counted.
    """

    counts: Mapping[tuple[str, str], tuple[int, int]]
    notes: tuple[str, ...] = ()


def normalised(text: str) -> str:
    """Return a text without case, spaces, punctuation and symbols; stripped, if it has nothing else."""
    return IGNORED.sub("", unicodedata.normalize("NFKC", text).casefold()) or text.strip()


def find_leaks(model_directory: Path, suites: Mapping[str, Sequence[Task]]) -> Leakage | None:
    """Count which texts of each set a trained model has seen, by its `recipe.json`; None without one.

    The training text is read again from where the recipe says, and must have the hash that the recipe has. Pairs count
    with both views, the original and the hard negative. If the training began from another run, that run's text counts.
    """
    read: dict[Path, Examples | str] = {}
    directory = model_directory
    while directory.resolve() not in read:
        try:
            recipe = json.loads((directory / RECIPE).read_text(encoding="utf-8"))
            start = str(recipe["twinviews"] and recipe.get("encoder"))
        except (OSError, ValueError, LookupError, TypeError):
            break
        read[directory.resolve()] = _training_text(directory, recipe)
        starts = (place / start for place in _places(directory))
        directory = next((path for path in starts if (path / RECIPE).is_file()), Path(start))
    if not read:
        return None
    # The three columns of plain sentences are one object.
    examples = [item for item in read.values() if not isinstance(item, str)]
    columns = {id(column): column for item in examples for column in item.columns()}.values()
    counts = leaks_of((text for column in columns for text in column if text), suites) if columns else {}
    return Leakage(counts, tuple(item for item in read.values() if isinstance(item, str)))


def leaks_of(texts: Iterable[str], suites: Mapping[str, Sequence[Task]]) -> dict[tuple[str, str], tuple[int, int]]:
    """Count, as `Leakage` has them, which texts of each set occur in `texts`, a training text; it is read once."""
    keys = {(name, task.name): set(map(normalised, task.texts)) for name, tasks in suites.items() for task in tasks}
    # Only the matches are kept: the training text may be larger than memory.
    seen = set().union(*keys.values()).intersection(map(normalised, texts))
    return {name: (len(each & seen), len(each)) for name, each in keys.items()}


def _places(directory: Path) -> list[Path]:
    """Return where a recipe's relative paths may start: here, or in a parent folder of the run."""
    return [Path(), *directory.resolve().parents]


def _training_text(directory: Path, recipe: Mapping[str, Any]) -> Examples | str:
    """Return what a run was trained on, or a line on why it cannot be read."""
    from trainers.data.kinds import KINDS, DataOptions, read_examples

    kind = next((kind for kind in KINDS if recipe.get(kind) is not None), None)
    reason = "its recipe names none"
    for place in _places(directory) if kind else ():
        values = {name: recipe.get(name) for name in (*KINDS, "scale", "limit")}
        if kind == "views":
            values["views"] = [str(place / written) for written in recipe["views"]]
        elif kind != "words" or (place / recipe["words"].partition(":")[0]).is_file():
            values[str(kind)] = str(place / recipe[str(kind)])
        try:
            examples, _ = read_examples(DataOptions(**values), (str(kind),), recipe.get("seed", 1))
        except (InputError, MissingExtraError) as error:
            reason = str(error) if place == Path() else reason
            continue
        if examples.digest() == recipe["twinviews"].get("data_xxh64"):
            return examples
        reason = "it has changed since"
    return f"the training text of {directory} is not counted: {reason}"
