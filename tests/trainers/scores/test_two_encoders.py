"""Queries by one encoder and documents by another: figures, names, and what two encoders cannot score."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from known_vectors import evaluate, write_files
from safetensors.torch import load_file, save_file
from small_trainings import Capsys

import trainers
from pipelines.base.console import InputError
from trainers.encoders.model import load_model
from trainers.scores.pairs import spearman
from trainers.scores.suites.sts_multilingual import languages_in, read_beside_english, translated

TEXTS = [f"text {number}" for number in range(12)]
SEARCH = {"query": TEXTS[:6], "document": TEXTS[6:]}


def one_hot(texts: list[str], shift: int = 0) -> np.ndarray:
    return np.eye(12)[[(int(text.split()[1]) + shift) % 12 for text in texts]]


def test_each_side_is_embedded_by_its_own_encoder() -> None:
    """The document of a query has its vector, if the other encoder moves all vectors six places on."""

    def moved(texts: list[str]) -> np.ndarray:
        return one_hot(texts, shift=6)

    alone = trainers.judge(one_hot, SEARCH).figures
    both = trainers.judge(one_hot, SEARCH, documents_encoder=moved).figures
    assert {title: figure[0] for title, figure in both.items()} == {
        "nDCG@10": 100,
        "MRR@10": 100,
        "recall@100": 100,
    }
    assert alone["MRR@10"][0] < 50
    same = {"text1": TEXTS[:6] * 2, "text2": TEXTS[6:] + TEXTS[:6], "same": [1] * 6 + [0] * 6}
    assert trainers.judge(one_hot, same, documents_encoder=moved).figures["average precision"][0] == 100


@pytest.mark.parametrize(
    ("table", "other", "problem"),
    [
        ({"text": TEXTS, "label": ["a", "b"] * 6}, one_hot, "two encoders cannot share it"),
        (
            SEARCH,
            lambda texts: one_hot(texts)[:, :3],
            "of 12 numbers, <lambda> of 3: give two encoders of one space",
        ),
    ],
)
def test_what_two_encoders_cannot_score_is_one_line(table: dict, other: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        trainers.judge(one_hot, table, documents_encoder=other)  # type: ignore[arg-type]


@pytest.fixture
def other(model: Path) -> Path:
    """The same encoder with other weights."""
    folder = shutil.copytree(model, model.with_name("other"))
    weights = {name: weight * 1.5 for name, weight in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture
def translations(sentences: list[str], tmp_path: Path) -> Path:
    """STS-B in English and in two more languages, one of them of no distribution, and without its development set."""

    def lines(language: str, size: int) -> str:
        rows = ((sentences[row % 42], sentences[row * 5 % 41], row % 6) for row in range(size))
        return "".join(f"{language} {first},{language} {second},{grade}\n" for first, second, grade in rows)

    files = {f"stsb-{name}-test.csv": lines(name, 1379) for name in ("en", "fo", "de")}
    files |= {f"stsb-{name}-dev.csv": lines(name, 1500) for name in ("en", "de")}
    return write_files(tmp_path / "data" / "stsb-multi-mt", files).parent


def test_every_translation_that_is_there_is_a_set_and_english_beside_it_another(
    translations: Path, model: Path, other: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    assert languages_in(str(translations)) == ["en", "de", "fo"]
    monkeypatch.chdir(model.parent)
    options = ["--suite", "sts-multilingual", "--data", translations, "--pooling", "cls", "--json"]
    assert evaluate("tiny", *options, "--documents-encoder", "other") == 0
    values = json.loads(capsys.readouterr().out)
    assert list(values["sets"]) == ["stsb-de-en", "stsb-fo-en", "stsb-de-en-dev"]
    assert values["encoder"].endswith("; documents by other, pooling mean, fp32")
    assert values["model"]["documents"]["name"] == "other"
    (stored,) = Path("runs/evaluation").glob("tiny-*/cls-documents-other/sts-multilingual.json")
    assert json.loads(stored.read_text()) == values
    pairs = list(
        read_beside_english("test", *sorted((translations / "stsb-multi-mt").glob("*-[de]*-test.csv")))
    )
    first, second, gold = zip(*pairs, strict=True)
    assert (first[0][:3], second[0][:3]) == ("de ", "en ")
    sides = load_model("tiny", pooling="cls").encode(first), load_model("other").encode(second)
    left, right = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    expected = spearman(gold, (left * right).sum(1).round(5))
    assert values["sets"]["stsb-de-en"]["figures"]["all"] == pytest.approx(100 * (expected or 0), abs=0.01)
    assert evaluate("tiny", *options) == 0
    alone = json.loads(capsys.readouterr().out)["sets"]
    assert list(alone)[:5] == ["stsb-en", "stsb-de", "stsb-fo", "stsb-de-en", "stsb-fo-en"]
    assert alone["stsb-de-en"]["figures"]["all"] != values["sets"]["stsb-de-en"]["figures"]["all"]


def test_a_translation_with_other_grades_is_no_translation(translations: Path) -> None:
    german, english = (translations / "stsb-multi-mt" / f"stsb-{name}-test.csv" for name in ("de", "en"))
    german.write_text(german.read_text().replace(",3\n", ",4\n", 1))
    with pytest.raises(InputError, match=r"line 4: expected the grade 3 of stsb-en-test.csv, got '4'"):
        list(read_beside_english("test", german, english))
    assert translated("de", "dev", beside_english=True).name == "stsb-de-en-dev"


def test_a_suite_without_sides_is_refused(suite_data: Path, model: Path, capsys: Capsys) -> None:
    assert evaluate(model, "--suite", "sts", "--data", suite_data, "--documents-encoder", model) == 2
    assert "sts has no queries and documents" in capsys.readouterr().err
