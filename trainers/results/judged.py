"""Scores on a user's own data beside those of the untouched encoder, and what to make of them, in words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from pipelines.sentences.sources import TableSource
from pipelines.terminal.console import InputError, note
from trainers.encoders.functions import Encoder, open_encoder
from trainers.encoders.location import Source
from trainers.encoders.two_sides import TwoEncoders
from trainers.encoders.vectors import cached
from trainers.evaluation.judge import PREFIX, read_judge
from trainers.evaluation.result_files import StoredSet, Table, load, read_recipe, results_folder
from trainers.evaluation.scoring import evaluate_suites, find_start
from trainers.evaluation.task import SEED
from trainers.results.runs import Evaluation, Run
from trainers.results.significance import (
    DECIMAL,
    LEVEL,
    Floats,
    Sets,
    assess,
    differences,
    estimate,
    holm,
    interval,
    p_value,
    read_sets,
    smallest_difference,
)
from trainers.settings import Pooling

COLUMNS = ("figure", "items", "untouched", "this", "difference", "low", "high", "p")
NOTE = "difference: with its 95% interval and p, from one paired bootstrap over the items"
UNDEFINED = "a figure is undefined, because all cosines or all grades are equal"
MEAN_NOTE = """difference: of the mean of the figures, with its 95% interval (paired bootstrap over the items); shows: \
the least true difference that this table shows in four of five cases"""


class Verdict(NamedTuple):
    """In which figures a model is `better` or `worse` (Holm), and the `smallest` difference that would have shown."""

    better: tuple[str, ...]
    worse: tuple[str, ...]
    smallest: Mapping[str, float]

    @property
    def outcome(self) -> Literal["better", "worse", "unclear"]:
        """Better or worse if that is clear of some figures, and the opposite of none."""
        if bool(self.better) == bool(self.worse):
            return "unclear"
        return "better" if self.better else "worse"

    def sentence(self, model: str, start: str) -> str:
        """Return what to do, in words."""
        others = ", ".join(title for title in self.smallest if title not in self.better + self.worse)
        better, worse = ", ".join(self.better), ", ".join(self.worse)
        if better and worse:
            return f"unclear: {model} is better in {better}, worse in {worse}: choose by the figure that you need"
        if better:
            return f"take {model}, better than {start} in {better}{'; no clear loss in ' * bool(others)}{others}"
        if worse:
            return f"keep {start}: {model} is worse in {worse}{'; no clear gain in ' * bool(others)}{others}"
        if not any(self.smallest.values()):
            return f"unclear: {model} does exactly as well as {start}"
        shown = ", ".join(f"{title} from {value:.1f} on" for title, value in self.smallest.items())
        return f"unclear: no clear loss and no clear gain; this table would have shown differences in {shown}"


def verdict_of(samples: Mapping[str, Floats]) -> Verdict:
    """Return the verdict on differences, a model's minus another's, by figure."""
    corrected = dict(zip(samples, holm([*map(p_value, samples.values())]), strict=True))
    better, worse = (
        tuple(title for title, p in corrected.items() if p <= LEVEL and sign * samples[title][0] > 0)
        for sign in (1, -1)
    )
    return Verdict(better, worse, {title: smallest_difference(draws, len(samples)) for title, draws in samples.items()})


class Judged(NamedTuple):
    """A table, whose last note is the verdict; the sets behind it: the other encoder's, and this one's."""

    table: Table
    sides: tuple[Sets, Sets] | None = None
    shots: int | None = None  # as `read_judge` takes them


class Other(NamedTuple):
    """An encoder to put beside a model: its title, what it is there, how to open it, and where its scores stand."""

    title: str
    role: Literal["untouched", "other"]
    name: str
    pooling: Pooling | None
    folder: Path


def other_encoder(run: Path, against: str | None = None, parts: Sequence[str] = ()) -> Other | None:
    """Return the encoder `against`, else the one that a run began from, None for no run; InputError if it is gone."""
    if against is not None:
        return Other(against, "other", against, None, results_folder(against, None, parts, []))
    if (recipe := read_recipe(run)) is None:
        return None
    return untouched(find_start(run, recipe), recipe["pooling"], parts)


def untouched(source: Source, pooling: Pooling, parts: Sequence[str] = ()) -> Other:
    """Return an encoder as it is without a training; one that has no pooling of its own gets that of the training."""
    own = None if source.modules() else pooling
    folder = results_folder(source.name, None, [*filter(None, [own]), *parts], [], source)
    title = Path(source.name).name if Path(source.name).is_absolute() else source.name
    return Other(title, "untouched", str(source.folder or source.name), own, folder)


def beside(model: str, directory: Path, suite: str, other: Other | None) -> Judged:
    """Return how scores in `directory` differ from another's, else intervals; InputError for undefined figures."""
    sides = [Evaluation(load(file), file) for file in (directory / f"{suite}.json",)]
    if other and (path := other.folder / f"{suite}.json").is_file():
        sides = [Evaluation(load(path), path), *sides]
    if len(sides) < 2 or len({tuple(item.sha256 for item in side.stored.sets.values()) for side in sides}) > 1:
        tables = assess(suite, [Run(model, sides[-1:])], intervals=True)
        if not tables:
            raise InputError(f"{suite}: {UNDEFINED}")
        return Judged(tables[0])
    sets = [read_sets(side) for side in sides]
    before, after = ({name: side[name] for name in sets[1] if name in sets[0]} for side in sets)
    lines = differences(before, after)
    if other is None or not lines:
        raise InputError(f"{suite}: {UNDEFINED}")
    verdict = verdict_of({line.title: line.samples for line in lines})
    notes = (NOTE, f"verdict: {verdict.sentence(model, other.title)}{_chosen_on(after)}")
    title = f"{suite}: {model} beside {other.title}{', untouched' * (other.role == 'untouched')}"
    columns = tuple(other.role if column == "untouched" else column for column in COLUMNS)
    table = Table(title, columns, tuple(line.cells() for line in lines), columns[1:], notes)
    return Judged(table, (before, after), sides[1].stored.settings.get("shots"))


def judged_files(run: Run) -> list[Judged]:
    """Return `beside` the encoder that a run began from, of all tables that the run was judged on."""
    files = [scores.file for scores in run.evaluations if scores.stored.suite.startswith(PREFIX)]
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


def _chosen_on(sets: Sets) -> str:
    """Return a warning if judged texts had chosen the model as its --dev, "" if none did."""
    leaks = [stored.seen_in_training or {} for stored, *_ in sets.values()]
    dev, total = max(((leak.get("dev", 0), leak.get("of", 0)) for leak in leaks), default=(0, 0))
    return f"; but {dev:,} of its {total:,} texts chose this model (--dev): judge it on others" if dev else ""


def choose(start: str, gains: Mapping[str, Mapping[str, Floats]]) -> tuple[str, str, str]:
    """Choose the highest mean gain that is clear (Holm), with no figure worse: the outcome, the best, and in words."""
    # Figures of the same items have drawn the same ones: the interval of their mean is paired too.
    means: dict[str, Floats] = {name: np.mean([*figures.values()], axis=0) for name, figures in gains.items()}
    clear = {name for name, p in zip(means, holm([*map(p_value, means.values())]), strict=True) if p <= LEVEL}
    higher = [name for name in means if name in clear and means[name][0] > 0]
    losses = {name: ", ".join(verdict_of(gains[name]).worse) for name in higher}
    if winners := [name for name in higher if not losses[name]]:
        best = max(winners, key=lambda name: means[name][0])
        low, high = interval(means[best])
        words = f"take {best}, better than {start} by {means[best][0]:.2f} ({low:.2f} to {high:.2f})"
        return ("take", best, words)
    mixed = "; ".join(f"{name} is better on the whole, but worse in {loss}" for name, loss in losses.items())
    if mixed or clear == means.keys():
        return ("keep", start, f"keep {start} as it is: {mixed or 'all else is worse'}")
    smallest = {name: smallest_difference(samples, len(means)) for name, samples in means.items()}
    if not any(smallest.values()):
        return ("keep", start, f"keep {start} as it is: all else does exactly as well")
    shown = ", ".join(f"{value:.2f} ({name})" for name, value in smallest.items())
    words = f"unclear: {start} stays, but this table shows only gains from {shown} on: judge by more to see others"
    return ("unclear", start, words)


def best_of(suite: str, files: Mapping[str, Path]) -> tuple[Table, dict[str, Any]]:
    """Compare the scores of candidates, a file each, with the first one's; return a table, and all as JSON values."""
    sets = {name: read_sets(Evaluation(load(file), file)) for name, file in files.items()}
    start, untouched = next(iter(sets.items()))
    titles = {key: stored.title for key, (stored, *_) in untouched.items()}
    if not titles or any(titles.keys() != candidate.keys() for candidate in sets.values()):
        raise InputError(f"{suite}: {UNDEFINED}")
    columns = ("candidate", *titles.values(), "difference", "low", "high", "shows")
    records, gains = list[dict[str, Any]](), dict[str, dict[str, Floats]]()
    for name, candidate in sets.items():
        record: dict[str, Any] = {"candidate": name + ", untouched" * (name == start)}
        record |= {title: float(candidate[key][2][0]) for key, title in titles.items()}
        if name != start:
            gains[name] = {title: candidate[key][2] - untouched[key][2] for key, title in titles.items()}
            mean = np.mean([*gains[name].values()], axis=0)
            shown = smallest_difference(mean, len(sets) - 1)
            record |= dict(zip(columns[-4:], (float(mean[0]), *interval(mean), shown), strict=True))
        records.append(record)
    outcome, best, words = choose(start, gains)
    leaks = (stored.seen_in_training for candidate in sets.values() for stored, *_ in candidate.values())
    seen = {f"{leak['texts']:,} of {leak['of']:,} judged texts are in the training text" for leak in leaks if leak}
    cells = ([record.get(column, "") for column in columns] for record in records)
    rows = tuple(tuple(DECIMAL(cell) if isinstance(cell, float) else cell for cell in row) for row in cells)
    table = Table(f"{suite}: {start} and what may be better", columns, rows, columns[1:], (*seen, MEAN_NOTE))
    verdict = words + (_chosen_on(sets[best]))
    return table, {
        "candidates": records, "notes": [*seen], "best": best, "outcome": outcome, "verdict": verdict,
    }  # fmt: skip


class Judgement(NamedTuple):
    """An encoder's defined figures, x 100 with their 95% intervals, and for `compare` the items behind them."""

    figures: Mapping[str, tuple[float, float, float]]
    sets: Sets


def judge(
    encoder: Encoder,
    table: TableSource,
    *,
    shots: int | None = None,
    seed: int = SEED,
    documents_encoder: "Encoder | None" = None,
) -> Judgement:
    """Score an encoder on your own texts as `train evaluate --judge` does, whose options these are.

    `encoder` is a folder or name, whose vectors are kept on disk, a `SentenceTransformer`, or a function from a list of
    n texts to vectors (n, d). `table` is a file or a dict or `DataFrame` of columns: `text` and `label`; `query` and
    `document`; `text1`, `text2` and `grade` or `same`. `documents_encoder` is another one of the same space, for the
    documents or second texts. Raises InputError if one of them cannot be used or the function
    fails, TwinviewsError for NaN or infinity.

    Example:
        >>> table = {"text1": ["a cat", "a dog"], "text2": ["a cat", "two cars"], "same": [1, 0]}
        >>> judge(lambda texts: [[len(text), 1] for text in texts], table).figures
        {'average precision': (100.0, 100.0, 100.0)}
    """
    suite = read_judge(table, shots)
    opened = cached(open_encoder(encoder))
    if documents_encoder is not None:
        opened = TwoEncoders(opened, cached(open_encoder(documents_encoder)))
    (scores,) = evaluate_suites(opened, [suite], seed=seed)
    stored = {name: StoredSet.model_validate(values) for name, values in scores.values["sets"].items()}
    items = {name: of for name, of in scores.predictions.items() if None not in stored[name].figures.values()}
    sets = {name: (stored[name], of, estimate(of)) for name, of in items.items()}
    return Judgement({of.title: (float(draws[0]), *interval(draws)) for of, _, draws in sets.values()}, sets)


def compare(first: Judgement, second: Judgement) -> Verdict:
    """Return in which figures the first is better or worse; raises InputError if the items are not the same."""
    if not (lines := differences(second.sets, first.sets)):
        raise InputError(UNDEFINED)
    return verdict_of({line.title: line.samples for line in lines})
