"""Stored scores on a user's own data beside those of the untouched encoder, as tables with a verdict."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pipelines.base.console import InputError, note
from pipelines.base.files import read_json
from trainers.data.reading import Spellings
from trainers.encoders.location import Source
from trainers.scores.pages.assessment import assess
from trainers.scores.provenance import find_start
from trainers.scores.result_files import BASELINE, Table, load, read_recipe, results_folder
from trainers.scores.runs import Run, Sets, check_items, estimates_by_title, read_sets
from trainers.scores.scoring import opened, score_into
from trainers.scores.statistics.candidates import Candidate, Leak
from trainers.scores.statistics.verdict import Verdict, decide
from trainers.scores.statistics.wording import DECIMAL, LEAKS, RULE, cells
from trainers.scores.tables.judge import PREFIX, read_judge
from trainers.scores.task import Suite
from trainers.settings import Pooling

AUTO = "auto.json"  # what `train auto` leaves in the folder of its candidates
UNDEFINED = "a figure is undefined, because all cosines or all grades are equal"
SHOWS = """difference: of the mean, with its 95% interval; shows: the least true gain that these tables show in four \
of five cases"""


class Judged(NamedTuple):
    """A table, the verdict of all candidates, and the sets behind it: the other encoder's, and this one's."""

    table: Table
    verdict: Verdict | None = None
    sides: Sequence[Sets] = ()
    shots: int | None = None  # as `read_judge` takes them


class Contender(NamedTuple):
    """An encoder to judge: its title, what it is beside another, how to open it, and where its scores stand."""

    title: str
    role: Literal["untouched", "other", "this"]
    name: str
    pooling: Pooling | None
    folder: Path

    def score(self, suites: Iterable[Suite], shots: int | None = None) -> list[Path]:
        """Return the results files, one a table; what has been scored is not again."""
        encoder = opened(self.name, pooling=self.pooling)
        return [score_into(encoder, suite, self.folder, settings={"shots": shots}) for suite in suites]


def trained(run: Path) -> Contender:
    """Return a run's encoder."""
    return Contender(str(run), "this", str(run), None, results_folder(str(run)))


def other_encoder(run: Path, against: str | None = None, parts: Sequence[str] = ()) -> Contender | None:
    """Return the encoder `against`, else the one that a run began from, None for no run; InputError if it is gone."""
    if against is not None:
        return Contender(against, "other", against, None, results_folder(against, parts))
    if (recipe := read_recipe(run)) is None:
        return None
    return untouched(find_start(run, recipe), recipe["pooling"], parts)


def untouched(source: Source, pooling: Pooling, parts: Sequence[str] = ()) -> Contender:
    """Return an encoder as it is without a training; one that has no pooling of its own gets that of the training."""
    own = None if source.modules() else pooling
    folder = results_folder(source.name, [*filter(None, [own]), *parts], source=source)
    title = Path(source.name).name if Path(source.name).is_absolute() else source.name
    return Contender(title, "untouched", str(source.folder or source.name), own, folder)


def verdict_on(files: Mapping[str, Sequence[Path]], seed: int = 0) -> Verdict:
    """Return the verdict on encoders by name, the first of which is the start, from the results file of each table.

    Raises InputError if the items of a table differ, or no figure is defined for both of two encoders.
    """
    tables = {name: {file.stem: read_sets(load(file)) for file in of} for name, of in files.items()}
    return verdict_of_sets(tables, seed)


def verdict_of_sets(encoders: Mapping[str, Mapping[str, Sets]], seed: int = 0) -> Verdict:
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
    verdict = decide(start, scores, leaks, seed=seed)
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


def records(verdict: Verdict, baseline: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return a record for each encoder, the start first: its figures, and the difference of their mean.

    The figures of the `baseline`, where there is one, come after the start's.
    """
    first = verdict.candidates[0]
    values: list[dict[str, Any]] = [{"candidate": f"{verdict.start}, untouched", **_scores(first, "before")}]
    values += [{"candidate": BASELINE, **baseline}] if baseline else []
    for candidate in verdict.candidates:
        record = {"candidate": candidate.name, **_scores(candidate, "after")}
        if mean := candidate.mean:
            record |= {"difference": mean.difference, "low": mean.low, "high": mean.high}
            record |= {"p": candidate.p, "shows": mean.smallest}
        values.append(record)
    return values


def _scores(candidate: Candidate, side: Literal["before", "after"]) -> dict[str, float]:
    figures = [(figure.table, figure.title, getattr(figure, side)) for figure in candidate.figures]
    return _titled(figures, are_of_one=len({table for table, *_ in figures}) == 1)


def baseline_of(files: Sequence[Path]) -> dict[str, float]:
    """Return the baseline's figures that stand in results of the start, a file a table, titled as the encoders' are."""
    sets = [(table.suite, of) for table in map(load, files) for of in table.sets.values()]
    figures = [(table, of.title, of.baseline) for table, of in sets if of.baseline is not None]
    return _titled(figures, are_of_one=len(files) == 1)


def _titled(figures: Iterable[tuple[str, str, float]], *, are_of_one: bool) -> dict[str, float]:
    """Return figures by title, those of several tables with the table's name before it."""
    return {
        title if are_of_one else f"{table.removeprefix(PREFIX)} {title}": value
        for table, title, value in figures
    }


def candidate_table(verdict: Verdict, baseline: Mapping[str, float]) -> Table:
    """Return a row for each encoder, and for the baseline, with the rule of the verdict as a note."""
    values = records(verdict, baseline)
    columns = tuple(dict.fromkeys(column for record in values for column in record))
    cells_of = ([record.get(column, "") for column in columns] for record in values)
    rows = [tuple(cell if isinstance(cell, str) else DECIMAL(cell) for cell in cells) for cells in cells_of]
    tables = ", ".join(dict.fromkeys(figure.table for of in verdict.candidates for figure in of.figures))
    title = f"{tables}: {verdict.start} and what may be better"
    return Table(title, columns, tuple(rows), columns[1:], (f"{SHOWS}; {RULE}",))


def beside(model: str, directory: Path, suite: str, other: Contender | None) -> Judged:
    """Return how scores in `directory` differ from another's, else intervals; InputError for undefined figures.

    What `train auto` judged together with a model shares its verdict, so that every command says the same.
    """
    file = directory / f"{suite}.json"
    own = load(file)
    if (
        other is None
        or not (start := other.folder / file.name).is_file()
        or not _are_of_one_table(start, file)
    ):
        tables = assess(suite, [Run(model, [own])], intervals=True)
        if not tables:
            raise InputError(f"{suite}: {UNDEFINED}")
        return Judged(tables[0])
    files = (_judged_with(file, start) if other.role == "untouched" else {}) or {
        other.title: start,
        model: file,
    }
    verdict = verdict_on({name: [path] for name, path in files.items()})
    number = [path.resolve() for path in files.values()].index(file.resolve())
    figures = verdict.candidates[number - 1].figures
    title = f"{suite}: {model} beside {other.title}{', untouched' * (other.role == 'untouched')}"
    columns = ("figure", "items", other.role, "this", "difference", "low", "high", "p")
    notes = (RULE, f"verdict on {suite.removeprefix(PREFIX)}: {verdict}")
    table = Table(title, columns, tuple(cells(figure) for figure in figures), columns[1:], notes)
    sides = read_sets(load(start)), read_sets(own)
    return Judged(table, verdict, sides, own.settings.get("shots"))


def score_beside(runs: Iterable[Path], tables: Iterable[str], columns: Spellings) -> list[str]:
    """Score runs on tables, and the encoders that they began from, unless they have been; return the suites' names."""
    suites = [read_judge(table, own=columns) for table in tables]
    for run in runs:
        trained(run).score(suites)
        try:
            if other := other_encoder(run):
                other.score(suites)
        except InputError as error:
            note(f"{run} is not beside the untouched encoder: {error}")
    return [suite.name for suite in suites]


def verdict_on_runs(suite: str, runs: Sequence[Run], seed: int = 0) -> tuple[list[Run], Verdict | None]:
    """Return the encoder that all runs began from, scored on a table, and the verdict on them beside it.

    What `train auto` judged with a run is in the verdict too. There is neither if they began from several, or
    if it is one of them.
    """
    judged = [run for run in runs if run.of(suite)]
    try:
        others = {other for run in judged if (other := other_encoder(Path(run.title)))}
    except InputError:
        return [], None
    if len(others) != 1:
        return [], None
    (other,) = others
    start = other.folder / f"{suite}.json"
    present = {scores.file.resolve() for run in judged for scores in run.of(suite)}
    if start.resolve() in present or not start.is_file() or not _are_of_one_table(start, *present):
        return [], None
    files = {other.title: start}
    for run in judged:
        for scores in run.of(suite) if run.seeds == 1 else ():
            rivals = _judged_with(scores.file, start) or {run.title: scores.file}
            present = {path.resolve() for path in files.values()}
            files |= {name: path for name, path in rivals.items() if path.resolve() not in present}
    verdict = verdict_on({name: [path] for name, path in files.items()}, seed)
    return [Run(f"{other.title}, untouched", [load(start)])], verdict


def _judged_with(file: Path, start: Path) -> dict[str, Path]:
    """Return the results on a table of all encoders that `train auto` judged with a run, the start first; or none."""
    folder = file.parent.parent.parent
    values = read_json(folder / AUTO)
    results = values.get("results") if isinstance(values, dict) else None
    if not isinstance(results, dict):
        return {}
    files = {
        name: folder / path
        for name, paths in results.items()
        for path in paths
        if Path(path).name == file.name
    }
    paths = [path.resolve() for path in files.values()]
    is_whole = (
        start.resolve() in paths[:1] and file.resolve() in paths[1:] and all(path.is_file() for path in paths)
    )
    return files if is_whole and _are_of_one_table(*paths) else {}


def _are_of_one_table(*files: Path) -> bool:
    return len({tuple((name, of.sha256) for name, of in load(file).sets.items()) for file in files}) == 1


def judged_files(run: Run) -> list[Judged]:
    """Return `beside` the encoder that a run began from, of all tables that the run was judged on."""
    files = [scores.file for scores in run.evaluations if scores.suite.startswith(PREFIX)]
    other, tables = None, list[Judged]()
    try:
        other = other_encoder(Path(run.title)) if files else None
    except InputError as error:
        note(f"{run.title} is not beside the untouched encoder: {error}")
    for file in files:
        try:
            tables.append(beside(run.title, file.parent, file.stem, other))
        except InputError as error:
            note(f"{run.title}: {error}")
    return tables
