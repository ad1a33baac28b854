"""The classification sets: their readers, SentEval's protocol against plain scikit-learn, features and outcomes."""

from __future__ import annotations

import json
import warnings
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
from trainers.evaluation.labelled import Corpus, Labelled
from trainers.evaluation.regression import BEFORE_TEST, DENSE, WITHIN, by_development, held_out, on_test
from trainers.evaluation.suites import transfer
from trainers.evaluation.suites.transfer import CORPORA, LabelledSet, f1, read_set, senteval_order
from trainers.evaluation.task import Missing

BY_NAME = {corpus.name: corpus for corpus in CORPORA}
BLANK = "\n"


def small(name: str, *items: int) -> Corpus:
    """Return a set with so many items in its files."""
    about = BY_NAME[name]
    return replace(about, files=tuple(file._replace(items=size) for file, size in zip(about.files, items, strict=True)))


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
def test_every_item_held_out_agrees_with_nested_cross_validation_of_scikit_learn(
    dense: int, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sklearn.model_selection import StratifiedKFold

    # With either solver.
    monkeypatch.setattr(regression, "DENSE", dense)
    inputs, labels = data(150, 8, classes)
    judged = held_out(inputs, labels, seed=7, folds=3)
    expected = np.empty_like(labels)
    strengths, inner = [], []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=7).split(inputs, labels):
        search = plain_search(WITHIN, 7, 3).fit(inputs[train].astype(np.float64), labels[train])
        expected[test] = search.predict(inputs[test])
        strengths.append(search.best_params_["C"])
        inner.append(100 * search.cv_results_["mean_test_score"][search.best_index_])
    np.testing.assert_array_equal(judged.predicted, expected)
    assert judged.strengths == tuple(strengths)
    np.testing.assert_allclose(judged.inner, inner, atol=0.005)
    assert sorted(np.concatenate(judged.held)) == list(range(150))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_test_agrees_with_the_grid_search_of_scikit_learn(classes: int) -> None:
    inputs, labels = data(200, 10, classes, seed=1)
    judged = on_test(inputs[:120], labels[:120], inputs[120:], seed=1111, folds=4)
    search = plain_search(BEFORE_TEST, 1111, 4).fit(inputs[:120].astype(np.float64), labels[:120])
    np.testing.assert_array_equal(judged.predicted, search.predict(inputs[120:]))
    assert judged.strengths == (search.best_params_["C"],)


def test_development_items_choose_the_strength_and_are_not_trained_on() -> None:
    from sklearn.linear_model import LogisticRegression

    inputs, labels = data(260, 10, 2, seed=2)
    train, dev, test = slice(0, 80), slice(80, 170), slice(170, 260)
    judged = by_development(inputs[train], labels[train], inputs[dev], labels[dev], inputs[test])
    models = [LogisticRegression(C=strength, tol=1e-8).fit(inputs[train], labels[train]) for strength in WITHIN]
    shares = [model.score(inputs[dev], labels[dev]) for model in models]
    best = int(np.argmax(shares))
    assert min(shares) < max(shares)
    assert judged.strengths == (WITHIN[best],)
    np.testing.assert_array_equal(judged.predicted, models[best].predict(inputs[test]))


def test_long_vectors_far_from_the_origin_are_fitted_to_convergence() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 64))
    classes = (features @ rng.normal(size=64) + 4 * rng.normal(size=400) > 0).astype(np.int64)
    inputs = (3 * features + 50).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged = on_test(inputs[:300], classes[:300], inputs[300:], seed=1, folds=4)
    exact = LogisticRegression(C=judged.strengths[0], tol=1e-9, max_iter=100_000, solver="newton-cholesky")
    exact.fit(inputs[:300].astype(np.float64), classes[:300])
    np.testing.assert_array_equal(judged.predicted, exact.predict(inputs[300:].astype(np.float64)))


def test_regressions_of_several_classes_that_are_only_tried_are_fitted_to_convergence_too() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    features = rng.normal(size=(600, 200)) / np.sqrt(np.arange(1, 201))
    classes = (features @ rng.normal(size=(200, 6)) + rng.normal(size=(600, 6))).argmax(axis=1)
    (inputs,) = regression._prepared((features + 2).astype(np.float32))
    margins = []
    for strength, predict in zip(BEFORE_TEST, regression._path(inputs[:500], classes[:500], BEFORE_TEST), strict=True):
        tried = predict.__self__  # type: ignore[attr-defined]
        exact = LogisticRegression(C=strength, solver="newton-cg", tol=1e-10, max_iter=1000)
        exact.fit(inputs[:500], classes[:500])
        margins.append(abs(tried.predict_proba(inputs[500:]) - exact.predict_proba(inputs[500:])).max())
    assert tried.solver == "lbfgs"
    assert max(margins) < 2e-4


def test_sparse_vectors_give_what_dense_ones_give() -> None:
    from scipy.sparse import csr_matrix

    inputs, labels = data(240, 20, 2, seed=3)
    inputs = np.where(inputs > 0.4, inputs, 0).astype(np.float32)
    split = (labels[:100], inputs[100:170], labels[100:170], inputs[170:])
    dense = by_development(inputs[:100], *split)
    sparse = by_development(csr_matrix(inputs[:100]), split[0], csr_matrix(split[1]), split[2], csr_matrix(split[3]))
    np.testing.assert_array_equal(dense.predicted, sparse.predicted)
    assert dense.strengths == sparse.strengths


def test_the_folds_follow_the_seed() -> None:
    inputs, labels = data(90, 6, 2)
    one, same, other = (held_out(inputs, labels, seed, folds=3) for seed in (1, 1, 2))
    assert [list(rows) for rows in one.held] == [list(rows) for rows in same.held]
    assert [list(rows) for rows in one.held] != [list(rows) for rows in other.held]


def test_items_are_folded_in_the_order_in_which_senteval_sorts_them() -> None:
    items = [Labelled("a b c", 0), Labelled("d e", 1), Labelled("f g", 0), Labelled("h", 1), Labelled("i j", 1)]
    assert [item.first for item in senteval_order(items)] == ["h", "f g", "d e", "i j", "a b c"]
    pairs = [Labelled("a", 1, "b c"), Labelled("a", 0, "b c"), Labelled("d", 1, "e")]
    assert senteval_order(pairs) == [pairs[2], pairs[1], pairs[0]]


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


def our_folds(found: LabelledSet, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Return the same of a set as it is scored, each regression replaced by one that knows nothing."""
    texts = list(dict.fromkeys(found.texts()))
    vectors = Vectors.encode(Known(texts, np.arange(len(texts), dtype=np.float32)[:, None] + 1), texts)
    given: list[tuple[str, int, int]] = []

    def judge(inputs: NDArray[np.float32], classes: NDArray[np.int64], seed: int) -> regression.Judged:
        folds = np.empty(len(classes), dtype=int)
        held = [test for _, test in regression._splits(classes, seed, regression.FOLDS)]
        for number, rows in enumerate(held):
            folds[rows] = number
        named = [texts[int(row) - 1] for row in inputs[:, 0]]
        given.extend(zip(named, classes.tolist(), folds.tolist(), strict=True))
        return regression.Judged(classes, (1.0,) * len(held), (1.0,) * len(held), tuple(held))

    monkeypatch.setattr(regression, "held_out", judge)
    found.score(vectors, 1111)
    return given


def test_items_are_in_the_folds_of_senteval_though_some_have_no_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = [f"good {'very ' * (number % 3)}{number}" for number in range(20)]
    bad = [f"bad {'very ' * (number % 4)}{number}" for number in range(20)]
    lines = {"custrev_dot_pos": [*good, "", "."], "custrev_dot_neg": ["so", *bad, "", "!"]}
    write(tmp_path / "CR", **{name: "".join(f"{line}\n" for line in of) for name, of in lines.items()})
    found = read_set(small("cr", 22, 23), str(tmp_path))
    assert isinstance(found, LabelledSet)
    expected = senteval_folds(tmp_path / "CR", ("custrev.pos", "custrev.neg"))
    assert our_folds(found, monkeypatch) == expected
    assert [text for text, _, _ in expected[:5]] == [".", ".", "so", "!", "."]


@pytest.mark.parametrize("name", ["mr", "cr", "subj", "mpqa"])
def test_every_item_of_the_real_files_is_in_its_fold_of_senteval(
    research_data: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = BY_NAME[name]
    found = read_set(about, str(research_data))
    assert isinstance(found, LabelledSet)
    expected = senteval_folds(Path(found.source), [file.name for file in about.files])
    assert our_folds(found, monkeypatch) == expected


def test_outcomes_stand_in_the_order_of_the_files() -> None:
    texts = [f"{'w ' * (1 + number % 4)}{number}" for number in range(80)]
    items = tuple(Labelled(text, number % 2) for number, text in enumerate(texts))
    matrix = np.array([[2.0 * (number % 2) - 1, 0.1] for number in range(80)], dtype=np.float32)
    odd = [5, 42]
    matrix[odd, 0] *= -1
    found = LabelledSet(name="cr", title="CR", source="here", parts={"all": items}).score(
        Vectors.encode(Known(texts, matrix), texts), 1111
    )
    assert found.metrics == {"accuracy": 100 * 78 / 80}
    assert found.predictions is not None
    assert found.predictions.statistic == "mean"
    assert list(np.flatnonzero(found.predictions.predicted == 0)) == odd
    assert list(found.predictions.gold) == [number % 2 for number in range(80)]
    assert len(found.parts) == 10
    assert np.mean([part["accuracy"] or 0 for part in found.parts.values()]) == pytest.approx(100 * 78 / 80)


def test_pairs_are_told_by_difference_and_product_with_accuracy_and_f1() -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(5)
    texts = [f"t{number}" for number in range(200)]
    matrix = rng.normal(size=(200, 6)).astype(np.float32)
    first, second = matrix[:100], matrix[100:]
    labels = (first[:, 0] * second[:, 0] + 0.8 * rng.normal(size=100) > -0.3).astype(np.int64)
    pairs = [Labelled(texts[row], int(labels[row]), texts[100 + row]) for row in range(100)]
    found = LabelledSet(
        name="mrpc", title="MRPC", source="here", parts={"train": tuple(pairs[:60]), "test": tuple(pairs[60:])}
    )
    result = found.score(Vectors.encode(Known(texts, matrix), found.texts()), 1)
    features = np.hstack([abs(first - second), first * second]).astype(np.float64)
    search = plain_search(BEFORE_TEST, 1, 10).fit(features[:60], labels[:60])
    predicted = search.predict(features[60:])
    assert found.size == 40
    assert list(result.metrics) == ["accuracy", "f1"]
    assert result.metrics["accuracy"] == pytest.approx(100 * np.mean(predicted == labels[60:]))
    assert result.metrics["f1"] == pytest.approx(100 * f1_score(labels[60:], predicted))
    assert result.predictions is not None
    np.testing.assert_array_equal(result.predictions.predicted, predicted == labels[60:])


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_f1_is_that_of_scikit_learn(rate: float) -> None:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(0)
    gold, given = rng.integers(0, 2, 50), (rng.random(50) < rate).astype(int)
    assert f1(gold, given) == pytest.approx(100 * f1_score(gold, given))
    assert f1([0, 0], [0, 0]) == 0


def test_a_file_for_each_class_is_read_with_its_empty_lines(tmp_path: Path) -> None:
    write(tmp_path / "CR", custrev_dot_pos="good  , really\n\n", custrev_dot_neg="bad .\n")
    found = read_set(small("cr", 2, 1), str(tmp_path))
    assert isinstance(found, LabelledSet)
    assert found.parts == {"all": (Labelled("good , really", 1), Labelled("", 1), Labelled("bad .", 0))}
    assert list(found.texts()) == ["good , really", ".", "bad ."]
    assert (found.size, found.source) == (3, str(tmp_path / "CR"))
    assert sorted(found.files) == ["custrev.neg", "custrev.pos"]


def test_trec_is_read_with_its_latin_letters(tmp_path: Path) -> None:
    write(
        tmp_path / "senteval" / "TREC",
        train_5500_dot_label="NUM:dist How far : 3 ?\nABBR:exp What is caf\xe9 ?\n".encode("latin-1"),
        TREC_10_dot_label="LOC:city Where ?\n",
    )
    found = read_set(small("trec", 2, 1), str(tmp_path))
    assert isinstance(found, LabelledSet)
    assert found.parts["train"] == (Labelled("How far : 3 ?", 5), Labelled("What is café ?", 0))
    assert found.parts["test"] == (Labelled("Where ?", 4),)


def test_mrpc_is_read_behind_its_header_with_its_quotation_marks(tmp_path: Path) -> None:
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    write(
        tmp_path / "MRPC",
        msr_paraphrase_train_dot_txt=f'{header}1\t1\t2\t"A" said\tB "said\r\n',
        msr_paraphrase_test_dot_txt=f"{header}0\t3\t4\tC\tD\r\n",
    )
    found = read_set(small("mrpc", 1, 1), str(tmp_path))
    assert isinstance(found, LabelledSet)
    assert found.parts == {"train": (Labelled('"A" said', 1, 'B "said'),), "test": (Labelled("C", 0, "D"),)}
    assert list(found.texts()) == ['"A" said', 'B "said', "C", "D"]


def test_sentiment_is_read_by_its_three_files(tmp_path: Path) -> None:
    line, expected = "so good\t1\n", Labelled("so good", 1)
    folder = tmp_path / BY_NAME["sst2"].folders[0]
    write(folder, sentiment__train=2 * line, sentiment__dev=line, sentiment__test=line)
    found = read_set(small("sst2", 2, 1, 1), str(tmp_path))
    assert isinstance(found, LabelledSet)
    assert found.parts == {"train": (expected, expected), "dev": (expected,), "test": (expected,)}


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("sst2", "fine\t1\nno label\n", r"sentiment-train line 2: 'no label' is no sentence and a label of 0 or 1"),
        ("sst2", "fine\t1\nodd\t2\n", r"line 2: 'odd\\t2' is no sentence"),
        ("sst2", "fine\t1\n", r"sentiment-train: 1 items, expected 2"),
    ],
)
def test_a_malformed_line_or_a_wrong_count_is_named(tmp_path: Path, name: str, lines: str, message: str) -> None:
    write(tmp_path / BY_NAME[name].folders[0], sentiment__train=lines, sentiment__dev="", sentiment__test="")
    with pytest.raises(InputError, match=message):
        read_set(small(name, 2, 0, 0), str(tmp_path))


def test_what_is_missing_says_what_was_looked_for_and_where_it_is_to_be_had(tmp_path: Path) -> None:
    (tmp_path / "MR").mkdir()
    found, missing = transfer.find(str(tmp_path))
    assert found == []
    assert [item.title for item in missing] == [about.title for about in CORPORA]
    assert missing[0].reason == f"{tmp_path / 'MR'} lacks rt-polarity.pos, rt-polarity.neg"
    assert missing[1].reason == f"no folder CR below {tmp_path}"
    assert all("senteval.tar" in item.where for item in missing)


@pytest.fixture
def organisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands in for an organisation on the Hub, with a copy of MRPC in three splits."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "org" / "mrpc"
    folder.mkdir(parents=True)
    for split, label in (("train", 1), ("validation", 0), ("test", 1)):
        row = {"text1": f"{split} one", "text2": f"{split}  two", "label": label}
        (folder / f"{split}.jsonl").write_text(json.dumps(row) + BLANK)
    return tmp_path / "org"


def test_a_copy_on_the_hub_is_joined_from_its_splits(organisation: Path) -> None:
    found = read_set(small("mrpc", 2, 1), f"hf:{organisation}")
    assert isinstance(found, LabelledSet)
    assert found.parts == {
        "train": (Labelled("train one", 1, "train two"), Labelled("validation one", 0, "validation two")),
        "test": (Labelled("test one", 1, "test two"),),
    }
    assert "a copy from the Hub" in found.note


def test_a_copy_of_another_size_is_refused_with_both_numbers(organisation: Path) -> None:
    with pytest.raises(InputError, match=r"mrpc \(train\): 2 items, expected 4076"):
        read_set(BY_NAME["mrpc"], f"hf:{organisation}")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text1": "a", "text2": "b", "label": -1}, "test row 0: the label -1 is none of 0 to 1"),
        ({"text1": "a", "text2": " ", "label": 1}, "test row 0: expected text"),
        ({"sentence": "a", "label": 1}, "no text1, text2"),
    ],
)
def test_a_row_without_text_or_label_is_named(organisation: Path, row: dict[str, object], message: str) -> None:
    (organisation / "mrpc" / "test.jsonl").write_text(json.dumps(row) + BLANK)
    if "sentence" in row:
        for split in ("train", "validation"):
            (organisation / "mrpc" / f"{split}.jsonl").write_text(json.dumps(row) + BLANK)
    with pytest.raises(InputError, match=message):
        read_set(small("mrpc", 2, 1), f"hf:{organisation}")


def test_on_the_hub_a_set_is_missing_with_the_organisation_that_has_it() -> None:
    found, missing = transfer.find("hf:mteb")
    assert found == []
    by_name = {item.name: item for item in missing}
    assert "hf:SetFit" in by_name["trec"].where
    assert by_name["sst2"].reason == "no copy on the Hub with its items is known"
    assert isinstance(read_set(BY_NAME["cr"], "hf:SetFit"), Missing)


def test_the_average_is_over_the_seven_sets_of_the_papers() -> None:
    assert [about.title for about in CORPORA] == ["MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC"]
    assert transfer.COUNTED == 7
    assert transfer.METRICS == ("accuracy", "f1")


def test_the_sizes_are_the_published_ones() -> None:
    sizes = {about.name: about.sizes for about in CORPORA}
    assert sizes["mr"] == {"all": 10662}
    assert sizes["cr"] == {"all": 3775}
    assert sizes["subj"] == {"all": 10000}
    assert sizes["mpqa"] == {"all": 10606}
    assert sizes["sst2"] == {"train": 67349, "dev": 872, "test": 1821}
    assert sizes["trec"] == {"train": 5452, "test": 500}
    assert sizes["mrpc"] == {"train": 4076, "test": 1725}


def test_of_two_files_the_one_with_class_1_is_the_positive_or_as_in_senteval_the_objective_one() -> None:
    files = {about.name: [(file.name, file.label) for file in about.files] for about in CORPORA}
    assert files["mr"] == [("rt-polarity.pos", 1), ("rt-polarity.neg", 0)]
    assert files["cr"] == [("custrev.pos", 1), ("custrev.neg", 0)]
    assert files["subj"] == [("subj.objective", 1), ("subj.subjective", 0)]
    assert files["mpqa"] == [("mpqa.pos", 1), ("mpqa.neg", 0)]


def test_the_real_files_are_read_whole(research_data: Path) -> None:
    found, missing = transfer.find(str(research_data))
    assert missing == []
    for item in found:
        assert {part: len(items) for part, items in item.parts.items()} == BY_NAME[item.name].sizes
        assert all(text.strip() for text in item.texts())
        labels = {entry.label for items in item.parts.values() for entry in items}
        assert labels == set(range(BY_NAME[item.name].classes))
    by_name = {item.name: item for item in found}
    assert by_name["trec"].parts["test"][0] == Labelled("How far is it from Denver to Aspen ?", 5)
    assert by_name["mr"].parts["all"][5331].first == "simplistic , silly and tedious ."
    assert by_name["mrpc"].parts["test"][0].first.startswith("PCCW's chief operating officer")
    # Class 1 of MRPC's test: what a constant answer gives is 66.49, F1 79.87.
    assert sum(item.label for item in by_name["mrpc"].parts["test"]) == 1147


CARDS = Path(__file__).parents[3] / "data_cards"
CARD = {about.name: about.name for about in CORPORA} | {"sst2": "sst"}


@pytest.mark.parametrize("about", CORPORA, ids=lambda about: about.name)
def test_a_card_has_the_sizes_the_files_and_the_copy_on_the_hub(about: Corpus) -> None:
    text = (CARDS / f"{CARD[about.name]}.md").read_text(encoding="utf-8")
    card = yaml.safe_load(text.split("---\n")[1])
    if "all" in about.sizes:
        assert card["rows"] == about.sizes["all"]
        assert card["subsets"] == {file.name: file.items for file in about.files}
    else:
        assert card["splits"] == about.sizes
        assert card["rows"] == about.sizes["test"]
    assert all(f"`{file.name}`" in text for file in about.files)
    assert f"`{about.folders[0]}/`" in text
    assert about.hub is None or f"`{about.hub.organisation}/{about.hub.name}`" in text


@pytest.mark.parametrize("about", CORPORA, ids=lambda about: about.name)
def test_the_checksums_of_a_card_are_those_of_the_files(research_data: Path, about: Corpus) -> None:
    card = yaml.safe_load((CARDS / f"{CARD[about.name]}.md").read_text(encoding="utf-8").split("---\n")[1])
    found = read_set(about, str(research_data))
    assert isinstance(found, LabelledSet)
    place = f"{about.folders[0].partition('/')[2]}/" if "/" in about.folders[0] else ""
    assert {f"{place}{name}": sum for name, sum in found.files.items()}.items() <= card["sha256"].items()
