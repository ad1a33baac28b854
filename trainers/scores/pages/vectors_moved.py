"""What a training did to the vectors: cosines before and after."""

import math
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from trainers.encoders.vectors import Vectors

BINS = 40


def change_of(run: Path, recipe: Mapping[str, Any], count: int) -> dict[str, Any]:
    """A run's encoder beside its start on `count` pairs; raises InputError if data or encoder is gone."""
    from trainers.encoders.loading import load_for_training
    from trainers.encoders.model import load_model, starting_model
    from trainers.scores.provenance import find_start

    groups, source = sample_pairs(run, recipe, count), find_start(run, recipe)
    columns = {name: list(zip(*rows, strict=True)) for name, rows in groups.items()}
    texts = [text for sides in columns.values() for side in sides for text in side]
    max_tokens = recipe["max_tokens"]
    before = starting_model(load_for_training(source, recipe["pooling"], max_tokens), source, max_tokens)
    cosines = []
    for model in (before, load_model(str(run), max_tokens=max_tokens)):
        vectors = Vectors.encode(model, texts)
        cosines.append({name: vectors.cosines(*sides) for name, sides in columns.items()})
    low = math.floor(10 * min(float(values.min()) for side in cosines for values in side.values())) / 10
    bins = np.linspace(low, 1 + 1e-9, BINS + 1)
    shares = []
    for side in cosines:
        counts = {name: np.histogram(values, bins)[0] for name, values in side.items()}
        shares.append({name: (of / of.sum()).tolist() for name, of in counts.items()})
    return {
        "numbers": {name: len(rows) for name, rows in groups.items()},
        "low": low,
        "shares": shares,
        "peak": max(share for side in shares for group in side.values() for share in group),
        "means": {name: [float(side[name].mean()) for side in cosines] for name in groups},
    }


def sample_pairs(run: Path, recipe: Mapping[str, Any], count: int) -> dict[str, list[tuple[str, str]]]:
    """Draw pairs that should lie apart, by grade from the run's --dev, else views of one sentence and of two."""
    from trainers.scores.dev_set import dev_of
    from trainers.scores.pairs import Pairs
    from trainers.scores.provenance import training_text

    rng, dev = Random(0), dev_of(run, recipe)
    if isinstance(dev, Pairs):
        rows = [pair for pairs in dev.subsets.values() for pair in pairs]
        grades = [pair.gold for pair in rows]
        sample, middle = rng.sample(rows, min(count, len(rows))), (min(grades) + max(grades)) / 2
        groups = {"graded alike": [pair[:2] for pair in sample if pair[2] > middle]}
        groups["graded unlike"] = [pair[:2] for pair in sample if pair[2] <= middle]
    else:
        examples = training_text(run, recipe)
        examples = examples.take(rng.sample(range(len(examples)), min(count, len(examples))))
        views = list(zip(examples.left, examples.right, strict=True))
        groups = {"two views of a sentence": [(left, right) for left, right in views if left != right]}
        groups["two sentences"] = [(left, views[row - 1][1]) for row, (left, _) in enumerate(views)]
    return {name: pairs for name, pairs in groups.items() if pairs}
