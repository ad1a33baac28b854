"""What a sweep goes over, the scores of its runs, and when stored ones are taken."""

import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
from safetensors.torch import load_file, save_file
from small_trainings import Capsys

from pipelines.terminal.console import InputError
from trainers.results.runs import read_results, read_training
from trainers.results.studies import Scorer, find_scorer
from trainers.settings import Flag, all_settings, read_axes

FLAGS = {
    "lr": Flag(float | None, "Rate."),
    "batch_size": Flag(int | None, "Rows."),
    "limit": Flag(int | None, "First rows.", least=1),
    "pooling": Flag(Literal["mean", "cls"] | None, "Pooling."),
    "text": Flag(Path | None, "Sentences."),
    "views": Flag(list[str] | None, "Pairs."),
    "target_dropout": Flag(bool | None, "Dropout."),
}


def test_cells_are_the_product_with_the_last_axis_running_fastest() -> None:
    made = all_settings(read_axes(["lr=1e-4,0.5", "batch-size=8,16,32"], FLAGS))
    expected = [{"lr": rate, "batch_size": size} for rate, size in product([1e-4, 0.5], [8, 16, 32])]
    assert [cell.values for cell in made] == expected
    assert made[0].title == "lr=0.0001, batch-size=8"
    assert made[0].folder == "lr=0.0001,batch-size=8"


@pytest.mark.parametrize(("written", "value", "label"), [
    ("lr=1e-4", 1e-4, "0.0001"),
    ("lr=0.00010", 1e-4, "0.0001"),
    ("lr=1", 1.0, "1"),
    ("lr=0.9999999", 0.9999999, "0.9999999"),
    ("--batch-size=16", 16, "16"),
    ("batch_size= 16 ", 16, "16"),
    ("pooling=cls", "cls", "cls"),
    ("target-dropout=false", False, "false"),
    ("text=a/b.txt", Path("a/b.txt"), "a/b.txt"),
    ("views=de+fr.arrow", ["de+fr.arrow"], "de+fr.arrow"),
    ("views=a.arrow=2+b.arrow=1", ["a.arrow=2", "b.arrow=1"], "a.arrow=2+b.arrow=1"),
])  # fmt: skip
def test_values_have_the_options_type_and_one_way_to_be_written(written: str, value: object, label: str) -> None:
    Path("de+fr.arrow").touch()
    (values,) = read_axes([written], FLAGS).values()
    assert values == {label: value}


@pytest.mark.parametrize(("over", "message"), [
    (["momentum=1"], "no option of that name to sweep over; there are batch-size, limit, lr, pooling, "),
    (["lr"], "a value is empty: write it as KEY=V1,V2"),
    (["lr=1,,2"], "a value is empty"),
    (["lr=much"], "--over lr=much: input should be a valid number"),
    (["batch-size=1.5"], "--over batch-size=1.5: input should be a valid integer"),
    (["pooling=max"], "--over pooling=max: input should be 'mean' or 'cls'"),
    (["limit=0"], "--over limit=0: input should be at least 1"),
    (["lr=0.1,1e-1"], "two values have the same folder name"),
    (["lr=1", "lr=2"], "--over lr: the option is given twice"),
    (["text=a/b,a-b"], "two values have the same folder name"),
])  # fmt: skip
def test_an_unusable_axis_is_one_line(over: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        read_axes(over, FLAGS)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_folders_are_plain_names_of_bounded_length_and_told_apart() -> None:
    long = ["/data/" + letter * 300 + "/pairs.arrow" for letter in "xy"]
    made = all_settings(read_axes([f"views=../a.arrow,{long[0]},{long[1]}"], FLAGS))
    names = [cell.folder for cell in made]
    assert names[0] == "views=..-a.arrow"
    assert len(set(names)) == 3
    assert all(len(name) < 100 and not set(name) & set('/\\:*?"<>|') for name in names)


def write_run(folder: Path, log: list[dict[str, Any]], **recipe: str) -> Path:
    (folder / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log), encoding="utf-8")
    (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    return folder


def logged(run: Path) -> dict[str, float | None]:
    figures: dict[str, float | None] = {}
    for each in read_training(run, "1"):
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


def scored(model: Path, score: Scorer) -> tuple[float | None, int]:
    """Return the figure of STS-B and when the file of the scores was written."""
    score(str(model), Path("scores"), "mean")
    (found,) = read_results(Path("scores"), "1")
    return found.stored.sets["stsb"].figures["all"], Path("scores/sts.json").stat().st_mtime_ns


def find(data: Path) -> Scorer:
    found = find_scorer(str(data), baseline=False)
    assert found is not None
    return found


def test_stored_scores_are_used_until_something_that_decides_them_changes(model: Path, graded_data: Path) -> None:
    first = scored(model, find(graded_data))
    moved = shutil.copytree(graded_data, "moved")
    assert scored(model.rename("renamed"), find(moved)) == first


@pytest.mark.parametrize("change", ["weights", "items", "", "{", "[]", '{"sets": {}}', "\ud800"])
def test_scores_of_something_else_are_made_again(model: Path, graded_data: Path, change: str, capsys: Capsys) -> None:
    data = shutil.copytree(graded_data, Path("data"))
    before, _ = scored(model, find(data))
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
    after, _ = scored(model, find(data))
    assert (after != before) == (change in ("weights", "items"))
    assert [line for line in capsys.readouterr().err.splitlines() if "scores" in line] == [
        "scores/sts.json is damaged, or of other weights, settings or items: it is replaced"
    ]
