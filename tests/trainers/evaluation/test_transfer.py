"""The classification sets: their readers, SentEval's protocol against plain scikit-learn, features and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from known_vectors import Known
from numpy.typing import NDArray

from pipelines.console import InputError
from trainers.embedding.vectors import Vectors
from trainers.evaluation import regression
from trainers.evaluation.reading import find_files
from trainers.evaluation.regression import BEFORE_TEST, DENSE, WITHIN, Judged, centred, folded, judge
from trainers.evaluation.suites import transfer
from trainers.evaluation.suites.transfer import (
    CORPORA,
    Corpus,
    Labelled,
    Parts,
    read_parts,
    score_labelled,
    senteval_places,
)
from trainers.evaluation.task import Task

BY_NAME = {corpus.name: corpus for corpus in CORPORA}


def read(name: str, data: Path, *items: int) -> Parts:
    """Read a set from a folder, with so many items in its files instead of the published ones."""
    about = BY_NAME[name]
    sizes = zip(about.files.items(), items or [size for _, size in about.files.values()], strict=True)
    about = replace(about, files={file: (part, size) for (file, (part, _)), size in sizes})
    paths = find_files(list(about.files), about.folders, data)
    assert not isinstance(paths, str)
    return read_parts(about, paths)


def write(folder: Path, **files: str | bytes) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name.replace("__", "-").replace("_dot_", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def data(rows: int, dimension: int, classes: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return vectors whose class is told from them with some errors."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(rows, dimension)) / np.sqrt(np.arange(1, dimension + 1)) + 0.5
    scores = (inputs - 0.5) @ rng.normal(size=(dimension, classes)) + rng.normal(size=(rows, classes))
    return inputs.astype(np.float32), scores.argmax(axis=1).astype(np.int64)


def plain_search(strengths: tuple[float, ...], seed: int, folds: int) -> Any:  # noqa: ANN401 - an untyped library's
    """scikit-learn's own grid search, each fit begun anew, the choice among equals made by SentEval's rounding."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    return GridSearchCV(
        LogisticRegression(tol=1e-8, max_iter=100_000),
        {"C": list(strengths)},
        cv=StratifiedKFold(folds, shuffle=True, random_state=seed),
        refit=lambda results: int(np.argmax(np.round(100 * results["mean_test_score"], 2))),
    )


@pytest.mark.parametrize(("dense", "classes"), [(DENSE, 2), (DENSE, 3), (0, 2), (0, 3)])
@pytest.mark.parametrize("strengths", [WITHIN, BEFORE_TEST])
def test_a_judgement_agrees_with_the_grid_search_of_scikit_learn(
    dense: int, classes: int, strengths: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # With either solver.
    monkeypatch.setattr(regression, "DENSE", dense)
    inputs, labels = data(200, 10, classes, seed=1)
    rows = np.arange(200)
    train, test = rows[:120], rows[120:]
    judged = judge(centred(inputs, train), labels, train, test, folded(labels, train, 1111, 4), strengths)
    search = plain_search(strengths, 1111, 4).fit(inputs[train].astype(np.float64), labels[train])
    np.testing.assert_array_equal(judged.predicted, search.predict(inputs[test]))
    assert judged.strength == search.best_params_["C"]
    best = 100 * search.cv_results_["mean_test_score"][search.best_index_]
    assert judged.inner == pytest.approx(best, abs=0.005)


def test_development_items_choose_the_strength_and_are_not_trained_on() -> None:
    from sklearn.linear_model import LogisticRegression

    inputs, labels = data(260, 10, 2, seed=2)
    train, dev, test = np.split(np.arange(260), [80, 170])
    judged = judge(centred(inputs, train), labels, train, test, [(train, dev)], WITHIN)
    models = [LogisticRegression(C=strength, tol=1e-8).fit(inputs[train], labels[train]) for strength in WITHIN]
    shares = [model.score(inputs[dev], labels[dev]) for model in models]
    best = int(np.argmax(shares))
    assert min(shares) < max(shares)
    assert judged.strength == WITHIN[best]
    np.testing.assert_array_equal(judged.predicted, models[best].predict(inputs[test]))


def test_regressions_of_several_classes_that_are_only_tried_are_fitted_to_convergence_too() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    features = rng.normal(size=(600, 200)) / np.sqrt(np.arange(1, 201))
    classes = (features @ rng.normal(size=(200, 6)) + rng.normal(size=(600, 6))).argmax(axis=1)
    inputs = centred((features + 2).astype(np.float32), slice(None))
    tried = regression._model(inputs, classes)
    assert tried.solver == "lbfgs"
    for strength in BEFORE_TEST:
        tried.set_params(C=strength).fit(inputs[:500], classes[:500])
        exact = LogisticRegression(C=strength, solver="newton-cg", tol=1e-10, max_iter=1000)
        exact.fit(inputs[:500], classes[:500])
        assert abs(tried.predict_proba(inputs[500:]) - exact.predict_proba(inputs[500:])).max() < 2e-4


def test_sparse_vectors_give_what_dense_ones_give() -> None:
    from scipy.sparse import csr_matrix

    inputs, labels = data(240, 20, 2, seed=3)
    inputs = np.where(inputs > 0.4, inputs, 0).astype(np.float32)
    train, dev, test = np.split(np.arange(240), [100, 170])
    dense, sparse = (
        judge(centred(form, train), labels, train, test, [(train, dev)], WITHIN)
        for form in (inputs, csr_matrix(inputs))
    )
    np.testing.assert_array_equal(dense.predicted, sparse.predicted)
    assert dense.strength == sparse.strength


def test_items_are_folded_in_the_order_in_which_senteval_sorts_them() -> None:
    items = [Labelled("a b c", 0), Labelled("d e", 1), Labelled("f g", 0), Labelled("h", 1), Labelled("i j", 1)]
    assert [items[place].first for place in senteval_places(items)] == ["h", "f g", "d e", "i j", "a b c"]
    pairs = [Labelled("a", 1, "b c"), Labelled("a", 0, "b c"), Labelled("d", 1, "e")]
    assert senteval_places(pairs) == [2, 1, 0]


def senteval_folds(folder: Path, files: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return text, class and fold of every item as SentEval has them: its `binary.py` without the encoder."""
    from sklearn.model_selection import StratifiedKFold

    read = [[line.split() for line in (folder / name).read_text("latin-1").splitlines()] for name in files]
    corpus = [(words, label) for words_of, label in zip(read, (1, 0), strict=True) for words in words_of]
    corpus.sort(key=lambda item: (len(item[0]), item[1]))
    texts = [" ".join(words or ["."]) for words, _ in corpus]
    labels = np.array([label for _, label in corpus])
    folds = np.empty(len(labels), dtype=int)
    splits = StratifiedKFold(n_splits=10, shuffle=True, random_state=1111).split(np.zeros((len(labels), 1)), labels)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    return list(zip(texts, labels.tolist(), folds.tolist(), strict=True))


def our_folds(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Return the same of a set as it is scored, each regression replaced by one that knows nothing."""
    texts = list(dict.fromkeys(text for item in parts["all"] for text in item.texts))
    vectors = Vectors.encode(Known(texts, np.arange(len(texts), dtype=np.float32)[:, None] + 1), texts)
    found: list[tuple[str, int, int]] = []

    def known(inputs: NDArray[np.float32], classes: NDArray[np.int64], *rows: Any) -> Judged:  # noqa: ANN401 - the rest
        if not found:
            found.extend(
                (texts[int(row) - 1], int(label), -1) for row, label in zip(inputs[:, 0], classes, strict=True)
            )
        fold = 1 + max(number for _, _, number in found)
        test = rows[1]
        for row in test:
            found[row] = (*found[row][:2], fold)
        return Judged(classes[test], 1.0, 1.0)

    monkeypatch.setattr(regression, "judge", known)
    monkeypatch.setattr(regression, "centred", lambda inputs, rows: inputs)
    score_labelled(parts, vectors, 1111)
    return found


def test_items_are_in_the_folds_of_senteval_though_some_have_no_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [f"good {'very ' * (number % 3)}{number}" for number in range(20)]
    bad = [f"bad {'very ' * (number % 4)}{number}" for number in range(20)]
    lines = {"custrev_dot_pos": [*good, "", "."], "custrev_dot_neg": ["so", *bad, "", "!"]}
    write(tmp_path / "CR", **{name: "".join(f"{line}\n" for line in of) for name, of in lines.items()})
    expected = senteval_folds(tmp_path / "CR", ("custrev.pos", "custrev.neg"))
    assert our_folds(read("cr", tmp_path, 22, 23), monkeypatch) == expected
    assert [text for text, _, _ in expected[:5]] == [".", ".", "so", "!", "."]


def test_every_item_is_held_out_once_and_outcomes_stand_in_the_order_of_the_files() -> None:
    texts = [f"{'w ' * (1 + number % 4)}{number}" for number in range(80)]
    items = [Labelled(text, number % 2) for number, text in enumerate(texts)]
    matrix = np.array([[2.0 * (number % 2) - 1, 0.1] for number in range(80)], dtype=np.float32)
    odd = [5, 42]
    matrix[odd, 0] *= -1
    vectors = Vectors.encode(Known(texts, matrix), texts)
    found = score_labelled({"all": items}, vectors, 1111)
    assert found.metrics == {"accuracy": 100 * 78 / 80}
    assert found.predictions is not None
    assert found.predictions.statistic == "mean"
    assert list(np.flatnonzero(found.predictions.predicted == 0)) == odd
    assert list(found.predictions.gold) == [number % 2 for number in range(80)]
    assert len(found.parts) == 10
    assert np.mean([part["accuracy"] or 0 for part in found.parts.values()]) == pytest.approx(100 * 78 / 80)
    assert score_labelled({"all": items}, vectors, 2).parts != found.parts


def test_pairs_are_told_by_difference_and_product_with_accuracy_and_f1() -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(5)
    texts = [f"t{number}" for number in range(200)]
    matrix = rng.normal(size=(200, 6)).astype(np.float32)
    first, second = matrix[:100], matrix[100:]
    labels = (first[:, 0] * second[:, 0] + 0.8 * rng.normal(size=100) > -0.3).astype(np.int64)
    pairs = [Labelled(texts[row], int(labels[row]), texts[100 + row]) for row in range(100)]
    result = score_labelled({"train": pairs[:60], "test": pairs[60:]}, Vectors.encode(Known(texts, matrix), texts), 1)
    features = np.hstack([abs(first - second), first * second]).astype(np.float64)
    search = plain_search(BEFORE_TEST, 1, 10).fit(features[:60], labels[:60])
    predicted = search.predict(features[60:])
    assert list(result.metrics) == ["accuracy", "f1"]
    assert result.metrics["accuracy"] == pytest.approx(100 * np.mean(predicted == labels[60:]))
    assert result.metrics["f1"] == pytest.approx(100 * f1_score(labels[60:], predicted))
    assert result.predictions is not None
    np.testing.assert_array_equal(result.predictions.predicted, predicted == labels[60:])


def test_a_file_for_each_class_is_read_with_its_empty_lines(tmp_path: Path) -> None:
    write(tmp_path / "CR", custrev_dot_pos="good  , really\n\n", custrev_dot_neg="bad .\n")
    items = read("cr", tmp_path, 2, 1)["all"]
    assert items == [Labelled("good , really", 1), Labelled("", 1), Labelled("bad .", 0)]
    assert [item.texts for item in items] == [["good , really"], ["."], ["bad ."]]


def test_trec_is_read_with_its_latin_letters(tmp_path: Path) -> None:
    write(
        tmp_path / "senteval" / "TREC",
        train_5500_dot_label="NUM:dist How far : 3 ?\nABBR:exp What is caf\xe9 ?\n".encode("latin-1"),
        TREC_10_dot_label="LOC:city Where ?\n",
    )
    parts = read("trec", tmp_path, 2, 1)
    assert parts["train"] == [Labelled("How far : 3 ?", 5), Labelled("What is café ?", 0)]
    assert parts["test"] == [Labelled("Where ?", 4)]


def test_mrpc_is_read_behind_its_header_with_its_quotation_marks(tmp_path: Path) -> None:
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    write(
        tmp_path / "MRPC",
        msr_paraphrase_train_dot_txt=f'{header}1\t1\t2\t"A" said\tB "said\r\n',
        msr_paraphrase_test_dot_txt=f"{header}0\t3\t4\tC\tD\r\n",
    )
    parts = read("mrpc", tmp_path, 1, 1)
    assert parts == {"train": [Labelled('"A" said', 1, 'B "said')], "test": [Labelled("C", 0, "D")]}
    assert parts["train"][0].texts == ['"A" said', 'B "said']


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("fine\t1\nno label\n", r"sentiment-train line 2: expected a sentence and a label of 0 or 1.*got 'no label'"),
        ("fine\t1\nodd\t2\n", r"line 2: expected a sentence and a label"),
        ("fine\t1\n", r"sentiment-train: 1 items, expected 2"),
    ],
)
def test_a_malformed_line_or_a_wrong_count_is_named(tmp_path: Path, lines: str, message: str) -> None:
    folder = tmp_path / BY_NAME["sst2"].folders[0]
    write(folder, sentiment__train=lines, sentiment__dev="", sentiment__test="so good\t1\n")
    with pytest.raises(InputError, match=message):
        read("sst2", tmp_path, 2, 0, 1)
    (folder / "sentiment-train").write_text("so good\t1\nbad\t0\n")
    assert read("sst2", tmp_path, 2, 0, 1)["train"] == [Labelled("so good", 1), Labelled("bad", 0)]


@pytest.fixture(scope="module")
def real(research_data: Path) -> dict[str, Task]:
    found, missing = transfer.find(str(research_data))
    assert missing == []
    return {item.name: item for item in found}


def test_the_real_files_are_read_whole(real: dict[str, Task], research_data: Path) -> None:
    assert {name: item.size for name, item in real.items()} == {
        "mr": 10662, "cr": 3775, "subj": 10000, "mpqa": 10606, "sst2": 1821, "trec": 500, "mrpc": 1725,
    }  # fmt: skip
    assert list(real) == list(BY_NAME)
    assert len(real) == transfer.COUNTED
    assert all(text.strip() for item in real.values() for text in item.texts)
    assert "test\t5\tHow far is it from Denver to Aspen ?\t\n" in real["trec"].lines
    assert real["mr"].lines[5331] == "all\t0\tsimplistic , silly and tedious .\t\n"
    # Class 1 of MRPC's test: what a constant answer gives is 66.49, F1 79.87.
    assert sum(item.label for item in read("mrpc", research_data)["test"]) == 1147


CARDS = Path(__file__).parents[3] / "data_cards"
CARD = {about.name: about.name for about in CORPORA} | {"sst2": "sst"}


def card_of(about: Corpus) -> tuple[dict[str, Any], str]:
    text = (CARDS / f"{CARD[about.name]}.md").read_text(encoding="utf-8")
    return yaml.safe_load(text.split("---\n")[1]), text


@pytest.mark.parametrize("about", CORPORA, ids=lambda about: about.name)
def test_a_card_has_the_sizes_and_the_files(about: Corpus) -> None:
    card, text = card_of(about)
    if "subsets" in card:
        assert card["subsets"] == {file: size for file, (_, size) in about.files.items()}
        assert card["rows"] == sum(card["subsets"].values())
    else:
        assert card["splits"] == dict(about.files.values())
        assert card["rows"] == card["splits"]["test"]
    assert all(f"`{file}`" in text for file in about.files)
    assert f"`{about.folders[0]}/`" in text


@pytest.mark.parametrize("about", CORPORA, ids=lambda about: about.name)
def test_the_checksums_of_a_card_are_those_of_the_files(real: dict[str, Task], about: Corpus) -> None:
    place = f"{about.folders[0].partition('/')[2]}/" if "/" in about.folders[0] else ""
    sums = {f"{place}{name}": sum for name, sum in real[about.name].files.items()}
    assert sums.items() <= card_of(about)[0]["sha256"].items()
