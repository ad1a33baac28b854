"""Verdicts on encoders by their stored scores, beside the one to start from: the same for every command."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pipelines.base.console import InputError, note_once
from trainers.encoders.location import Source
from trainers.scores.provenance import find_start
from trainers.scores.result_files import load, read_recipe, results_folder
from trainers.scores.runs import Run, Sets, check_items, estimates_by_title, read_sets
from trainers.scores.scoring import opened, score_into
from trainers.scores.statistics.candidates import Leak
from trainers.scores.statistics.verdict import Verdict, decide
from trainers.scores.statistics.wording import LEAKS
from trainers.scores.suites import SMOKE_TEST
from trainers.scores.task import PREFIX, Suite
from trainers.settings import Pooling

UNDEFINED = "a figure is undefined, because all cosines or all grades are equal"


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


def is_judged(suite: str) -> bool:
    """Whether scores on a suite end in a verdict: a user's own tables, and the smoke test."""
    return suite.startswith(PREFIX) or suite == SMOKE_TEST


class Judged(NamedTuple):
    """The verdict on encoders, the results behind it, a file a table, and how the first is called in tables."""

    verdict: Verdict
    files: Mapping[str, Sequence[Path]]
    start: str

    def runs(self) -> list[Run]:
        """The encoders as runs, titled as in tables, the start first."""
        titles = [self.start, *[*self.files][1:]]
        return [Run(title, [*map(load, of)]) for title, of in zip(titles, self.files.values(), strict=True)]

    def name_of(self, file: Path) -> str | None:
        """The name of the encoder whose results a file holds, None if the verdict is not about it."""
        names = {path.resolve(): name for name, of in self.files.items() for path in of}
        return names.get(file.resolve())


def verdict_on(files: Mapping[str, Sequence[Path]]) -> Verdict:
    """The verdict on encoders by name, the first of which is the start, from the results file of each table.

    Raises InputError if the items of a table differ, or no figure is defined for both of two encoders.
    """
    tables = {name: {file.stem: read_sets(load(file)) for file in of} for name, of in files.items()}
    return verdict_of_sets(tables)


def verdict_of_sets(encoders: Mapping[str, Mapping[str, Sets]]) -> Verdict:
    """Return the verdict on the sets of encoders, by their name and the table's; errors as `verdict_on`."""
    start, *candidates = encoders
    for name in candidates:
        for table, sets in encoders[name].items():
            check_items(encoders[start].get(table, {}), sets)
    scores = {
        name: {table: estimates_by_title(sets) for table, sets in tables.items()}
        for name, tables in encoders.items()
    }
    leaks = {name: _leaks(encoders[name]) for name in candidates}
    verdict = decide(start, scores, leaks)
    if not all(candidate.figures for candidate in verdict.candidates):
        raise InputError(f"{', '.join(encoders[start])}: {UNDEFINED}")
    return verdict


def _leaks(tables: Mapping[str, Sets]) -> list[Leak]:
    """Return how many of the texts of each table an encoder has seen; its sets have the same ones."""
    leaks = dict[Leak, None]()
    for table, sets in tables.items():
        for of in sets.values():
            seen = of.stored.seen_in_training or {}
            for kind in LEAKS:
                if seen.get(kind):
                    leaks[Leak(table.removeprefix(PREFIX), kind, seen[kind], seen["of"])] = None
    return [*leaks]


def judge_runs(suite: str, runs: Sequence[Run], parts: Sequence[str] = ()) -> Judged | None:
    """The verdict on runs by a table; None if there are not two encoders with scores on its present items.

    They are beside the encoder that all began from, scored with the settings `parts`, or beside the first if they
    began from several. Raises InputError as `verdict_on`.
    """
    if not is_judged(suite):
        return None
    present = [run for run in runs if run.of(suite)]
    starts = starts_of([run.title for run in present], parts)
    scored = [(start.title, start.folder / f"{suite}.json") for start in starts]
    is_untouched = len(scored) == 1 and scored[0][1].is_file()
    scored = scored if is_untouched else []
    scored += [(run.title, scores.file) for run in present if run.seeds == 1 for scores in run.of(suite)]
    encoders = dict[Path, tuple[str, Path]]()
    for name, file in scored:
        encoders.setdefault(file.resolve(), (name, file))
    if len(encoders) < 2:
        return None
    (first, start_file), *_ = encoders.values()
    files = {name: [file] for name, file in encoders.values() if _items(file) == _items(start_file)}
    if len(files) < 2:
        return None
    return Judged(verdict_on(files), files, first + ", untouched" * is_untouched)


def _items(file: Path) -> dict[str, str]:
    return {name: of.sha256 for name, of in load(file).sets.items()}
