"""`train labels`: a classifier from a table, its accuracy, its files, and what becomes of a table that is none."""

import csv
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file
from scipy.special import softmax
from small_trainings import Capsys, error_line, train, train_killed

import trainers
from pipelines.base.console import InputError
from trainers.cli.labels import _difference
from trainers.data.labelled import drawn, read_labelled
from trainers.encoders.functions import open_encoder


def write_table(path: Path, rows: list[tuple[str, str]], names: tuple[str, str] = ("text", "label")) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])
    return path


@pytest.fixture
def tables(sentences: list[str]) -> tuple[Path, Path]:
    """Texts of three labels by their first words, and the others of these."""
    rows = [(f"{word} {text}", word) for text in sentences for word in ("dog", "red", "quickly")]
    return write_table(Path("own.csv"), rows[:36]), write_table(Path("held.csv"), rows[36:120])


def options(tiny_bert: Path) -> list[object]:
    return [
        "labels",
        "own.csv",
        "--test",
        "held.csv",
        "--encoder",
        tiny_bert,
        "--max-tokens",
        24,
        "--steps",
        12,
    ]


def test_the_accuracy_that_is_printed_is_that_of_the_loaded_classifier(
    tables: tuple[Path, Path], tiny_bert: Path, capsys: Capsys
) -> None:
    assert train(*options(tiny_bert)) == 0
    shown = capsys.readouterr().out
    held_back = read_labelled("held.csv")
    classify = trainers.Classifier.load("runs/labels")
    found = classify([*held_back])
    accuracy = np.mean([label == own for (label, _), own in zip(found, held_back.values(), strict=True)])
    assert f"accuracy {100 * accuracy:.2f} on 84 texts, untouched " in shown
    assert accuracy > 0.5
    own = read_labelled("own.csv")
    fitted = trainers.Classifier.fit(classify.encoder, [*own], [*own.values()])
    np.testing.assert_allclose(
        fitted.probabilities([*held_back]), classify.probabilities([*held_back]), atol=1e-5
    )
    probabilities = classify.probabilities([*held_back])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert [probability for _, probability in found] == probabilities.max(axis=1).tolist()
    arrays = load_file("runs/labels/classifier/model.safetensors")
    vectors = classify.encoder.encode(["dog a man"])
    scores = vectors / np.linalg.norm(vectors) @ arrays["weight"].T + arrays["bias"]
    np.testing.assert_allclose(softmax(scores), classify.probabilities(["dog a man"]), atol=1e-5)


def test_columns_of_other_names_are_read_as_they_are_named(
    tiny_bert: Path, sentences: list[str], capsys: Capsys
) -> None:
    """A column that is named is nothing else: here a question is a text, and an answer no document."""
    rows = [(f"{word} {text}", word) for text in sentences[:20] for word in ("dog", "red")]
    with Path("own.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(
            [("question", "answer", "topic"), *((text, text, word) for text, word in rows)]
        )
    columns = ("--columns", "text=question,label=topic")
    assert train("evaluate", tiny_bert, "--judge", "own.csv", *columns) == 0
    assert "40 texts with 2 labels" in (said := capsys.readouterr().err)
    assert "(columns question, topic)" in said
    assert train("labels", "own.csv", "--encoder", tiny_bert, "--steps", 1, "--max-tokens", 24, *columns) == 0
    assert "40 texts with 2 labels" in capsys.readouterr().err
    Path("text.txt").write_text("\n".join(sentences), encoding="utf-8")
    options = ("--text", "text.txt", "--encoder", tiny_bert, "--epochs", 0, "--max-tokens", 24)
    assert train("auto", *options, "--judge", "own.csv", *columns) == 0
    assert "(columns question, topic)" in capsys.readouterr().err
    assert train("report", "runs/auto/whitened", "--sample", 0) == 0
    assert "Gained most" in Path("runs/auto/whitened/report.html").read_text(encoding="utf-8"), (
        "it has read them"
    )
    capsys.readouterr()
    write_table(Path("own.csv"), rows, ("body", "topic"))
    for command in (("labels", "own.csv"), ("evaluate", tiny_bert, "--judge", "own.csv")):
        assert train(*command) == 2
        assert "as in --columns text=body,label=topic" in error_line(capsys)
    assert train("labels", "own.csv", "--columns", "body") == 2
    assert error_line(capsys) == "error: --columns body: write text=NAME,label=NAME\n"


def test_few_examples_of_many_labels_are_no_reason_for_a_warning(tiny_bert: Path) -> None:
    encoder = open_encoder(tiny_bert)
    texts = [f"{word} {end}" for word in ("dog", "red", "man") for end in "abcdefgh"]
    for labels in (texts, [texts[row // 2] for row in range(12)] + texts[12:]):
        with warnings.catch_warnings(action="error"):
            assert len(trainers.Classifier.fit(encoder, texts, labels).labels) == len({*labels})


def test_a_p_that_rounds_to_zero_is_said_to_be_small() -> None:
    hits, before = np.arange(40) < 40, np.arange(40) < 10
    assert _difference(hits, before) == "untouched 25.00 (difference +75.00, p < 0.0001)"
    assert _difference(before, before).endswith(", p 1.0000)")


def test_two_labels_have_a_row_each(tiny_bert: Path, sentences: list[str]) -> None:
    rows = [(f"{word} {text}", word) for text in sentences[:10] for word in ("dog", "red")]
    write_table(Path("two.tsv.csv"), rows, ("Sentence", "intent"))
    assert (
        train(
            "labels", "two.tsv.csv", "--encoder", tiny_bert, "--max-tokens", 24, "--steps", 12, "--out", "two"
        )
        == 0
    )
    classify = trainers.Classifier.load("two")
    assert (classify.labels, classify.weight.shape) == (("dog", "red"), (2, 16))
    assert [label for label, _ in classify(["dog a man", "red a man"])] == ["dog", "red"]
    Path("two/classifier/labels.json").write_text('["dog"]')
    with pytest.raises(InputError, match="2 rows for 1 labels"):
        trainers.Classifier.load("two")
    for call in (
        classify,
        classify.probabilities,
        lambda text: trainers.Classifier.fit(classify.encoder, text, "x"),
    ):
        with pytest.raises(InputError, match="'dog a man' is one text: give a list of them"):
            call("dog a man")
    with pytest.raises(InputError, match="holds no classifier"):
        trainers.Classifier.load("nowhere")


def test_texts_come_in_any_iterable_of_strings(tiny_bert: Path) -> None:
    texts = [f"{word} {end}" for end in "abc" for word in ("dog", "red")]
    classify = trainers.Classifier.fit(open_encoder(tiny_bert), iter(texts), iter(["x", "y"] * 3))
    expected = classify(texts)
    assert len(expected) == len(texts)
    for given in (iter(texts), pd.Series(texts), np.array(texts), dict.fromkeys(texts).keys()):
        assert classify(given) == expected
    assert len(classify({*texts})) == len(texts)
    wrong: list[tuple[Any, str]] = [
        ([None], "text 0 is None: give a string"),
        (["a", float("nan")], "text 1 is nan: give a string"),
        (["\ud800"], "give a string of whole characters"),
        (b"dog", "text 0 is 100: give a string"),
        (None, "None is no text: give a list"),
    ]
    for given, message in wrong:
        with pytest.raises(InputError, match=message):
            classify(given)


@pytest.mark.exhaustive
def test_killed_and_run_again_it_ends_as_without(
    tables: tuple[Path, Path], tiny_bert: Path, capsys: Capsys
) -> None:
    words = [*options(tiny_bert)[:-1], 400]
    train_killed(Path("runs/labels/encoder/log.jsonl").is_file, *words)
    assert not Path("runs/labels/classifier").exists()
    assert train(*words) == 0
    assert train(*words, "--out", "whole") == 0
    one, other = re.findall(r"accuracy .*?;", capsys.readouterr().out)
    assert one == other
    for name in ("encoder/model.safetensors", "classifier/model.safetensors", "classifier/labels.json"):
        assert Path("runs/labels", name).read_bytes() == Path("whole", name).read_bytes()


@pytest.mark.parametrize(
    ("names", "rows", "message"),
    [
        (
            ("text", "topic"),
            [("a", "x"), ("b", "y")],
            "own.csv has the columns text, topic: name them text or sentence,",
        ),
        (("text", "label"), [("a", "x"), ("b", "x")], "own.csv has 1 label: give texts with two or more"),
        (("text", "label"), [("a", "x"), ("b", "y")], "too few texts share a label: give classes as labels"),
        (("text", "label"), [("a", "x"), ("b", "x"), ("c", "y")], "too few texts share a label"),
    ],
)
def test_a_table_of_another_kind_is_one_line(
    names: tuple[str, str], rows: list[tuple[str, str]], message: str, tiny_bert: Path, capsys: Capsys
) -> None:
    write_table(Path("own.csv"), rows, names)
    assert train("labels", "own.csv", "--encoder", tiny_bert) == 2
    assert message in error_line(capsys)
    assert not Path("runs").exists()


def test_copies_and_rows_that_cannot_be_used_are_counted(capsys: Capsys) -> None:
    """Copies differ in case, spaces and marks at most, as in every table."""
    rows = [
        ("A dog!", "x"),
        ("a  DOG", "x"),
        ("a dog.", "y"),
        ("cat", "y"),
        ("bird", ""),
        ("", "x"),
        ("A cat", "y"),
    ]
    assert read_labelled(str(write_table(Path("own.csv"), rows))) == {"A dog!": "x", "cat": "y", "A cat": "y"}
    said = "own.csv: left out: copies (1), copies with another label (1), rows without text or label (2)\n"
    assert capsys.readouterr().err == said


def test_held_back_texts_are_never_trained_on(
    tables: tuple[Path, Path], tiny_bert: Path, capsys: Capsys
) -> None:
    copies = [(f"{text.upper()}!", label) for text, label in read_labelled("own.csv").items()]
    rows = [
        *read_labelled("held.csv").items(),
        *copies[:5],
        ("a horse", "new"),
    ]
    write_table(Path("held.csv"), rows)
    assert train(*options(tiny_bert)) == 0
    shown = capsys.readouterr()
    assert "held.csv: left out: texts that are in own.csv (5)" in shown.err
    assert "held.csv: 1 label not in own.csv, such as 'new': counted as wrong" in shown.err
    assert " on 85 texts" in shown.out


def test_a_table_of_copies_alone_is_said_to_score_nothing(
    tables: tuple[Path, Path], tiny_bert: Path, capsys: Capsys
) -> None:
    Path("held.csv").write_text(Path("own.csv").read_text(encoding="utf-8"), encoding="utf-8")
    assert train(*options(tiny_bert)[:-1], 1) == 0
    said = capsys.readouterr().err
    assert "held.csv: left out: texts that are in own.csv (36): none is left to score on\n" in said


def test_so_many_texts_of_each_label_are_drawn() -> None:
    labelled = {f"text {number}": str(number % 3) for number in range(30)} | {"alone": "x"}
    chosen = drawn(labelled, 4, seed=1)
    assert sorted(chosen.values()) == sorted(["0", "1", "2"] * 4 + ["x"])
    assert chosen == drawn(dict(reversed(labelled.items())), 4, seed=1) != drawn(labelled, 4, seed=2)
