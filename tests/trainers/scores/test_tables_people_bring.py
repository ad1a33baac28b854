"""What stands in tables: grades of documents, lists, copies, groups, NLI, titles, BEIR's folders, rare classes."""

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import ir_measures
import numpy as np
import pytest
from datasets import Dataset
from known_vectors import Known, evaluate, write_files
from sentence_transformers.util import dot_score, euclidean_sim
from sklearn.metrics import f1_score
from small_trainings import Capsys, error_line

import trainers
from pipelines.base.console import NOTED, InputError
from trainers.encoders.functions import as_matrix
from trainers.encoders.vectors import Vectors, rounded
from trainers.scores.dev_set import read_dev
from trainers.scores.tables.judge import read_judge
from trainers.scores.tables.labels import FOLDS
from trainers.scores.tables.table_items import item_groups
from trainers.scores.task import Predictions, Suite

RNG = np.random.default_rng(7)
TEXTS = [f"text {number}" for number in range(60)]
Table: TypeAlias = Any  # whatever `judge` takes
Function: TypeAlias = Callable[[list[str]], Any]


class Plain(dict):
    """A table of vectors that only knows plain strings."""

    def __call__(self, texts: list[str]) -> np.ndarray:
        assert all(type(text) is str for text in texts)
        return np.array([self[text] for text in texts])


def encoder(texts: Sequence[str], seed: int = 0, dimension: int = 8) -> Plain:
    draws = np.random.default_rng(seed).standard_normal((len(texts), dimension))
    return Plain(zip(texts, draws, strict=True))


def scores(table: Table, function: Function, shots: int | None = None) -> dict[str, float]:
    return {title: figure[0] for title, figure in trainers.judge(function, table, shots=shots).figures.items()}


def predictions(suite: Suite, function: Function, task: int = 0) -> Predictions:
    texts = suite.tasks[task].texts
    distinct = list(dict.fromkeys(texts))
    vectors = Vectors.encode(
        Known(distinct, function([str(text) for text in distinct]).astype(np.float32)), texts
    )
    items = suite.tasks[task].score(vectors, 1).predictions
    assert items is not None
    return items


def test_a_function_is_given_plain_strings() -> None:
    table = {"query": TEXTS[:20], "document": TEXTS[20:40]}
    assert scores(table, encoder(TEXTS)) == scores(table, lambda texts: encoder(TEXTS)(list(texts)))


def by_ir_measures(
    function: Plain, relevant: dict[str, dict[str, int]], documents: Sequence[str]
) -> dict[str, float]:
    """The figures by the library, each query's own text left out."""

    def cosine(first: str, second: str) -> float:
        left, right = function[first], function[second]
        return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))

    run = {query: {text: cosine(query, text) for text in documents if text != query} for query in relevant}
    measures = {"nDCG@10": ir_measures.nDCG @ 10, "recall@100": ir_measures.R @ 100}
    values = ir_measures.calc_aggregate([*measures.values()], relevant, run)
    return {name: pytest.approx(100 * values[measure], abs=1e-6) for name, measure in measures.items()}


def test_relevance_is_a_grade_and_0_is_not_relevant() -> None:
    rows = [(TEXTS[row % 10], TEXTS[10 + row], row * 7 % 4) for row in range(50)]
    table = dict(zip(("query", "document", "score"), map(list, zip(*rows, strict=True)), strict=True))
    relevant = {query: {text: grade for other, text, grade in rows if other == query} for query in TEXTS[:10]}
    function = encoder(TEXTS)
    graded = scores(table, function)
    expected = by_ir_measures(function, relevant, TEXTS[10:])
    assert {name: graded[name] for name in expected} == expected
    binary = scores({**table, "score": [float(grade > 0) for *_, grade in rows]}, function)
    assert binary["nDCG@10"] != graded["nDCG@10"]
    assert binary["recall@100"] == graded["recall@100"]


def test_relevant_documents_that_are_missing_count_as_not_found(tmp_path: Path, capsys: Capsys) -> None:
    write_files(
        tmp_path, {"library.csv": "id,text\n" + "".join(f"d{row},{TEXTS[row]}\n" for row in range(20, 40))}
    )
    named = [("text 1", "d20"), ("text 1", "d90"), ("text 2", "d21"), ("text 3", "d91"), ("text 4", "d92")]
    write_files(
        tmp_path, {"queries.csv": "query,document\n" + "".join(f"{query},{name}\n" for query, name in named)}
    )
    table = f"{tmp_path / 'queries.csv'},{tmp_path / 'library.csv'}"
    assert scores(table, encoder(TEXTS))["recall@100"] == pytest.approx(100 * (0.5 + 1 + 0 + 0) / 4)
    assert "4 queries on 20 documents, 3 relevant ones not among them" in capsys.readouterr().err
    write_files(tmp_path, {"queries.csv": "query,document\ntext 1,d90\ntext 2,d91\n"})
    with pytest.raises(InputError, match="no document has an id or text that the queries name, such as 'd90'"):
        read_judge(table)


@pytest.mark.parametrize("kind", ["memory", "jsonl", "parquet"])
def test_documents_in_a_list_are_several(kind: str, tmp_path: Path) -> None:
    single = {"query": [text for text in TEXTS[:10] for _ in range(2)], "document": TEXTS[10:30]}
    lists = [TEXTS[10 + 2 * row : 12 + 2 * row] for row in range(10)]
    listed: Any = {"query": TEXTS[:10], "document": lists}
    path = tmp_path / f"lists.{kind}"
    if kind == "parquet":
        Dataset.from_dict(listed).to_parquet(path)
    elif kind == "jsonl":
        Dataset.from_dict(listed).to_json(path)
    table = listed if kind == "memory" else path
    assert scores(table, encoder(TEXTS)) == scores(single, encoder(TEXTS))
    with pytest.raises(InputError, match="is an object: give its text, or its id and a second file"):
        read_judge({"query": TEXTS[:2], "document": [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]})


def test_a_query_among_the_documents_is_not_its_own_answer(capsys: Capsys) -> None:
    pairs = [(TEXTS[row], TEXTS[row + 20]) for row in range(20)]
    both = [*pairs, *(pair[::-1] for pair in pairs)]
    table = dict(zip(("query", "document"), map(list, zip(*both, strict=True)), strict=True))
    function = encoder(TEXTS)
    found = scores(table, function)
    expected = by_ir_measures(function, {query: {text: 1} for query, text in both}, TEXTS[:40])
    assert {name: found[name] for name in expected} == expected
    assert "40 times a copy of the query left out of its ranking" in capsys.readouterr().err
    itself = {"query": TEXTS[:20], "document": TEXTS[:20]}  # unless that is what is asked for
    assert scores(itself, function)["nDCG@10"] == 100


@pytest.mark.parametrize("endings", [(".jsonl", ".jsonl"), (".jsonl", ".parquet")])
def test_a_folder_in_the_layout_of_beir_is_read_with_titles_and_without_the_own_id(
    endings: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    documents = [{"_id": f"{row}", "title": TEXTS[row], "text": TEXTS[row + 20]} for row in range(20)]
    queries = [{"_id": f"q{row}" if row else "7", "text": TEXTS[40 + row]} for row in range(8)]
    folder = Path("beir")
    (folder / "qrels").mkdir(parents=True)
    for name, rows, ending in zip(("queries", "corpus"), (queries, documents), endings, strict=True):
        table = Dataset.from_list(rows)
        table.to_json(folder / (name + ending)) if ending == ".jsonl" else table.to_parquet(
            folder / (name + ending)
        )
    qrels = [("7", "3", 1), ("q1", "4", 2), ("q1", "5", 1), ("q2", "6", 0), ("q3", "7", 1), ("gone", "7", 1)]
    lines = "".join(f"{query}\t{document}\t{grade}\n" for query, document, grade in qrels)
    write_files(folder, {"qrels/test.tsv": "query-id\tcorpus-id\tscore\n" + lines})
    joined = {row["_id"]: f"{row['title']} {row['text']}" for row in documents}
    function = encoder([*TEXTS, *joined.values()])
    relevant = {TEXTS[40]: {"3": 1}, TEXTS[41]: {"4": 2, "5": 1}, TEXTS[43]: {"7": 1}}
    flat = Plain({**function, **{name: function[text] for name, text in joined.items()}})
    expected = by_ir_measures(
        flat, {TEXTS[41]: relevant[TEXTS[41]], TEXTS[43]: relevant[TEXTS[43]]}, [*joined]
    )
    first = by_ir_measures(flat, {TEXTS[40]: {"3": 1}}, [name for name in joined if name != "7"])
    found = scores(folder, function)
    for name in expected:
        assert found[name] == pytest.approx((2 * expected[name].expected + first[name].expected) / 3)
    said = capsys.readouterr().err
    assert "3 queries on 20 documents, 1 times a copy of the query left out" in said
    assert "rows without a query (1), queries without a relevant document (1)" in said
    assert read_judge("beir/qrels/test.tsv").tasks[0].sha256() == read_judge("beir").tasks[0].sha256()
    with pytest.raises(InputError, match="of BEIR's layout give the folder"):
        read_judge("beir/queries.jsonl,beir/corpus.jsonl" if endings[1] == ".jsonl" else "beir/queries.jsonl")
    (folder / "qrels/test.tsv").rename(folder / "qrels/dev.tsv")
    write_files(folder, {"qrels/train.tsv": "query-id\tcorpus-id\tscore\n"})
    with pytest.raises(
        InputError, match=r"has no qrels/test.tsv: give one of its splits, such as beir/qrels/dev.tsv"
    ):
        read_judge("beir")
    with pytest.raises(InputError, match=r"is a folder with no qrels/test.tsv beside queries.jsonl"):
        read_judge(str(tmp_path))


NLI = {"premise": TEXTS[:30], "hypothesis": TEXTS[30:]}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({**NLI, "label": [row % 3 for row in range(30)]}, r"label \(0, 1, 2\) is a class as in NLI"),
        ({**NLI, "label": [float(row % 2) for row in range(30)]}, "is a class as in NLI"),
        (
            {"sentence1": TEXTS[:30], "sentence2": TEXTS[30:], "label": ["neutral"] * 30},
            "call its column `same`",
        ),
        ({"sentence1": TEXTS[:30], "sentence2": TEXTS[30:], "label": [row % 3 for row in range(30)]}, "NLI"),
        (
            {"text": TEXTS[:30], "text_pair": TEXTS[30:], "label": [1] * 30},
            "two texts a row and a label: text, text",
        ),
        (
            {"question": TEXTS[:30], "sentence": TEXTS[30:], "label": [1] * 30},
            "has two texts a row and a label",
        ),
        (
            {"text": TEXTS, "topic": TEXTS},
            "a label label, category, class or intent; .*: name yours, as in --columns",
        ),
    ],
)
def test_classes_of_pairs_are_no_grades_and_no_labels_of_a_text(table: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_judge(table)


def test_grades_from_0_to_5_and_marks_of_the_same_are_no_classes(tmp_path: Path) -> None:
    assert read_judge({**NLI, "score": [row % 3 / 2 for row in range(30)]}).tasks[0].title == "Spearman"
    pairs = {"text1": TEXTS[:30], "text2": TEXTS[30:]}
    assert read_judge({**pairs, "label": [row % 6 for row in range(30)]}).tasks[0].title == "Spearman"
    assert read_judge({**pairs, "label": [row % 2 for row in range(30)]}).tasks[0].title == "Spearman"
    rows = "".join(
        f"{first},{second},{row % 3}\n" for row, (first, second) in enumerate(zip(*NLI.values(), strict=True))
    )
    write_files(tmp_path, {"nli.csv": "premise,hypothesis,label\n" + rows})
    with pytest.raises(InputError, match=r"--dev .*nli.csv: label \(0, 1, 2\) is a class as in NLI"):
        read_dev(str(tmp_path / "nli.csv"), None)


@pytest.mark.parametrize(
    ("cells", "grades", "unread"),
    [
        (["0,83", "0,04", "1"], [0.83, 0.04, 1], ""),
        (["83%", "4 %", "100%"], [83, 4, 100], ""),
        (["83,5 %", "4,25%", "100%"], [83.5, 4.25, 100], ""),
        (["-1,5", "NA", ",5"], [-1.5, 0.5], "'NA' ({}: line 3)"),
        (["0.83", "0,04", "1"], [0.83, 1], "'0,04' ({}: line 3)"),
        (["83%", "0.04", "1"], [0.04, 1], "'83%' ({}: line 2)"),
    ],
)
def test_decimal_commas_and_percent_signs_are_read_where_all_grades_have_them(
    cells: list[str], grades: list[float], unread: str, tmp_path: Path, capsys: Capsys
) -> None:
    rows = [f"{letter};{letter}{letter};{cell}" for letter, cell in zip("abc", cells, strict=True)]
    write_files(tmp_path, {"graded.csv": "\n".join(["s1;s2;score", *rows])})
    path = tmp_path / "graded.csv"
    (task,) = read_judge(path).tasks
    assert [float(line.partition("\t")[0]) for line in task.lines if line] == grades
    said = f"a finite grade, such as {unread.format(path)} (1)" if unread else "3 pairs with grades (columns"
    assert said in capsys.readouterr().err


def test_a_text_file_is_called_that(tmp_path: Path, capsys: Capsys) -> None:
    write_files(tmp_path, {"notes.txt": "Two dogs run.\nA cat sleeps.\n"})
    assert evaluate("starter", "--judge", tmp_path / "notes.txt") == 2
    assert "notes.txt is text, not a table ('Two dogs run.')" in error_line(capsys)


def test_grades_the_wrong_way_round_are_asked_about(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path, {"own.py": "def f(texts):\n    return [[len(text), 9.0] for text in texts]\n"})
    rows = "".join(f"{'a' * row},{'a' * (30 - row)},{abs(15 - row)}\n" for row in range(1, 29))
    write_files(tmp_path, {"pairs.csv": "text1,text2,grade\n" + rows})
    assert evaluate("own:f", "--judge", "pairs.csv") == 0
    assert "Spearman: is negative: are the grades distances?" in capsys.readouterr().err


def test_what_belongs_together_is_found_through_copies_and_groups() -> None:
    texts = [["a cat", "a dog"], ["A DOG!", "a cat"], ["x", "y"], ["z", "y"], ["z", "v"], ["a cat", "a cat"]]
    assert item_groups(texts, [""] * 6).tolist() == [0, 0, 1, 2, 3, 4]
    assert item_groups(texts, ["", "k", "l", "", "l", "k"]).tolist() == [0, 0, 1, 2, 1, 0]
    assert item_groups([], []).tolist() == []


@pytest.mark.parametrize("kind", ["label", "same", "grade", "document"])
def test_copies_and_groups_are_drawn_together_in_every_table(kind: str) -> None:
    """Ten copies of a table have as many groups as the table; a column joins more."""
    table: dict[str, Any] = {
        "label": {"text": TEXTS[:30], "label": [row % 3 for row in range(30)]},
        "same": {"text1": TEXTS[:30], "text2": TEXTS[30:], "same": [row % 2 for row in range(30)]},
        "grade": {"text1": TEXTS[:30], "text2": TEXTS[30:], "grade": [row % 5 for row in range(30)]},
        "document": {"query": TEXTS[:30], "document": TEXTS[30:]},
    }[kind]
    first = next(iter(table))
    copies = {name: cells * 2 for name, cells in table.items()}
    copies[first] = [*table[first], *map(str.upper, table[first])]
    function = encoder([*TEXTS, *map(str.upper, TEXTS)])
    groups = predictions(read_judge(copies), function).groups
    assert groups is not None
    assert (len(groups), groups.max() + 1) == (60, 30)
    grouped = predictions(
        read_judge({**table, "group": [f"talk {row // 2}" for row in range(30)]}), function
    ).groups
    assert grouped is not None
    assert (grouped == np.repeat(np.arange(15), 2)).all()
    assert len(set(predictions(read_judge(table), function).groups)) == 30  # type: ignore[arg-type]


def test_texts_of_one_group_are_never_trained_on_and_tested(capsys: Capsys) -> None:
    """Each family of near-copies has a vector of its own: a neighbour of the family would tell its label."""
    families = np.arange(60) % 10
    vectors = RNG.standard_normal((10, 8))[families] + 1e-3 * RNG.standard_normal((60, 8))
    function = Plain(zip(TEXTS, vectors, strict=True))
    labels = RNG.permutation(np.arange(10) % 2)[families]
    table = {"text": TEXTS, "label": labels.tolist()}
    assert scores(table, function)["5-NN accuracy"] > 85
    assert scores({**table, "group": families.tolist()}, function)["5-NN accuracy"] < 75
    few = scores({**table, "group": families.tolist()}, function, shots=3)
    assert scores(table, function, shots=3)["regression accuracy"] > few["regression accuracy"] + 5
    mixed = {"text": TEXTS, "label": [row // 10 % 2 for row in range(60)], "group": families.tolist()}
    NOTED.clear()
    assert scores(mixed, function)["regression accuracy"] < 80
    assert "(always saying the largest: 50.0), 5 folds, in 10 groups" in capsys.readouterr().err


def test_macro_f1_and_the_larger_class_are_told(capsys: Capsys) -> None:
    """Of two classes, one nine times as large, accuracy alone would praise an encoder that knows nothing."""
    labels = ["rare" if row % 10 == 0 else "common" for row in range(60)]
    NOTED.clear()
    suite = read_judge({"text": TEXTS, "label": labels})
    said = "60 texts with 2 labels (always saying the largest: 90.0), 5 folds"
    assert said in capsys.readouterr().err
    assert suite.metrics == ("score", "macro-F1")
    function = encoder(TEXTS)
    vectors = Vectors.encode(Known(TEXTS, function(TEXTS).astype(np.float32)), TEXTS)
    for task in suite.tasks[:2]:
        result = task.score(vectors, 1)
        assert result.predictions is not None
        hits = result.predictions.predicted
        gold = np.array([label == "rare" for label in labels])
        expected = f1_score(gold, np.where(hits == 1, gold, ~gold), average="macro")
        assert result.metrics["macro-F1"] == pytest.approx(100 * expected)
        assert result.metrics["macro-F1"] < result.metrics["score"] - 20  # type: ignore[operator]
    assert FOLDS == 5


@pytest.mark.parametrize("kind", ["label", "same", "grade", "document"])
def test_a_constant_encoder_is_undefined_without_a_warning(kind: str) -> None:
    tables: dict[str, Any] = {
        "label": {"text": TEXTS, "label": [row % 3 for row in range(60)]},
        "same": {"text1": TEXTS[:30], "text2": TEXTS[30:], "same": [row % 2 for row in range(30)]},
        "grade": {"text1": TEXTS[:30], "text2": TEXTS[30:], "grade": [row % 5 for row in range(30)]},
        "document": {"query": TEXTS[:30], "document": TEXTS[30:]},
    }
    with warnings.catch_warnings(action="error"):
        assert scores(tables[kind], lambda texts: np.ones((len(texts), 4))) == {}
        few = Plain({text: np.eye(4)[row % 2] for row, text in enumerate(TEXTS)})
        assert scores(tables["label"], few)  # fewer vectors than labels


@pytest.mark.parametrize(("similarity", "theirs"), [("dot", dot_score), ("euclidean", euclidean_sim)])
def test_an_encoder_is_searched_by_the_similarity_that_it_declares(
    similarity: str, theirs: Callable[..., Any]
) -> None:
    queries, documents = (
        RNG.standard_normal((20, 6)),
        RNG.standard_normal((300, 6)) * RNG.uniform(0.1, 9, (300, 1)),
    )
    names = [f"text {row}" for row in range(320)]
    known = Known(names, np.concatenate([queries, documents]).astype(np.float32))
    known.similarity = similarity  # type: ignore[attr-defined]
    vectors = Vectors.encode(known, names)
    ((part, rows, values),) = vectors.search(names[:20], names[20:], 40)
    expected = theirs(known.matrix[:20], known.matrix[20:]).numpy()
    assert (rows == np.argsort(-expected, axis=1, kind="stable")[:, :40]).all()
    assert (np.diff(values, axis=1) <= 0).all()
    assert len(part) == 300


def test_cosines_that_lie_close_keep_their_ranks() -> None:
    """Rounded to five places, those of an encoder with one large common direction would all be equal."""
    close = 0.99999 + 1e-7 * RNG.permutation(40)
    assert len(set(rounded(close))) == 40
    spread = RNG.standard_normal(40)
    assert (rounded(spread) == spread.round(5)).all()


def test_tables_and_functions_come_in_many_types(tmp_path: Path) -> None:
    import torch
    from scipy.sparse import csr_array

    table = {"text": TEXTS, "label": [row % 3 for row in range(60)]}
    function = encoder(TEXTS)
    expected = scores(table, function)
    Dataset.from_dict(table).to_csv(tmp_path / "own.csv")
    for other in (tmp_path / "own.csv", Dataset.from_dict(table)):
        assert scores(other, function) == expected
    rows = function(TEXTS[:3]).astype(np.float32)
    tensors = torch.tensor(rows, requires_grad=True)
    for output in (
        tensors,
        list(tensors),
        csr_array(rows),
        [list(row) for row in rows],
        (*map(torch.tensor, rows),),
    ):
        np.testing.assert_array_equal(as_matrix(output), rows)
    assert as_matrix([row.bfloat16() for row in tensors]).dtype == np.float32
    for options, problem in (
        ({"seed": -1}, "the seed -1 is not between"),
        ({"shots": 0}, "shots is 0: give 1 or more"),
    ):
        with pytest.raises(InputError, match=problem):
            trainers.judge(function, table, **options)  # type: ignore[arg-type]


def test_a_table_has_a_column_of_tf_idf(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(
        tmp_path, {"own.py": "def f(texts):\n    return [[len(text), hash(text) % 7] for text in texts]\n"}
    )
    rows = "".join(
        f"{'the train stops' if row % 2 else 'a cat sleeps'} {row},{row % 2}\n" for row in range(40)
    )
    write_files(tmp_path, {"own.csv": "text,label\n" + rows})
    assert evaluate("own:f", "--judge", "own.csv", "--json") == 0
    values = json.loads(capsys.readouterr().out)
    assert values["sets"]["regression-accuracy"]["baseline"] == 100
    assert evaluate("own:f", "--judge", "own.csv") == 0
    header, _, *lines = capsys.readouterr().out.splitlines()[1:]
    assert header.split() == ["set", "size", "score", "macro-F1", "TF-IDF"]
    assert lines[0].split()[-1] == "100.00"
