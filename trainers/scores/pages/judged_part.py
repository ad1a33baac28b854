"""The part of a page about a judged table: figures before and after, and the texts that gained and lost most."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pipelines.base.console import InputError, note
from trainers.data.reading import own_columns
from trainers.encoders.vectors import Floats
from trainers.files import located
from trainers.scores.pages.assessment import assess
from trainers.scores.result_files import Table, load
from trainers.scores.runs import Run, Sets, estimates_by_title, read_sets
from trainers.scores.statistics.significance import score_interval
from trainers.scores.statistics.wording import PAIRS, cells
from trainers.scores.task import Predictions
from trainers.scores.verdicts import Judged, judge_runs


def judged_parts(suite: str, runs: Sequence[Run]) -> tuple[list[dict[str, Any]], list[Table]]:
    """What the page shows of runs on a table, beside another encoder; of those beside none their intervals."""
    parts, tables = list[dict[str, Any]](), list[Table]()
    judged: Judged | None = None
    try:
        judged = judge_runs(suite, runs)
    except InputError as error:
        note(str(error))
    for run in runs:
        for stored in run.of(suite):
            name = judged.name_of(stored.file) if judged else None
            if judged and name and name != judged.verdict.start:
                parts.append(judged_part(Path(run.title), name, judged))
            else:
                tables += assess(suite, [run], intervals=True)
    return parts, tables


def judged_part(run: Path, name: str, judged: Judged) -> dict[str, Any]:
    """What the page shows of an encoder in a verdict: its lines, with scores and intervals of both sides."""
    (candidate,) = (of for of in judged.verdict.candidates if of.name == name)
    (start,), (file,) = judged.files[judged.verdict.start], judged.files[name]
    stored = load(file)
    sides = read_sets(load(start)), read_sets(stored)
    figures = list[tuple[Any, ...]]()
    for figure in candidate.figures:
        estimates = [estimates_by_title(side)[figure.title] for side in sides]
        figures.append((cells(figure), [(score.score, *score_interval(score)) for score in estimates]))
    ends = [end for _, lines in figures for line in lines for end in line]
    changes = sorted(text_changes(run, *sides, stored.settings), key=lambda change: change.gain)
    return {
        "run": str(run),
        "title": f"{stored.suite}: {name} beside {judged.start}",
        "source": Path(next(iter(stored.sets.values())).source).name,
        "verdict": str(judged.verdict),
        "figures": figures,
        "low": min(ends),
        "high": max(ends),
        "changes": changes,
        "are_pairs": figures[0][0][0].startswith(PAIRS),
    }


class TextChange(NamedTuple):
    """A judged text or query with the means of its figures, or a pair with its cosine, x 100, and the gain."""

    text: str
    before: float
    after: float
    gain: float


def text_changes(run: Path, before: Sets, after: Sets, settings: Mapping[str, Any]) -> list[TextChange]:
    """Return the judged texts or pairs whose figures are known before and after, if the table is still there.

    `settings` are those of the scores.
    """
    from trainers.scores.tables.judge import read_judge

    stored, items, _ = next(iter(after.values()))
    source = located(run, stored.source)
    try:
        if not Path(source.partition(",")[0]).is_file():
            raise InputError("it is not there")
        task = read_judge(source, settings.get("shots"), own_columns(settings.get("columns"))).tasks[0]
        if task.sha256() != stored.sha256:
            raise InputError("it has changed since")
    except InputError as error:
        note(f"{run}: no texts of {source} that gained or lost ({error})")
        return []
    if items.statistic in ("spearman", "ap"):
        return _pair_changes(task.texts, next(iter(before.values())).items.predicted, items)
    outcomes = defaultdict[str, list[tuple[float, float]]](list)
    for name in after.keys() & before.keys():
        old, new = before[name].items, after[name].items
        if new.statistic == "mean":
            for number, *pair in zip(new.gold.astype(int), old.predicted, new.predicted, strict=True):
                if not np.isnan(pair).any():
                    outcomes[str(task.texts[number])].append((100 * pair[0], 100 * pair[1]))
    means = {text: np.mean(figures, axis=0) for text, figures in outcomes.items()}
    return [TextChange(text, old, new, new - old) for text, (old, new) in means.items()]


def _pair_changes(texts: Sequence[str], before: Floats, after: Predictions) -> list[TextChange]:
    """Return the pairs whose cosine is another: a gain if it is higher, or of a grade below the middle lower."""
    count, middle = len(after.gold), (after.gold.min() + after.gold.max()) / 2
    changes = []
    for row, (first, second) in enumerate(zip(texts[:count], texts[count:], strict=True)):
        old, new = 100 * before[row], 100 * after.predicted[row]
        if old != new:
            gain = new - old if after.gold[row] > middle else old - new
            changes.append(TextChange(f"{first} | {second}", old, new, gain))
    return changes
