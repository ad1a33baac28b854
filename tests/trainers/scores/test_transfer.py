"""The classification sets: their readers, SentEval's protocol against plain scikit-learn, features and outcomes."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from known_vectors import Known, parted, write_files
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from pipelines.base.console import InputError
from trainers.encoders.vectors import Vectors
from trainers.files import find_files
from trainers.scores.suites import transfer
from trainers.scores.suites.transfer import BEFORE_TEST, WITHIN, Labelled, Parts, classify, score_labelled

Patch = pytest.MonkeyPatch

BY_NAME = {corpus.name: corpus for corpus in transfer.CORPORA}


def read(name: str, data: Path, *items: int) -> Parts:
    """Read a set from a folder; `items` are its files' numbers of items instead of the published ones."""
    about = BY_NAME[name]
    sizes = zip(about.files.items(), items or [size for _, size in about.files.values()], strict=True)
    about = about._replace(files={file: (part, size) for (file, (part, _)), size in sizes})
    paths = find_files(list(about.files), about.folders, data)
    assert not isinstance(paths, str)
    return transfer.read_parts(about, paths)


def data(
    rows: int, dimension: int, classes: int, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return vectors and classes that follow from them, with some errors."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(rows, dimension)) / np.sqrt(np.arange(1, dimension + 1)) + 0.5
    scores = (inputs - 0.5) @ rng.normal(size=(dimension, classes)) + rng.normal(size=(rows, classes))
    return inputs.astype(np.float32), scores.argmax(axis=1).astype(np.int64)


def centred(inputs: NDArray[np.float32]) -> NDArray[np.float64]:
    return inputs.astype(np.float64) - inputs.mean(axis=0)


def plain_search(strengths: tuple[float, ...], seed: int, folds: int) -> Any:  # noqa: ANN401 - an untyped library's
    """scikit-learn's own grid search: no fit starts from another, and SentEval's rounding decides between equals."""
    return GridSearchCV(
        LogisticRegression(tol=1e-8, max_iter=100_000),
        {"C": list(strengths)},
        cv=StratifiedKFold(folds, shuffle=True, random_state=seed),
        refit=lambda results: int(np.argmax(np.round(100 * results["mean_test_score"], 2))),
    )


@pytest.mark.exhaustive_after(2)
@pytest.mark.parametrize(("dense", "classes"), [*product((transfer.DENSE, 0), (2, 3))])
@pytest.mark.parametrize("strengths", [WITHIN, BEFORE_TEST])
def test_the_grid_search_agrees(
    dense: int, classes: int, strengths: tuple[float, ...], monkeypatch: Patch
) -> None:
    # With either solver.
    monkeypatch.setattr(transfer, "DENSE", dense)
    monkeypatch.setattr(transfer, "FOLDS", 4)
    inputs, labels = data(200, 10, classes, seed=1)
    rows = np.arange(200)
    train, test = rows[:120], rows[120:]
    found = classify(centred(inputs), labels, train, test, transfer.folded(labels, train, 1111), strengths)
    search = plain_search(strengths, 1111, 4).fit(inputs[train].astype(np.float64), labels[train])
    np.testing.assert_array_equal(found, search.predict(inputs[test]))


def test_development_items_choose_the_strength_and_are_not_trained_on() -> None:
    inputs, labels = data(260, 10, 2, seed=2)
    train, dev, test = np.split(np.arange(260), [80, 170])
    found = classify(centred(inputs), labels, train, test, [(train, dev)], WITHIN)
    models = [
        LogisticRegression(C=strength, tol=1e-8).fit(inputs[train], labels[train]) for strength in WITHIN
    ]
    shares = [model.score(inputs[dev], labels[dev]) for model in models]
    best = int(np.argmax(shares))
    assert min(shares) < max(shares)
    np.testing.assert_array_equal(found, models[best].predict(inputs[test]))


def test_pairs_are_folded_in_the_order_in_which_senteval_sorts_them() -> None:
    pairs = [Labelled("a", 1, "b c"), Labelled("a", 0, "b c"), Labelled("d", 1, "e")]
    assert transfer.senteval_places(pairs) == [2, 1, 0]


def senteval_folds(folder: Path, files: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return text, class and fold of every item as SentEval has them: its `binary.py` without the encoder."""
    read = [[line.split() for line in (folder / name).read_text("latin-1").splitlines()] for name in files]
    corpus = [(words, label) for words_of, label in zip(read, (1, 0), strict=True) for words in words_of]
    corpus.sort(key=lambda item: (len(item[0]), item[1]))
    texts = [" ".join(words or ["."]) for words, _ in corpus]
    labels = np.array([label for _, label in corpus])
    folds = np.empty(len(labels), dtype=int)
    splits = StratifiedKFold(n_splits=10, shuffle=True, random_state=1111).split(
        np.zeros((len(labels), 1)), labels
    )
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    return list(zip(texts, labels.tolist(), folds.tolist(), strict=True))


def our_folds(parts: Parts, monkeypatch: Patch) -> list[tuple[str, int, int]]:
    """Return the same of a set as it is scored, each regression replaced by one that knows nothing."""
    texts = list(dict.fromkeys(text for item in parts["all"] for text in item.texts))
    vectors = Vectors.encode(Known(texts, np.arange(len(texts), dtype=np.float32)[:, None] + 1), texts)
    found: list[tuple[str, int, int]] = []

    def known(
        inputs: NDArray[np.float64],
        classes: NDArray[np.int64],
        train: Any,  # noqa: ANN401 - as `classify`
        test: Any,  # noqa: ANN401
        *more: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        if not found:
            rows = np.rint(inputs[:, 0] - inputs[:, 0].min()).astype(int)
            found.extend((texts[row], int(label), -1) for row, label in zip(rows, classes, strict=True))
        fold = 1 + max(number for _, _, number in found)
        for row in test:
            found[row] = (*found[row][:2], fold)
        return classes[test]

    monkeypatch.setattr(transfer, "classify", known)
    score_labelled(parts, vectors, 1111)
    return found


def test_items_with_and_without_words_are_in_the_folds_of_senteval(tmp_path: Path, monkeypatch: Patch) -> None:
    good = [f"good {'very ' * (number % 3)}{number}" for number in range(20)]
    bad = [f"bad {'very ' * (number % 4)}{number}" for number in range(20)]
    lines = {"custrev.pos": [*good, "", "."], "custrev.neg": ["so", *bad, "", "!"]}
    write_files(tmp_path / "CR", {name: "".join(f"{line}\n" for line in of) for name, of in lines.items()})
    expected = senteval_folds(tmp_path / "CR", ("custrev.pos", "custrev.neg"))
    assert our_folds(read("cr", tmp_path, 22, 23), monkeypatch) == expected
    assert [text for text, _, _ in expected[:5]] == [".", ".", "so", "!", "."]


@pytest.mark.exhaustive
def test_every_item_is_held_out_once_and_outcomes_are_in_the_order_of_the_files() -> None:
    texts = [f"{'w ' * (1 + number % 4)}{number}" for number in range(80)]
    items = [Labelled(text, number % 2) for number, text in enumerate(texts)]
    matrix = np.array([[2.0 * (number % 2) - 1, 0.1] for number in range(80)], dtype=np.float32)
    odd = [5, 42]
    matrix[odd, 0] *= -1
    vectors = Vectors.encode(Known(texts, matrix), texts)
    found = score_labelled({"all": items}, vectors, 1111)
    assert found.metrics == {"accuracy": 100 * 78 / 80}
    assert found.predictions.statistic == "mean"
    assert list(np.flatnonzero(found.predictions.predicted == 0)) == odd
    assert list(found.predictions.gold) == [number % 2 for number in range(80)]


def test_pairs_are_classified_by_difference_and_product() -> None:
    rng = np.random.default_rng(5)
    texts = [f"t{number}" for number in range(200)]
    matrix = rng.normal(size=(200, 6)).astype(np.float32)
    first, second = matrix[:100], matrix[100:]
    labels = (first[:, 0] * second[:, 0] + 0.8 * rng.normal(size=100) > -0.3).astype(np.int64)
    pairs = [Labelled(texts[row], int(labels[row]), texts[100 + row]) for row in range(100)]
    result = score_labelled(
        {"train": pairs[:60], "test": pairs[60:]}, Vectors.encode(Known(texts, matrix), texts), 1
    )
    features = np.hstack([abs(first - second), first * second]).astype(np.float64)
    search = plain_search(BEFORE_TEST, 1, 10).fit(features[:60], labels[:60])
    predicted = search.predict(features[60:])
    assert list(result.metrics) == ["accuracy", "f1"]
    assert result.metrics["accuracy"] == pytest.approx(100 * np.mean(predicted == labels[60:]))
    assert result.metrics["f1"] == pytest.approx(100 * f1_score(labels[60:], predicted))
    np.testing.assert_array_equal(result.predictions.predicted, predicted == labels[60:])


MRPC_HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"


@pytest.mark.parametrize(
    ("folder", "files", "expected"),
    [
        (
            "CR",
            {"custrev.pos": "good  , really\n\n", "custrev.neg": "bad .\n"},
            {"all": [Labelled("good , really", 1), Labelled("", 1), Labelled("bad .", 0)]},
        ),
        (
            "TREC",
            {
                "train_5500.label": "NUM:dist How far : 3 ?\nABBR:exp What is caf\xe9 ?\n",
                "TREC_10.label": "LOC:city Where ?\n",
            },
            {
                "train": [Labelled("How far : 3 ?", 5), Labelled("What is café ?", 0)],
                "test": [Labelled("Where ?", 4)],
            },
        ),
        (
            "MRPC",
            {
                "msr_paraphrase_train.txt": f'{MRPC_HEADER}1\t1\t2\t"A" said\tB "said\r\n',
                "msr_paraphrase_test.txt": f"{MRPC_HEADER}0\t3\t4\tC\tD\r\n",
            },
            {"train": [Labelled('"A" said', 1, 'B "said')], "test": [Labelled("C", 0, "D")]},
        ),
    ],
)
def test_formats_are_read(tmp_path: Path, folder: str, files: dict[str, str], expected: Parts) -> None:
    """With empty lines, Latin-1, a header and quotation marks."""
    write_files(tmp_path / folder, files, "latin-1" if folder == "TREC" else "utf-8")
    found = read(folder.lower(), tmp_path, *((1, 1) if folder == "MRPC" else (2, 1)))
    assert found == expected
    # A full stop is encoded for a text without words.
    assert [text for items in found.values() for item in items for text in item.texts].count(".") == (
        folder == "CR"
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "fine\t1\nno label\n",
            r"sentiment-train line 2: expected a sentence and a label of 0 or 1.*got 'no label'",
        ),
        ("fine\t1\nodd\t2\n", r"line 2: expected a sentence and a label"),
        ("fine\t1\n", r"sentiment-train: 1 items, expected 2"),
    ],
)
def test_a_malformed_line_or_a_wrong_count_is_named(tmp_path: Path, lines: str, message: str) -> None:
    folder = tmp_path / BY_NAME["sst2"].folders[0]
    write_files(folder, {"sentiment-train": lines, "sentiment-dev": "", "sentiment-test": "so good\t1\n"})
    with pytest.raises(InputError, match=message):
        read("sst2", tmp_path, 2, 0, 1)
    (folder / "sentiment-train").write_text("so good\t1\nbad\t0\n")
    assert read("sst2", tmp_path, 2, 0, 1)["train"] == [Labelled("so good", 1), Labelled("bad", 0)]


def test_the_real_files_are_read_whole(research_data: Path) -> None:
    found, missing = parted(transfer.find(str(research_data)))
    assert missing == []
    real = {item.name: item for item in found}
    assert {name: item.size for name, item in real.items()} == {
        "mr": 10662,
        "cr": 3775,
        "subj": 10000,
        "mpqa": 10606,
        "sst2": 1821,
        "trec": 500,
        "mrpc": 1725,
    }
    assert list(real) == list(BY_NAME)
    assert len(real) == transfer.COUNTED
    assert all(text.strip() for item in real.values() for text in item.texts)
    assert "test\t5\tHow far is it from Denver to Aspen ?\t\n" in real["trec"].lines
    assert real["mr"].lines[5331] == "all\t0\tsimplistic , silly and tedious .\t\n"
    # Class 1 of MRPC's test: what a constant answer gives is 66.49, F1 79.87.
    assert sum(item.label for item in read("mrpc", research_data)["test"]) == 1147
