"""`judge` and `compare` give the figures and the verdict of `train evaluate --judge`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from known_vectors import evaluate
from sentence_transformers import SentenceTransformer
from small_trainings import Capsys

import trainers
from pipelines.base.console import InputError, TwinviewsError

WORDS = [
    "a",
    "red",
    "old",
    "train",
    "plays",
    "stops",
    "fast",
    "slowly",
    "here",
    "there",
    "young",
    "man",
    "woman",
]
TEXTS = [
    " ".join(WORDS[(row * step) % len(WORDS)] for step in range(1, 4 + row % 5)) + f" {row}"
    for row in range(60)
]
TABLES: dict[str, dict[str, list[Any]]] = {
    "label": {"text": TEXTS, "label": [row % 5 for row in range(60)]},
    "document": {"query": TEXTS[:20], "document": TEXTS[20:40]},
    "grade": {"text1": TEXTS[:30], "text2": TEXTS[30:], "grade": [row % 5 * 0.5 for row in range(30)]},
    "same": {"text1": TEXTS[:30], "text2": TEXTS[30:], "same": [row % 3 == 0 for row in range(30)]},
}


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), text.count("a"), text.count("e"), 1.0] for text in texts]


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize("kind", TABLES)
def test_figures_and_verdict_are_those_of_the_command(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = "def vectors(texts):\n    return [[len(t), t.count('a'), t.count('e'), 1.0] for t in texts]\n"
    Path("lengths.py").write_text(source, encoding="utf-8")
    rows = [dict(zip(TABLES[kind], row, strict=True)) for row in zip(*TABLES[kind].values(), strict=True)]
    Path("own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert evaluate("starter", "lengths:vectors", "--judge", "own.jsonl", "--json") == 0
    shown = capsys.readouterr()
    stored = {
        of["title"]: of["figures"]["score"]
        for of in json.loads(shown.out)["encoders"]["lengths:vectors"]["sets"].values()
    }
    mine, other = (trainers.judge(encoder, TABLES[kind]) for encoder in (lengths, "starter"))
    assert {title: score for title, (score, *_) in mine.figures.items()} == pytest.approx(stored, abs=1e-9)
    assert all(low <= high for _, low, high in mine.figures.values())
    verdict = trainers.compare(mine, other)
    words = str(verdict).replace(mine.name, "lengths:vectors").replace(other.name, "starter")
    assert f": {words}" in shown.err
    (candidate,), (start,) = verdict.candidates, trainers.compare(other, mine).candidates
    lower = {figure.title for figure in start.figures if figure.change == "gain"}
    assert {loss.title for loss in candidate.losses} == lower
    assert trainers.judge(lengths, "own.jsonl").figures == mine.figures


@pytest.mark.exhaustive
def test_a_loaded_encoder_a_folder_and_its_function_are_one(tiny_mlm: Path) -> None:
    encoder = SentenceTransformer(str(tiny_mlm), device="cpu")
    folder, loaded, function = (
        trainers.judge(of, TABLES["label"]) for of in (tiny_mlm, encoder, encoder.encode)
    )
    for other in (loaded, function):
        assert {title: pytest.approx(figure) for title, figure in other.figures.items()} == folder.figures
    assert trainers.compare(loaded, folder).outcome == "unclear"
    own = dict(zip(("body", "topic"), TABLES["label"].values(), strict=True))
    named = trainers.judge(lengths, own, columns={"text": "body", "label": "topic"})
    assert named.figures == trainers.judge(lengths, TABLES["label"]).figures
    tensors = trainers.judge(lambda texts: torch.tensor(lengths(texts), requires_grad=True), TABLES["label"])
    assert tensors.figures == trainers.judge(lambda texts: np.array(lengths(texts)), TABLES["label"]).figures


def test_classifiers_can_learn_from_few_texts() -> None:
    few = trainers.judge(lengths, TABLES["label"], shots=2, seed=3)
    assert [*few.figures] == ["2-NN accuracy", "regression accuracy", "k-means NMI"]


ERRORS: list[tuple[Callable[[], Any], str]] = [
    (lambda: trainers.judge(lengths, {"text": ["a"], "label": [1, 2]}), "length 1 but got length 2"),
    (lambda: trainers.judge(lengths, {"text": [1, 2], "label": [1, 2]}), "column 'text' is int64, not string"),
    (lambda: trainers.judge(lengths, {"text": "a cat", "label": ["x"]}), "'a cat' is one text: give a list"),
    (lambda: trainers.judge(lengths, {"text": ["a"], "label": "x"}), "'x' is one text: give a list"),
    (lambda: trainers.judge(lengths, {"text": [np.nan, "a", "b"], "label": ["x", "x", "y"]}), r"label \(1\)"),
    (lambda: trainers.judge(lengths, {"words": ["a"]}), "has the columns words: expected text and label"),
    (lambda: trainers.judge(lengths, "none.csv"), "none.csv"),
    (lambda: trainers.judge("no/such", TABLES["label"]), "no/such"),
    (lambda: trainers.judge(3, TABLES["label"]), "a int is no function"),  # type: ignore[arg-type]
    (lambda: trainers.judge(len, TABLES["label"]), "len gave an array of shape"),
    (lambda: trainers.judge(lambda texts: texts[99], TABLES["label"]), "failed on 60 texts: IndexError"),
    (lambda: trainers.judge(lambda texts: [[np.nan]] * len(texts), TABLES["label"]), "NaN or infinity"),
]


@pytest.mark.parametrize(("call", "problem"), ERRORS)
def test_errors_are_one_line(call: Callable[[], Any], problem: str) -> None:
    with pytest.raises(TwinviewsError, match=problem) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.exhaustive
def test_figures_of_different_items_are_not_compared() -> None:
    first, second = (
        trainers.judge(lengths, {key: of[:part] for key, of in TABLES["same"].items()}) for part in (20, 30)
    )
    with pytest.raises(InputError, match="different items"):
        trainers.compare(first, second)
    constant = trainers.judge(lambda texts: [[1.0]] * len(texts), TABLES["grade"])
    assert constant.figures == {}
    with pytest.raises(InputError, match="undefined"):
        trainers.compare(constant, constant)


@pytest.mark.parametrize("kind", TABLES)
def test_items_that_belong_together_otherwise_are_others(kind: str) -> None:
    size = len(next(iter(TABLES[kind].values())))
    grouped = {**TABLES[kind], "group": [f"group {row // 2}" for row in range(size)]}
    first, second = (trainers.judge(lengths, table) for table in (TABLES[kind], grouped))
    with pytest.raises(InputError, match="different items"):
        trainers.compare(first, second)
