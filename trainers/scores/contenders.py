"""Encoders that are judged beside each other: a run's, and the one that it began from as it was."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pipelines.base.console import InputError, note_once
from trainers.encoders.location import Source
from trainers.scores.provenance import find_start
from trainers.scores.result_files import read_recipe, results_folder
from trainers.scores.scoring import opened, score_into
from trainers.scores.task import Suite
from trainers.settings import Pooling


class Contender(NamedTuple):
    """An encoder to judge: its title, how to open it, and where its scores stand."""

    title: str
    name: str
    pooling: Pooling | None
    folder: Path

    def score(self, suites: Iterable[Suite], settings: Mapping[str, object] = {}) -> list[Path]:
        """Return the results files, one a suite; what has been scored is not again."""
        encoder = opened(self.name, pooling=self.pooling)
        return [score_into(encoder, suite, self.folder, settings=settings) for suite in suites]


def trained(run: Path) -> Contender:
    """Return a run's encoder."""
    return Contender(str(run), str(run), None, results_folder(str(run)))


def untouched(source: Source, pooling: Pooling, parts: Sequence[str] = ()) -> Contender:
    """An encoder as it is without a training; one that has no pooling of its own gets that of the training."""
    own = None if source.modules() else pooling
    folder = results_folder(source.name, [*filter(None, [own]), *parts], source=source)
    title = Path(source.name).name if Path(source.name).is_absolute() else source.name
    return Contender(title, source.name if source.is_of_hub else str(source.folder), own, folder)


def starts_of(names: Iterable[str], parts: Sequence[str] = ()) -> list[Contender]:
    """Return the distinct encoders that runs began from.

    A model that is no run has none, nor one whose start is gone.

    `parts` are the settings of the scores that are not the default.
    """
    starts = dict[Contender, None]()
    for name in names:
        run = Path(name).expanduser()
        recipe = read_recipe(run)
        if recipe is None:
            continue
        try:
            starts[untouched(find_start(run, recipe), recipe["pooling"], parts)] = None
        except InputError as error:
            note_once(f"{name} is not beside the untouched encoder: {error}")
    return [*starts]
