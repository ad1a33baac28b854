"""When stored scores are taken, and when they are made again."""

import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from small_trainings import Capsys

from trainers.encoders.model import load_model
from trainers.scores.runs import read_results
from trainers.scores.scoring import find_suites, score_into


@pytest.fixture
def model(tiny_bert: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_bert, tmp_path / "model")


def scored(model: Path, data: Path) -> tuple[float | None, int]:
    """Return the figure of STS-B and when the file of the scores was written."""
    (suite,) = find_suites(["sts"], str(data))
    score_into(load_model(str(model), pooling="mean"), suite, Path("scores"))
    (found,) = read_results(Path("scores"))
    return found.sets["stsb"].figures["all"], Path("scores/sts.json").stat().st_mtime_ns


def test_stored_scores_are_used_until_something_that_decides_them_changes(
    model: Path, graded_data: Path
) -> None:
    first = scored(model, graded_data)
    moved = shutil.copytree(graded_data, "moved")
    assert scored(model.rename("renamed"), moved) == first


@pytest.mark.parametrize("change", ["weights", "items", "", "{", "[]", '{"sets": {}}', "\ud800"])
def test_scores_of_something_else_are_made_again(
    model: Path, graded_data: Path, change: str, capsys: Capsys
) -> None:
    data = shutil.copytree(graded_data, Path("data"))
    before, _ = scored(model, data)
    capsys.readouterr()
    if change == "weights":
        weights = {
            name: weight.flip(0).contiguous()
            for name, weight in load_file(model / "model.safetensors").items()
        }
        save_file(weights, model / "model.safetensors", {"format": "pt"})
    elif change == "items":
        lines = (data / "stsbenchmark" / "sts-test.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        rows = [line.split("\t") for line in lines]
        swapped = [
            "\t".join([*row[:4], other[4], *row[5:]]) for row, other in zip(rows, rows[::-1], strict=True)
        ]
        (data / "stsbenchmark" / "sts-test.csv").write_text("".join(swapped), encoding="utf-8")
    else:
        Path("scores/sts.json").write_bytes(change.encode("utf-8", "surrogatepass"))
    after, _ = scored(model, data)
    assert (after != before) == (change in ("weights", "items"))
    assert [line for line in capsys.readouterr().err.splitlines() if "scores" in line] == [
        "scores/sts.json is damaged, or of other weights, settings or items: it is replaced"
    ]
