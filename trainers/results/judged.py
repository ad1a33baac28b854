"""Scores on a user's own data beside those of the untouched encoder, and what to make of them, in words."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipelines.terminal.console import InputError, note
from trainers.encoders.location import locate
from trainers.encoders.vectors import TextEncoder
from trainers.evaluation.judge import PREFIX
from trainers.evaluation.result_files import StoredSuite, Table, load, results_folder
from trainers.evaluation.scoring import read_start, score_into
from trainers.evaluation.task import SEED, Suite
from trainers.results.runs import Evaluation, Run
from trainers.results.significance import DECIMAL, Sets, assess, difference_rows, interval, read_sets
from trainers.settings import Pooling

COLUMNS = ("figure", "items", "untouched", "this", "difference", "low", "high", "p")
NOTE = "difference: with its 95% interval and the p of a paired bootstrap over the items"
MEAN_NOTE = "difference: of the mean of the figures, with its 95% interval (paired bootstrap over the items)"


class Judged(NamedTuple):
    """A table, whose last note is the verdict; the sets behind it: the untouched encoder's, and this one's."""

    table: Table
    sides: tuple[Sets, Sets] | None = None
    shots: int | None = None  # as `read_judge` takes them


def score_once(
    model: str, encoder: TextEncoder, suite: Suite, parts: Sequence[str] = (), seed: int = SEED, *,
    trained: Path | None = None, shots: int | None = None,
) -> Path:  # fmt: skip
    """Score an encoder, unless scores of the same vectors and items are where `train evaluate` has them; their file."""
    folder = results_folder(model, trained, None, parts, [])
    return score_into(encoder, suite, folder, seed=seed, settings={"shots": shots})


def score_untouched(
    run: Path | None, suite: Suite, opened: Callable[[str, Pooling | None], TextEncoder], parts: Sequence[str],
    seed: int,
) -> None:  # fmt: skip
    """Score the encoder that a run's training began from, once; a transformer without a pooling gets the run's.

    Nothing is done for a model that is not a run, or if the encoder cannot be loaded.
    """
    if run is None or (training := read_start(run)) is None:
        return
    recipe, start = training
    try:
        encoder = opened(start, None if locate(start).modules() else recipe["pooling"])
    except InputError as error:
        note(f"not beside the untouched encoder: {error}")
        return
    score_once(start, encoder, suite, parts, seed)


def beside_untouched(
    model: str, run: Path | None, directory: Path, suite: str, parts: Sequence[str] = ()
) -> list[Judged]:
    """Return how scores in `directory` differ from the untouched encoder's, at most one table.

    Without such scores, for a model that is no run of ours, it has intervals of the model's own.
    """
    file, training = directory / f"{suite}.json", read_start(run) if run else None
    start = training[1] if training else ""
    path = results_folder(start, None, None, parts, []) / file.name if start else Path()
    sides = [Evaluation(load(StoredSuite, item), item, "") for item in (path, file) if item == file or item.is_file()]
    # Another run may have been judged since on another table of the same name.
    if len(sides) < 2 or len({tuple(item.sha256 for item in side.stored.sets.values()) for side in sides}) > 1:
        return [Judged(table) for table in assess(suite, [Run(model, sides[-1:])], intervals=True)]
    sets = [read_sets(side) for side in sides]
    before, after = ({name: side[name] for name in sets[1] if name in sets[0]} for side in sets)
    rows = tuple(difference_rows(before, after))
    title, notes = f"{suite}: {model} beside {start}, untouched", (NOTE, verdict(rows, model, start))
    shots = sides[1].stored.settings.get("shots")
    return [Judged(Table(title, COLUMNS, rows, COLUMNS[1:], notes), (before, after), shots)]


def judged_files(run: Run) -> list[Judged]:
    """Return `beside_untouched` of all tables that a run was judged on."""
    files = [scores.file for scores in run.evaluations if scores.stored.suite.startswith(PREFIX)]
    return [judged for file in files for judged in beside_untouched(run.title, Path(run.title), file.parent, file.stem)]


def verdict(rows: Sequence[Sequence[str]], model: str, start: str) -> str:
    """Say which figures, in rows of `COLUMNS`, differ by more than their interval, and what to do."""
    better, worse = (", ".join(row[0] for row in rows if sign * float(row[end]) > 0) for sign, end in ((1, 5), (-1, 6)))
    if better and worse:
        return f"verdict: {model} is better in {better}, worse in {worse}: choose by the figure that you need"
    if better:
        return f"verdict: {model} is better than {start} in {better}; nothing measured was worse"
    return f"verdict: keep {start} as it is: {f'worse in {worse}' if worse else 'nothing measured was better'}"


def best_of(suite: str, files: Mapping[str, Path]) -> tuple[Table, dict[str, Any]]:
    """Compare the scores of candidates, a file each by model, with those of the first one, the untouched encoder.

    The best has the highest mean figure, if that is higher than the untouched encoder's by more than its 95% interval
    and no figure is lower by more than its own. Returns a table, and as JSON values the same, the `best` and the
    `verdict`. Raises InputError: a figure is undefined.
    """
    sets = {name: read_sets(Evaluation(load(StoredSuite, file), file, name)) for name, file in files.items()}
    start, untouched = next(iter(sets.items()))
    titles = {key: stored.title for key, (stored, *_) in untouched.items()}
    if not titles or any(titles.keys() != candidate.keys() for candidate in sets.values()):
        raise InputError(f"{suite}: a figure is undefined, because all cosines or all grades are equal")
    columns = ("candidate", *titles.values(), "difference", "low", "high")
    records, best, margin, words = list[dict[str, Any]](), start, 0.0, "nothing measured was better"
    for name, candidate in sets.items():
        gains = {title: candidate[key][2] - untouched[key][2] for key, title in titles.items()}
        # Figures of the same items have drawn the same ones: the interval of their mean is paired too.
        gain = np.mean([*gains.values()], axis=0)
        low, high = interval(gain)
        figures = {title: float(candidate[key][2][0]) for key, title in titles.items()}
        change = {} if candidate is untouched else {"difference": float(gain[0]), "low": low, "high": high}
        records.append({"candidate": name + ", untouched" * (candidate is untouched), **figures, **change})
        worse = ", ".join(title for title, samples in gains.items() if interval(samples)[1] < 0)
        if low > 0 and worse:
            words = f"{name} is better on the whole, but worse in {worse}"
        elif low > 0 and gain[0] > margin:
            best, margin = name, float(gain[0])
    advice = f"take {best}, better than {start} by {margin:.2f}" if margin else f"keep {start} as it is: {words}"
    leaks = (stored.seen_in_training for candidate in sets.values() for stored, *_ in candidate.values())
    seen = {f"{leak['texts']:,} of {leak['of']:,} judged texts are in the training text" for leak in leaks if leak}
    cells = ([record.get(column, "") for column in columns] for record in records)
    rows = tuple(tuple(DECIMAL(cell) if isinstance(cell, float) else cell for cell in row) for row in cells)
    table = Table(f"{suite}: {start} and what may be better", columns, rows, columns[1:], (*seen, MEAN_NOTE))
    return table, {"candidates": records, "notes": [*seen], "best": best, "verdict": advice}
