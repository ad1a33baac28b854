"""What a page says of a training: its recipe, what it logged, as charts, and what it did to the vectors."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from augment.record import check_folder_files
from pipelines.base.console import InputError, note
from trainers.encoders.location import LOG, RECIPE, TIME
from trainers.encoders.vectors import Vectors
from trainers.training import directory

BINS = 40
TITLES = {
    "loss": "Loss",
    "contrast": "Contrastive part of the loss",
    "moved": "Distance from the original vectors, part of the loss",
    "accuracy": "Share of masked tokens that are predicted right",
    "dev": "Development set, x 100",
    "learning_rate": "Learning rate",
    "alignment": "Alignment: distance of the two views",
    "uniformity": "Uniformity: lower is more even",
    "spread": "Spread: 0 is one direction for all",
    "isotropy": "Isotropy: 1 is even in all directions",
    "random_cosine": "Cosine of random pairs",
    "grad_norm": "Norm of the gradient",
}
"""What is logged, in the order of the page; the parts of the loss, under their own names, follow the loss."""


def read_run(run: Path, sample: int) -> dict[str, Any]:
    """Return a run's name, its recipe and log (empty if missing), its last values, and its change, if any."""
    check_folder_files(run, "train it again with --overwrite")
    try:
        texts = [
            (run / name).read_text("utf-8") if (run / name).is_file() else "" for name in (RECIPE, LOG, TIME)
        ]
        recipe, end, *lines = map(json.loads, [texts[0] or "{}", texts[2] or "{}", *texts[1].splitlines()])
        if not all(isinstance(values, dict) for values in (recipe, end, *lines)):
            raise ValueError("a line is no object")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{RECIPE}, {LOG} or {TIME} of {run} is damaged ({error}): train it again") from None
    change = None
    if lines and sample and "pooling" in recipe:  # a translation model has no vectors
        try:
            change = change_of(run, recipe, sample)
        except InputError as error:
            note(f"{run}: no cosines before and after ({error})")
    last = {key: value for line in lines for key, value in line.items()}
    shown = directory.without_paths(recipe)
    return {"name": str(run), "recipe": shown, "log": lines, "last": last, "change": change, "end": end}


def charts(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A chart for each value in the logs: its ends, and the points of each run that has any, by its number."""
    keys = dict.fromkeys(key for run in runs for key in run["last"] if key not in ("step", "epoch"))
    figures = []
    for key in ["loss", *(key for key in keys if key not in TITLES), *list(TITLES)[1:]]:
        logs = ([line for line in run["log"] if "step" in line and key in line] for run in runs)
        curves = [[(line["step"], line[key]) for line in log if math.isfinite(line[key])] for log in logs]
        points = [point for curve in curves for point in curve]
        if points:
            steps, values = zip(*points, strict=True)
            ends = {"first": min(steps), "last": max(steps), "low": min(values), "high": max(values)}
            figures.append({"title": TITLES.get(key, key.replace("_", " ")), **ends, "curves": curves})
    return figures


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
    """Draw pairs that a training read: the views of one sentence, and of two, which should lie apart."""
    from trainers.scores.provenance import training_text

    examples = training_text(run, recipe)
    examples = examples.take(Random(0).sample(range(len(examples)), min(count, len(examples))))
    views = list(zip(examples.left, examples.right, strict=True))
    groups = {"two views of a sentence": [(left, right) for left, right in views if left != right]}
    groups["two sentences"] = [(left, views[row - 1][1]) for row, (left, _) in enumerate(views)]
    return {name: pairs for name, pairs in groups.items() if pairs}
