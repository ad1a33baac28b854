"""What a training did to the vectors: cosines of sampled pairs, and sentences' neighbours, before and after it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from trainers.data.kinds import KINDS, DataOptions, read_examples
from trainers.embedding.model import load_model, starting_model
from trainers.embedding.vectors import Vectors
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import locate
from trainers.evaluation.metrics import spearman
from trainers.training.dev import read_dev

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEAREST, SHOWN = 5, 8
WIDTH, HEIGHT, BINS = 100, 40, 40
Row = tuple[str, str, float | None]


def change_of(run: Path, recipe: Mapping[str, Any], count: int, seed: int) -> dict[str, Any]:
    """Compare a run's encoder with the one that it started from, on `count` pairs; see `sample_pairs` for which.

    Returns, for the page, the numbers of the groups, their histograms (`low`, `outlines`) and mean cosines, the rank
    correlation with the grades if there are any, and the sentences whose neighbours changed most. Raises InputError
    where the data or one of the encoders is not there.
    """
    groups = sample_pairs(recipe, count, seed)
    texts = dict.fromkeys(text for rows in groups.values() for row in rows for text in row[:2])
    source, max_tokens = locate(recipe["encoder"]), recipe["max_tokens"]
    before = starting_model(load_for_training(source, recipe["pooling"], max_tokens), source, max_tokens)
    sides = [Vectors.encode(model, texts) for model in (before, load_model(str(run), max_tokens=max_tokens))]
    cosines = [
        {name: side.cosines([row[0] for row in rows], [row[1] for row in rows]) for name, rows in groups.items()}
        for side in sides
    ]
    low, outlines = histograms(cosines)
    grades = [row[2] for rows in groups.values() for row in rows if row[2] is not None]
    first = list(dict.fromkeys(row[0] for rows in groups.values() for row in rows))
    return {
        "numbers": {name: len(rows) for name, rows in groups.items()},
        "low": low,
        "outlines": outlines,
        "means": {name: [float(side[name].mean()) for side in cosines] for name in groups},
        "spearman": [spearman(grades, np.concatenate(list(side.values()))) for side in cosines] if grades else None,
        "neighbours": moved(first, [np.asarray(side.of(first)) for side in sides]),
    }


def sample_pairs(recipe: Mapping[str, Any], count: int, seed: int) -> dict[str, list[Row]]:
    """Draw pairs of texts, by groups that should lie apart; raises InputError where there are none.

    They are of the run's development set, above and below the middle of its scale; without one, of what it was trained
    on: the two views of a sentence, where they differ, and one sentence beside another.
    """
    draw = Random(seed)
    if recipe.get("dev"):
        dev = read_dev(recipe["dev"], recipe.get("dev_data"))
        rows: list[Row] = list(zip(dev.left, dev.right, dev.labels or [], strict=True))
        middle = (min(dev.labels or []) + max(dev.labels or [])) / 2
        taken = draw.sample(rows, min(count, len(rows)))
        named = {
            "graded alike": [row for row in taken if (row[2] or 0) > middle],
            "graded unlike": [row for row in taken if (row[2] or 0) <= middle],
        }
    else:
        options = {key: recipe[key] for key in DataOptions.model_fields if recipe.get(key) is not None}
        read, _ = read_examples(DataOptions(**options), tuple(KINDS), recipe["seed"])
        drawn = read.take(draw.sample(range(len(read)), min(count, len(read))))
        views = list(zip(drawn.left, drawn.right, strict=True))
        named = {"two views of a sentence": [(one, two, None) for one, two in views if one != two]}
        named["two sentences"] = [(one, views[number - 1][1], None) for number, (one, _) in enumerate(views)]
    return {name: found for name, found in named.items() if found}


def moved(texts: Sequence[str], sides: Sequence[NDArray[np.float32]]) -> list[dict[str, Any]]:
    """Return the texts whose former neighbours are furthest behind now, with their neighbours and cosines on each side.

    `sides`: the texts' vectors (texts, d) before and after.
    """
    near = min(NEAREST, len(texts) - 1)
    cosines = [side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12) for side in sides]
    cosines = [side @ side.T - 9 * np.eye(len(texts), dtype=np.float32) for side in cosines]  # itself comes last
    orders = [np.argsort(-side, axis=1, kind="stable") for side in cosines]
    now = 1 + np.take_along_axis(np.argsort(orders[1], axis=1), orders[0][:, :near], axis=1).mean(axis=1)
    found = []
    for row in np.argsort(-now, kind="stable")[: SHOWN if near else 0]:
        before, after = (
            [(texts[other], float(side[row, other])) for other in order[row, :near]]
            for side, order in zip(cosines, orders, strict=True)
        )
        found.append({"text": texts[row], "rank": float(now[row]), "before": before, "after": after})
    return found


def histograms(sides: Sequence[Mapping[str, NDArray[np.float64]]]) -> tuple[float, list[dict[str, str]]]:
    """Draw the cosines of groups of pairs, before and after, on one scale; each group has the same area.

    Returns the left end of the scale, whose right end is 1, and for each side the points of a polygon by group.
    """
    low = math.floor(10 * min(float(values.min()) for side in sides for values in side.values())) / 10
    edges = np.linspace(low, 1 + 1e-9, BINS + 1)
    shares = [{name: np.histogram(values, edges)[0] / len(values) for name, values in side.items()} for side in sides]
    most = max(float(share.max()) for side in shares for share in side.values())
    xs = np.repeat(np.linspace(0, WIDTH, BINS + 1), 2)

    def outline(share: NDArray[np.float64]) -> str:
        ys = HEIGHT - (HEIGHT - 1) * np.concatenate([[0], np.repeat(share / most, 2), [0]])
        return " ".join(f"{x:.2f},{y:.2f}" for x, y in zip(xs, ys, strict=True))

    return low, [{name: outline(share) for name, share in side.items()} for side in shares]
