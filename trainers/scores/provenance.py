"""Where a run comes from: the encoder that it began with, its training text, and what of a set it has seen."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from augment.models.weights import HUB_NAMES, hub_weights, installed_encoder
from pipelines.base.console import InputError, MissingExtraError
from trainers.data.examples import Examples, with_corpus
from trainers.data.reading import KINDS, read_examples
from trainers.data.tables import normalised
from trainers.encoders.location import COMMIT, STARTER, Source, locate
from trainers.files import located
from trainers.scores.dev_set import dev_of
from trainers.scores.result_files import read_recipe
from trainers.scores.task import Task
from trainers.settings import DataOptions

# by suite and set: distinct texts seen in training, and all
Leaks: TypeAlias = dict[tuple[str, str], tuple[int, int]]


def find_leaks(model_directory: Path, suites: Mapping[str, Sequence[Task]]) -> tuple[Leaks, Leaks, list[str]]:
    """Count each set's texts in the training text and --dev of a model and its starts, and note what cannot be read."""
    texts, dev_texts = list[Iterator[str]](), list[str]()
    directory, trainings, remarks = model_directory, set[Path](), list[str]()
    while directory.resolve() not in trainings and (recipe := read_recipe(directory)):
        trainings.add(directory.resolve())
        try:
            texts.append(training_text(directory, recipe).all_texts())
        except InputError as error:
            remarks.append(f"the training text of {directory} is not counted: {error}")
        try:
            # With `--keep last` it chose nothing, unless the training could stop by it.
            has_chosen = recipe.get("keep") != "last" or recipe.get("patience")
            dev = dev_of(directory, recipe) if has_chosen else None
            dev_texts += dev.texts if dev else ()
        except InputError as error:
            remarks.append(f"the --dev of {directory} is not counted: {error}")
        try:
            start = find_start(directory, recipe)
            directory = directory if start.is_of_hub else start.folder
        except InputError as error:
            remarks.append(f"no earlier training text of {directory} is counted: {error}")
    return (
        leaks_of(chain.from_iterable(texts), suites) if texts else {},
        leaks_of(dev_texts, suites) if dev_texts else {},
        remarks,
    )


def find_start(run: Path, recipe: Mapping[str, Any]) -> Source:
    """Return the encoder that a run began with; raises InputError if it is gone, or another by now."""
    name, revision = str(recipe.get("encoder") or STARTER), recipe["twinviews"].get("encoder_revision")
    with suppress(InputError):
        if len(revision or "") == COMMIT:
            return Source(name, *hub_weights(HUB_NAMES.get(name, name), "", revision))
    installed, parents = installed_encoder(name), run.resolve().parents
    places = [Path(name).expanduser(), *filter(None, [installed]), *(parent / name for parent in parents)]
    for place in filter(Path.is_dir, places):
        with suppress(InputError):
            source = locate(str(place))
            if revision in (None, source.revision):
                return replace(source, name=name)
    problem = f"the encoder that this began with, {name}, is gone, or another by now"
    raise InputError(f"{problem}: name one to judge beside before it")


def leaks_of(texts: Iterable[str], suites: Mapping[str, Sequence[Task]]) -> Leaks:
    """Count which texts of each set occur in a training text.

    Those that differ only in case and marks are one.
    """
    keys = {
        (name, task.name): set(map(normalised, task.texts)) for name, tasks in suites.items() for task in tasks
    }
    # Only the matches are kept: the training text may be larger than memory.
    shared = set().union(*keys.values()).intersection(map(normalised, texts))
    return {name: (len(task_keys & shared), len(task_keys)) for name, task_keys in keys.items()}


def training_text(directory: Path, recipe: Mapping[str, Any]) -> Examples:
    """Return what a run was trained on; raises InputError if it cannot be read, or has changed since."""
    kind = next((kind for kind in KINDS if recipe.get(kind) is not None), None)
    if kind is None:
        raise InputError("its recipe names none")
    values: dict[str, Any] = {name: recipe.get(name) for name in ("scale", "limit")}
    given = recipe[kind]
    values[kind] = (
        [located(directory, path) for path in given] if kind == "views" else located(directory, given)
    )
    try:
        options = DataOptions(**values)
        examples, _ = read_examples(options, (kind,))
    except MissingExtraError as error:
        raise InputError(str(error)) from None
    if examples.digest() != recipe["twinviews"].get("data_xxh64"):
        raise InputError("it has changed since")
    has_corpus = "corpus_xxh64" in recipe["twinviews"]
    return with_corpus(examples, options.views or ()) if has_corpus else examples
