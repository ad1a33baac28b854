"""Results as an evaluation leaves them, made by hand, and what `train compare` prints of them."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from small_trainings import train

from trainers.scores.task import Predictions

compare = partial(train, "compare")
SIZES = {
    "sts12": 3108,
    "sts13": 1500,
    "sts14": 3750,
    "sts15": 3000,
    "sts16": 1186,
    "stsb": 1379,
    "sickr": 4927,
}
SIZES |= dict.fromkeys(("afs-gun-control", "afs-gay-marriage", "afs-death-penalty"), 2000)
NAMES = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr")


def figures(shift: float = 0.0) -> dict[str, dict[str, float | None]]:
    """Return seven sets: `all` is 60 to 66, `mean` 10 more, `weighted` 20 more."""
    bases = {name: 60 + index + shift for index, name in enumerate(NAMES)}
    return {name: {"all": x, "mean": x + 10, "weighted": x + 20, "pearson": 1.0} for name, x in bases.items()}


def tables(text: str) -> list[dict[str, Any]]:
    """Return the tables that `--json` printed, their rows by column."""
    return [
        {**table, "rows": [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]}
        for table in json.loads(text)["tables"]
    ]


def lines(text: str, start: str) -> list[list[str]]:
    """Return the cells of the table's lines that begin with `start`."""
    found = [line.split("  ") for line in text.splitlines() if line.startswith(start)]
    return [[cell.strip() for cell in cells if cell.strip()] for cells in found]


def write_study(folder: Path, *seeds: int) -> None:
    """Write what makes folders of several seeds runs: their recipes."""
    for seed in seeds:
        (folder / f"seed-{seed}").mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{seed}" / "recipe.json").write_text("{}")


def figure(items: Predictions, rows: Any = slice(None)) -> float:  # noqa: ANN401 - any index
    """Return the score x 100 of the items in `rows`, as often as they stand there, by SciPy and scikit-learn."""
    gold, predicted = items.gold[rows], items.predicted[rows]
    if items.statistic == "mean":
        return 100 * float(predicted.mean())
    if items.statistic == "auc":
        return 100 * float(roc_auc_score(gold, predicted))
    return 100 * float(spearmanr(gold, predicted).statistic)


def figures_of(items: Mapping[str, Predictions]) -> dict[str, dict[str, float | None]]:
    """Return the figures of sets of grades, None where all predictions are the same."""
    return {name: {"all": figure(each) if np.ptp(each.predicted) else None} for name, each in items.items()}


def similar(seed: int, noise: float, size: int = 300, gold_seed: int = 0) -> Predictions:
    """Return grades and similarities that follow them, the less the more noise; the same grades for every seed."""
    gold = np.random.default_rng(gold_seed).integers(0, 11, size) / 2
    return Predictions("spearman", gold, gold + noise * np.random.default_rng(seed).standard_normal(size))


def write_run(
    name: str,
    each: Mapping[str, Any] = {},
    *,
    suite: str = "sts",
    items: Mapping[str, Predictions] = {},
    sets: Mapping[str, Any] = {},
    model: Mapping[str, Any] = {},
    precision: str = "fp32",
) -> Path:
    """Write one suite's results of a run, by default the figures of its items, and return the run's directory."""
    folder = Path(name, "evaluation")
    folder.mkdir(parents=True, exist_ok=True)
    usual = {"counted": True, "note": None, "seen_in_training": None}
    values = {
        "suite": suite,
        "date": "2026-11-21T10:00:00+00:00",
        "model": {"name": name, "pooling": "mean", "revision": "0" * 12, **model},
        "settings": {"precision": precision},
        "sets": {
            key: {
                "title": key.upper(),
                "size": SIZES.get(key, 4),
                "sha256": key,
                **usual,
                "figures": dict(found),
            }
            | dict(sets.get(key, {}))
            for key, found in (each or figures_of(items)).items()
        },
    }
    (folder / f"{suite}.json").write_text(json.dumps(values))
    parts = ((key, part, value) for key, found in items.items() for part, value in found._asdict().items())
    arrays = {f"{key}/{part}": value for key, part, value in parts if value is not None}
    if arrays:
        np.savez(folder / f"{suite}.items.npz", **arrays)
    return Path(name)
