"""What the page of a training shows of how it was judged: figures, and the texts that gained and lost most."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from pipelines.terminal.console import InputError, note
from trainers.evaluation.judge import read_judge
from trainers.evaluation.task import Predictions
from trainers.files import located
from trainers.results.judged import Judged
from trainers.results.significance import DECIMAL, interval

CHANGES = 10  # texts that gained most, and as many that lost most


def judged_part(run: Path, judged: Judged) -> dict[str, Any]:
    """Return what the page shows of a judged table; its figures have scores and intervals as places out of 100 too."""
    if not any(judged.sides or ()):  # all figures are undefined
        return {**judged.table._asdict(), "run": str(run), "figures": [], "ends": (), "texts": {}}
    estimates = [[samples for *_, samples in side.values()] for side in judged.sides or ()]
    lines = np.array([[(samples[0], *interval(samples)) for samples in side] for side in estimates])  # side, figure, 3
    low, high = lines.min(), lines.max()
    places = ((lines - low) * 100 / ((high - low) or 1)).swapaxes(0, 1).tolist()
    rows = zip(judged.table.rows, places, strict=True)
    figures = [(*cells[:5], f"{cells[5]} to {cells[6]}", place) for cells, place in rows]
    changes = sorted(text_changes(run, judged), key=lambda change: change[2] - change[1])
    lost = [change for change in changes if change[2] < change[1]][:CHANGES]
    gained = [change for change in reversed(changes) if change[2] > change[1]][:CHANGES]
    texts = {"Gained most": gained, "Lost most": lost} if changes else {}
    shown = {"run": str(run), "figures": figures, "ends": (DECIMAL(low), DECIMAL(high)), "texts": texts}
    return {**judged.table._asdict(), **shown}


def text_changes(run: Path, judged: Judged) -> list[tuple[str, float, float]]:
    """Return the judged texts, or pairs of texts, with the means of their own figures x 100 before and after.

    A pair's is 100 where its place by cosine is that of its grade. A note says so if the table has changed.
    """
    before, after = judged.sides or ({}, {})
    stored, items, _ = next(iter(after.values()))
    source = located(run, str(getattr(stored, "source", "")))
    try:
        if not Path(source.partition(",")[0]).is_file():
            raise InputError("it is not there")
        task = read_judge(source, judged.shots).tasks[0]
        if task.sha256() != stored.sha256:
            raise InputError("it has changed since")
    except InputError as error:
        note(f"{run}: no texts of {source} that gained or lost ({error})")
        return []
    outcomes = defaultdict[str, list[tuple[float, float]]](list)
    for name in after:
        old, new = (item_outcomes(side[name][1]) for side in (before, after))
        for number in old.keys() & new.keys():
            second = f" | {task.texts[task.size + number]}" if items.statistic in ("spearman", "ap") else ""
            outcomes[task.texts[number] + second].append((old[number], new[number]))
    return [(text, *np.mean(figures, axis=0).tolist()) for text, figures in outcomes.items()]


def item_outcomes(items: Predictions) -> dict[int, float]:
    """Return the figure x 100 of each item of a set, by its number; of clusterings none."""
    if items.statistic == "nmi":
        return {}
    if items.statistic == "mean":
        return dict(zip(items.gold.astype(int).tolist(), (100 * items.predicted).tolist(), strict=True))
    ranks, grades = (rankdata(side) / len(side) for side in (items.predicted, items.gold))
    distances = np.abs(ranks - (items.gold if items.statistic == "ap" else grades))
    return dict(enumerate((100 - 100 * distances).tolist()))
