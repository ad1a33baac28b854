"""What a training is judged by without scores, and when stored scores are taken."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from small_trainings import Capsys

from trainers.encoders.model import load_model
from trainers.evaluation.scoring import find_suites, score_into
from trainers.results.runs import read_results, read_training


def write_run(folder: Path, log: list[dict[str, Any]], **recipe: str) -> Path:
    (folder / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log), encoding="utf-8")
    (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    return folder


def logged(run: Path) -> dict[str, float | None]:
    figures: dict[str, float | None] = {}
    for each in read_training(run):
        for item in each.stored.sets.values():
            figures |= item.figures
    return figures


@pytest.mark.parametrize(("keep", "dev"), [("best", 75.0), ("last", 69.0)])
def test_training_is_judged_by_its_last_loss_and_dev_score(tmp_path: Path, keep: str, dev: float) -> None:
    log = [
        {"step": 0, "dev": 75.0},
        {"step": 1, "loss": 3.0, "spread": 0.5, "accuracy": 1.0},
        {"step": 5, "dev": 71.0},
        {"step": 9, "loss": 1.0, "spread": 0.25, "dev": 69.0},
    ]
    assert logged(write_run(tmp_path, log, keep=keep)) == {"loss": 1.0, "spread": 0.25, "dev": dev}
    assert logged(tmp_path / "nowhere") == {}


@pytest.fixture
def model(tiny_bert: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_bert, tmp_path / "model")


def scored(model: Path, data: Path) -> tuple[float | None, int]:
    """Return the figure of STS-B and when the file of the scores was written."""
    (suite,) = find_suites(["sts"], str(data))
    score_into(load_model(str(model), pooling="mean"), suite, Path("scores"))
    (found,) = read_results(Path("scores"))
    return found.stored.sets["stsb"].figures["all"], Path("scores/sts.json").stat().st_mtime_ns


def test_stored_scores_are_used_until_something_that_decides_them_changes(model: Path, graded_data: Path) -> None:
    first = scored(model, graded_data)
    moved = shutil.copytree(graded_data, "moved")
    assert scored(model.rename("renamed"), moved) == first


@pytest.mark.parametrize("change", ["weights", "items", "", "{", "[]", '{"sets": {}}', "\ud800"])
def test_scores_of_something_else_are_made_again(model: Path, graded_data: Path, change: str, capsys: Capsys) -> None:
    data = shutil.copytree(graded_data, Path("data"))
    before, _ = scored(model, data)
    capsys.readouterr()
    if change == "weights":
        weights = {name: weight.flip(0).contiguous() for name, weight in load_file(model / "model.safetensors").items()}
        save_file(weights, model / "model.safetensors", {"format": "pt"})
    elif change == "items":
        lines = (data / "stsbenchmark" / "sts-test.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        rows = [line.split("\t") for line in lines]
        swapped = ["\t".join([*row[:4], other[4], *row[5:]]) for row, other in zip(rows, rows[::-1], strict=True)]
        (data / "stsbenchmark" / "sts-test.csv").write_text("".join(swapped), encoding="utf-8")
    else:
        Path("scores/sts.json").write_bytes(change.encode("utf-8", "surrogatepass"))
    after, _ = scored(model, data)
    assert (after != before) == (change in ("weights", "items"))
    assert [line for line in capsys.readouterr().err.splitlines() if "scores" in line] == [
        "scores/sts.json is damaged, or of other weights, settings or items: it is replaced"
    ]
