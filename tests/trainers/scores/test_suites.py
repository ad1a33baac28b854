"""Suites: found by their files, encoded together, reported one by one."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from known_vectors import evaluate
from small_trainings import Capsys

from pipelines.base.console import InputError
from trainers.data.examples import from_text
from trainers.encoders.functions import FunctionEncoder
from trainers.encoders.vectors import Vectors
from trainers.scores import suites
from trainers.scores.result_files import results_table, write
from trainers.scores.scoring import evaluate_suites, find_suites
from trainers.scores.suites import expanded, suite_names
from trainers.scores.task import SEED, Predictions, Result, Suite, Task

SUITE = '''"""The lengths of lines: how many are even."""

from pathlib import Path
from tests.trainers.scores.test_suites import lengths
from trainers.scores.task import Missing

METRICS = ("even",)
COUNTED = 2

def find(data):
    paths = [Path(data) / name for name in ("one.txt", "two.txt")]
    return [
        lengths(path.stem, *path.read_text().split("\\n")) if path.exists()
        else Missing(path.stem, path.stem, f"no {path.name}", "nowhere")
        for path in paths
    ]
'''


def lengths(name: str, *texts: str, counted: bool = True, even: float | None = 0.0) -> Task:
    """Return a set whose figure is the share of texts whose vector's first number is even, unless that is None."""

    def score(vectors: Vectors, seed: int) -> Result:
        if even is None:
            return Result({"even": None, "other": 1.0})
        found = (np.asarray(vectors.of(texts))[:, 0] % 2 == 0).astype(np.float64)
        predictions = Predictions("mean", np.ones_like(found), found)
        return Result({"even": 100 * found.mean(), "seed": float(seed)}, predictions)

    about = {"name": name, "title": name.upper(), "source": "here", "size": len(texts), "counted": counted}
    return Task(**about, texts=texts, lines=texts, score=score)


def suite(name: str, *tasks: Task, expected: int = 0) -> Suite:
    return Suite(name, ("even", "seed"), expected, tasks)


LENGTHS = FunctionEncoder(lambda texts: [[float(len(text))] for text in texts], "lengths")


@pytest.fixture
def another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A suite made by adding one file."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "line_lengths.py").write_text(SUITE)
    monkeypatch.setattr(suites, "__path__", [*suites.__path__, str(folder)])
    return "line-lengths"


def test_a_suite_is_known_by_its_file(another: str, tmp_path: Path) -> None:
    assert another in suite_names()
    (tmp_path / "one.txt").write_text("a cat")
    (found,) = find_suites([another], str(tmp_path))
    assert found.name == another


def test_all_means_every_suite_but_the_smoke_test_each_once() -> None:
    found = expanded(["sts", "all"])
    assert found[0] == "sts"
    assert sorted([*found, "sample"]) == suite_names()
    assert expanded(["sample", "all", "sample"])[0] == "sample"
    with pytest.raises(InputError, match=r"no suite 'st': there are .*\bsts\b.*, or all"):
        expanded(["sts", "st"])


def test_a_text_that_several_suites_share_is_encoded_once() -> None:
    seen: list[str] = []

    def remembered(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[float(len(text))] for text in texts]

    one, two = lengths("one", "a", "bb", "ccc"), lengths("two", "bb", "dddd", "a")
    found = evaluate_suites(
        FunctionEncoder(remembered, "remembered"), [suite("x", one), suite("y", two, one)], seed=5
    )
    assert sorted(seen) == ["a", "bb", "ccc", "dddd"]
    figures = [item["figures"] for scores in found for item in scores.values["sets"].values()]
    assert [item["even"] for item in figures] == pytest.approx([100 / 3, 200 / 3, 100 / 3])
    assert {item["seed"] for item in figures} == {5.0}


def test_an_average_is_over_the_counted_sets_and_undefined_with_one_of_them() -> None:
    sets = [lengths("one", "a"), lengths("two", "bb"), lengths("three", "bb", counted=False)]
    (scores,) = evaluate_suites(LENGTHS, [suite("x", *sets, expected=3)])
    assert scores.values["average"] == {"sets": 2, "of": 3, "figures": {"even": 50.0, "seed": SEED}}
    assert not scores.values["complete"]
    sets.append(lengths("nothing", "a", even=None))
    (scores,) = evaluate_suites(LENGTHS, [suite("x", *sets, expected=3)])
    assert scores.values["average"]["figures"] == {"even": None}
    assert scores.values["complete"]
    (scores,) = evaluate_suites(LENGTHS, [suite("x", *sets)])
    assert scores.values["average"]["figures"] == {}


def test_a_figure_that_rounds_to_zero_has_no_sign() -> None:
    task = replace(lengths("one", "a"), score=lambda vectors, seed: Result({"even": -0.001}))
    (scores,) = evaluate_suites(LENGTHS, [suite("x", task)])
    assert results_table(scores).rows == (("ONE", "1", "0.00", ""),)


def test_two_suites_and_their_json(
    model: Path, another: str, suite_data: Path, tmp_path: Path, capsys: Capsys
) -> None:
    data = shutil.copytree(suite_data / "SICK", tmp_path / "data" / "SICK").parent
    for name in ("one.txt", "two.txt"):
        (data / name).write_text("a cat\nthe dog")
    arguments = [
        model,
        "--suite",
        another,
        "--suite",
        "sts",
        "--data",
        "data",
        "--pooling",
        "cls",
        "--seed",
        3,
    ]
    assert evaluate(*arguments) == 0
    out, _ = capsys.readouterr()
    titles = [line for line in out.splitlines() if "pooling cls" in line]
    assert [line.split(":")[0] for line in titles] == [another, "sts"]
    assert "average of 2" in out
    assert evaluate(*arguments, "--json") == 0
    values = json.loads(capsys.readouterr().out)["suites"]
    assert list(values) == [another, "sts"]
    (results,) = Path("runs/evaluation").glob("tiny-*/cls-seed-3")
    assert values[another] == json.loads((results / f"{another}.json").read_text())
    assert values["sts"]["seed"] == values["sts"]["settings"]["seed"] == 3
    assert values["sts"]["sets"]["sickr"]["size"] == 4927


def test_items_of_an_earlier_evaluation_are_removed(tmp_path: Path) -> None:
    for even, left in ((0.0, True), (None, False)):
        write(tmp_path, evaluate_suites(LENGTHS, [suite("x", lengths("one", "a", even=even))]))
        assert (tmp_path / "x.items.npz").exists() == left


def test_texts_seen_in_training(model: Path, another: str, tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "text.txt").write_text("The dog.\nsomething else\n")
    recipe = {
        "text": "text.txt",
        "seed": 1,
        "twinviews": {"data_xxh64": from_text(tmp_path / "text.txt").digest()},
    }
    (model / "recipe.json").write_text(json.dumps(recipe))
    (tmp_path / "one.txt").write_text("a cat\nthe dog\nthe dog\nthe man")
    arguments = [model, "--suite", another, "--data", tmp_path, "--pooling", "cls"]
    assert evaluate(*arguments) == 0
    out, err = capsys.readouterr()
    assert "seen in training" in out
    assert "1 of 3" in out
    assert "the model was trained on texts of ONE" in err
    values = json.loads((model / "evaluation" / "cls" / f"{another}.json").read_text())
    assert values["sets"]["one"]["seen_in_training"] == {"texts": 1, "of": 3, "dev": 0}
    (tmp_path / "text.txt").write_text("another text\n")
    assert evaluate(*arguments) == 0
    assert "is not counted: it has changed since" in capsys.readouterr().err
