from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from trainers.results.scoring import Scoring, find_scoring, score, score_figures, score_metrics, training_figures


def write_run(folder: Path, log: list[dict[str, Any]], **recipe: str) -> Path:
    (folder / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log), encoding="utf-8")
    (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("keep", "dev"), [("best", 71.0), ("last", 69.0)])
def test_training_is_judged_by_its_last_loss_and_the_dev_score_of_what_it_kept(
    tmp_path: Path, keep: str, dev: float
) -> None:
    log = [
        {"step": 0, "dev": 75.0},
        {"step": 1, "loss": 3.0, "spread": 0.5, "accuracy": 1.0},
        {"step": 5, "dev": 71.0},
        {"step": 9, "loss": 1.0, "spread": 0.25, "dev": 69.0},
    ]
    assert training_figures(write_run(tmp_path, log, keep=keep)) == {"loss": 1.0, "spread": 0.25, "dev": dev}


def test_training_without_a_dev_set_has_no_dev_score(tmp_path: Path) -> None:
    log = [{"step": 1, "loss": 3.0, "spread": 0.5}]
    assert training_figures(write_run(tmp_path, log)) == {"loss": 3.0, "spread": 0.5}
    assert training_figures(tmp_path / "nowhere") == {}


def test_part_of_the_suite_has_an_average_that_says_so(graded_data: Path, tmp_path: Path, sentences: list[str]) -> None:
    data = tmp_path / "data"
    shutil.copytree(graded_data, data)
    (data / "SICK").mkdir()
    lines = [f"{i}\t{sentences[i % 48]}\t{sentences[i % 7]}\t{1 + i % 5}\tNEUTRAL\n" for i in range(4927)]
    head = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    (data / "SICK" / "SICK_test_annotated.txt").write_text(head + "".join(lines), encoding="utf-8")
    metrics = score_metrics(find_scoring(str(data), "fp32"))
    assert [metric.title for metric in metrics] == ["STS-B", "SICK-R", "average (2 of 7 sets)", "STS-B dev"]
    assert [metric.key for metric in metrics if metric.headline] == ["stsb", "average", "stsb-dev"]


def test_figures_are_spearman_over_all_pairs() -> None:
    sets = {"stsb": {"figures": {"all": 70.5, "pearson": 1.0}}, "sts12": {"figures": {"all": None, "pearson": None}}}
    values = {"sets": sets, "average": {"sets": 2, "of": 7, "figures": {"all": None, "pearson": None}}}
    assert score_figures(values) == {"stsb": 70.5, "sts12": None, "average": None}
    assert score_figures({"sets": {}, "average": {"sets": 0, "of": 7, "figures": {}}}) == {"average": None}


@pytest.fixture
def model(tiny_bert: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_bert, tmp_path / "model")


def scored(model: Path, scoring: Scoring) -> tuple[float | None, int]:
    """Return the figure of STS-B and when the file of the scores was written."""
    values = score(str(model), Path("scores"), scoring, "mean")
    return score_figures(values)["stsb"], Path("scores/sts.json").stat().st_mtime_ns


def test_stored_scores_are_taken_while_nothing_changes_that_decides_them(model: Path, graded_data: Path) -> None:
    first = scored(model, find_scoring(str(graded_data), "fp32"))
    moved = shutil.copytree(graded_data, "moved")
    assert scored(model.rename("renamed"), find_scoring(str(moved), "fp32")) == first


def test_scores_of_other_weights_are_made_anew(
    model: Path, graded_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.torch import load_file, save_file

    scoring = find_scoring(str(graded_data), "fp32")
    before, _ = scored(model, scoring)
    weights = {name: weight.flip(0).contiguous() for name, weight in load_file(model / "model.safetensors").items()}
    save_file(weights, model / "model.safetensors", {"format": "pt"})
    after, _ = scored(model, scoring)
    assert after != before
    assert "sts.json is of other weights or settings: evaluated anew" in capsys.readouterr().err


def test_scores_on_other_items_are_made_anew(
    model: Path, graded_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, _ = scored(model, find_scoring(str(graded_data), "fp32"))
    data = shutil.copytree(graded_data, Path("other"))
    lines = (data / "stsbenchmark" / "sts-test.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [line.split("\t") for line in lines]
    swapped = ["\t".join([*row[:4], other[4], *row[5:]]) for row, other in zip(rows, rows[::-1], strict=True)]
    (data / "stsbenchmark" / "sts-test.csv").write_text("".join(swapped), encoding="utf-8")
    after, _ = scored(model, find_scoring(str(data), "fp32"))
    assert after != before
    assert "sts.json is of other items: evaluated anew" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", "3", '"text"', "{}", "sets", "figure", "\ud800"])
def test_damaged_scores_are_made_anew_with_one_line(
    model: Path, graded_data: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scoring = find_scoring(str(graded_data), "fp32")
    whole, _ = scored(model, scoring)
    path = Path("scores/sts.json")
    values = json.loads(path.read_text(encoding="utf-8"))
    if damage == "sets":
        values["sets"] = None
    if damage == "figure":
        values["sets"]["stsb"]["figures"]["all"] = "much"
    text = json.dumps(values) if damage in ("sets", "figure") else damage
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    capsys.readouterr()
    assert scored(model, scoring)[0] == whole
    assert [line for line in capsys.readouterr().err.splitlines() if "scores" in line] == [
        "scores/sts.json is damaged: evaluated anew"
    ]
