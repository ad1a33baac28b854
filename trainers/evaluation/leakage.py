"""Texts that an evaluation set shares with the text that a model was trained on."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import regex

from pipelines.console import InputError, MissingExtraError

if TYPE_CHECKING:
    from trainers.data.examples import Examples
    from trainers.data.kinds import DataOptions
    from trainers.evaluation.task import Task

RECIPE = "recipe.json"
# Marks stay: in many scripts they are vowels. Joiners and other invisible characters go with the spaces.
IGNORED = regex.compile(r"[\p{P}\p{S}\p{Z}\p{C}]+")


@dataclass(frozen=True, slots=True)
class Leakage:
    """How much of each set stands in a training text.

    `counts`: by suite and set, its distinct texts that stand there, and its distinct texts, two texts being one where
    only case, spaces and punctuation differ. `notes`: training text that could not be looked at, a line each; what it
    shares is not in the counts, and where nothing could be looked at there are none.
    """

    counts: Mapping[tuple[str, str], tuple[int, int]]
    notes: tuple[str, ...] = ()


def normalised(text: str) -> str:
    """Return what is compared of a text: case, spaces, punctuation and symbols do not count.

    A text of nothing else is compared as it stands, without outer spaces.
    """
    return IGNORED.sub("", unicodedata.normalize("NFKC", text).casefold()) or text.strip()


def find_leaks(model_directory: Path, suites: Mapping[str, Sequence[Task]]) -> Leakage | None:
    """Count which texts of each set a trained model has seen, by the record of its training.

    The training text is read again from where the recipe says that it lay, and counts only if it is still the same
    (its hash stands in the recipe). Pairs count with both views and the original. Where the training began from
    another trained encoder, that one's text counts too.

    Args:
        model_directory: The run, with its `recipe.json`.
        suites: The evaluation sets by suite.

    Returns:
        The counts, or None where there is no record of a training.
    """
    recipes = _recipes(model_directory)
    if not recipes:
        return None
    read = [_training_text(directory, recipe) for directory, recipe in recipes]
    notes = tuple(dict.fromkeys(item for item in read if isinstance(item, str)))
    columns = [column for item in read if not isinstance(item, str) for column in _columns(item)]
    if not columns:
        return Leakage({}, notes)
    return Leakage(leaks_of((text for column in columns for text in column), suites), notes)


def leaks_of(texts: Iterable[str], suites: Mapping[str, Sequence[Task]]) -> dict[tuple[str, str], tuple[int, int]]:
    """Count, as `Leakage` has them, which texts of each set stand in `texts`, a training text; it is read once."""
    keys = {
        (suite, task.name): {normalised(text) for text in dict.fromkeys(task.texts())}
        for suite, tasks in suites.items()
        for task in tasks
    }
    wanted = set().union(*keys.values())
    # Only what is looked for is kept: the training text may be larger than memory.
    seen = {key for key in map(normalised, texts) if key in wanted}
    return {name: (len(each & seen), len(each)) for name, each in keys.items()}


def _recipes(directory: Path) -> list[tuple[Path, Mapping[str, Any]]]:
    """Return the recipes of a run and of the runs that it began from, newest first."""
    found: dict[Path, Mapping[str, Any]] = {}
    while (recipe := _recipe(directory)) is not None and directory.resolve() not in found:
        found[directory.resolve()] = recipe
        start = recipe.get("encoder")
        if not isinstance(start, str):
            break
        directory = next(
            (place / start for place in _places(directory) if (place / start / RECIPE).is_file()), Path(start)
        )
    return list(found.items())


def _recipe(directory: Path) -> Mapping[str, Any] | None:
    try:
        recipe = json.loads((directory / RECIPE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return recipe if isinstance(recipe, dict) and isinstance(recipe.get("twinviews"), dict) else None


def _places(directory: Path) -> list[Path]:
    """Return where a recipe's relative paths may start: here, or in a folder that the run lies in."""
    return [Path(), *directory.resolve().parents]


def _training_text(directory: Path, recipe: Mapping[str, Any]) -> Examples | str:
    """Return what a run was trained on, or why that cannot be said."""
    from trainers.data.kinds import KINDS, read_examples

    kind = next((kind for kind, field in KINDS.items() if recipe.get(field) is not None), None)
    if kind is None:
        return f"{directory} does not say what it was trained on: its training text is not looked at"
    reason = ""
    for place in _places(directory):
        try:
            examples, _ = read_examples(_wanted(recipe, kind, place), (kind,), recipe.get("seed", 1))
        except (InputError, MissingExtraError) as error:
            reason = reason or str(error)
            continue
        if examples.digest() == recipe["twinviews"].get("data_xxh64"):
            return examples
        reason = "it has changed since"
    return f"the training text of {directory} ({_named(recipe[KINDS[kind]])}) is not looked at: {reason}"


def _wanted(recipe: Mapping[str, Any], kind: str, place: Path) -> DataOptions:
    """Return the data that a recipe names, its relative paths from `place`."""
    from trainers.data.kinds import DataOptions

    values = {name: recipe.get(name) for name in ("views", "text", "words", "random_strings", "graded")}
    if kind == "views":
        values["views"] = [str(place / written) for written in recipe["views"]]
    elif kind in ("text", "graded"):
        values[kind] = place / recipe[kind]
    elif kind == "words" and (place / recipe["words"].partition(":")[0]).is_file():
        values["words"] = str(place / recipe["words"])
    return DataOptions(**values, scale=recipe.get("scale"), limit=recipe.get("limit"))


def _columns(examples: Examples) -> list[Iterable[str]]:
    """Return the columns of examples that differ: for sentences alone all three are one."""
    columns = {id(column): column for column in (examples.texts, examples.left, examples.right)}
    return list(columns.values())


def _named(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
