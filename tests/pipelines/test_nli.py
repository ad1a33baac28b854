"""Pairs and negatives from NLI corpora in their own formats, and hard negatives that an encoder finds."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from foreigners import ROOT, Augment, is_refused, rows_of, write_pairs

from augment.meaning.judge import sentence_encoder
from augment.models.weights import STARTER_ENCODER
from pipelines.pairs.nli import NliRow, TableColumns, nli_rows, nli_sources
from pipelines.storage.pair_files import read_pairs
from trainers.data.examples import from_pairs

PAGE = ROOT / "docs/pairs.md"
ROWS = [
    NliRow("A man plays.", "Someone plays.", "entailment"),
    NliRow("A man plays.", "A woman sleeps.", "contradiction"),
    NliRow('He said "no".', "Nobody knows.", None),
    NliRow("Two dogs run, fast.", "Animals move.", "neutral"),
]
NAMES = ["entailment", "neutral", "contradiction"]


def jsonl(path: Path, given: list[NliRow] = ROWS) -> None:
    """As in snli_1.0_train.jsonl."""
    rows = [
        {"annotator_labels": [row.label], "gold_label": row.label or "-", "sentence1": row.premise}
        | {"sentence1_parse": "(ROOT)", "sentence2": row.hypothesis}
        for row in given
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def txt(path: Path) -> None:
    """As in snli_1.0_train.txt and multinli_1.0_train.txt: the label first, five annotators' labels at the end."""
    head = ["gold_label", "sentence1_binary_parse", "sentence1", "sentence2", "captionID", "label1", "label2"]
    rows = [
        [row.label or "-", "( a )", row.premise, row.hypothesis, "1.jpg", row.label or "", ""] for row in ROWS
    ]
    path.write_text("".join("\t".join(row) + "\n" for row in [head, *rows]))


def comma_separated(path: Path) -> None:
    quoted = ['"{}","{}",{}'.format(r.premise.replace('"', '""'), r.hypothesis, r.label or "-") for r in ROWS]
    path.write_text("\n".join(["premise,hypothesis,label", *quoted]) + "\n")


def parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([row._asdict() for row in ROWS]), path)


def hub_dataset(folder: Path) -> None:
    """As the Hub has SNLI: labels are numbers, -1 without a gold label, and the schema names them."""
    columns = {
        "premise": [row.premise for row in ROWS],
        "hypothesis": [row.hypothesis for row in ROWS],
        "label": [-1 if row.label is None else NAMES.index(row.label) for row in ROWS],
    }
    text = datasets.Value("string")
    features = datasets.Features(premise=text, hypothesis=text, label=datasets.ClassLabel(names=NAMES))
    folder.mkdir()
    datasets.Dataset.from_dict(columns, features=features).to_parquet(str(folder / "train.parquet"))


@pytest.mark.parametrize(
    ("source", "write"),
    [
        *(("a.jsonl", jsonl), ("a.txt", txt), ("a.csv", comma_separated), ("a.parquet", parquet)),
        ("hf:./snli", hub_dataset),
    ],
)
def test_formats_read_alike(folder: Path, source: str, write: Callable[[Path], None]) -> None:
    write(folder / source.removeprefix("hf:"))
    (found,) = nli_sources([source], folder)
    assert list(nli_rows(found, TableColumns())) == ROWS


def test_a_dataset_of_the_hub_is_loaded_once(folder: Path) -> None:
    hub_dataset(folder / "once")
    (source,) = nli_sources([f"hf:{folder / 'once'}"], folder)
    (folder / "once" / "train.parquet").unlink()
    assert list(nli_rows(source, TableColumns())) == ROWS


def test_entailed_rows_become_pairs_and_others_have_a_reason(augment: Augment, folder: Path) -> None:
    txt(folder / "a.txt")
    jsonl(folder / "b.jsonl")
    extra = [("A cat.", "", "entailment"), (" A cat. ", "An animal.", "entailment"), ("A.", "B.", "maybe")]
    with (folder / "b.jsonl").open("a") as more:
        for one, two, label in extra:
            more.write(json.dumps({"sentence1": one, "sentence2": two, "gold_label": label}) + "\n")
    done = augment("build-pairs", "a.txt", "b.jsonl", "--pairs", "entailment", "--rejects", "--json")
    counts = json.loads(done.out)
    assert (counts["rows"], counts["pairs"]) == (11, 2)
    assert counts["dropped"] == {
        "empty premise or hypothesis": 1,
        "exact duplicate": 1,
        "gold label contradiction": 2,
        "gold label maybe": 1,
        "gold label neutral": 2,
        "no gold label": 2,
    }
    pairs = read_pairs("data/pairs.arrow").to_list()
    assert pairs == [
        {
            "id": xxhash.xxh64_hexdigest(f"{premise}\t{hypothesis}".encode()),
            "text": premise,
            "view_a": premise,
            "view_b": hypothesis,
            "view_a_name": "premise",
            "view_b_name": "hypothesis",
        }
        for premise, hypothesis in [("A man plays.", "Someone plays."), ("A cat.", "An animal.")]
    ]
    assert datasets.Dataset.from_file("data/pairs.rejects.arrow").num_rows == 9
    assert not Path("data/sentences").exists()
    assert "| no gold label | 2 |" in Path("data/pairs.card.md").read_text()
    limited = augment(
        "build-pairs", "a.txt", "--pairs", "entailment", "--limit", 2, "--out", "two.arrow", "--json"
    )
    assert (json.loads(limited.out)["rows"], json.loads(limited.out)["pairs"]) == (2, 1)


CORPORA = {
    "xnli.tsv": "premise\thypo\tlabel\nA man plays.\tHe plays.\tentailment\nA man plays.\tHe sleeps.\tcontradictory\n",
    "anli.jsonl": '{"context": "A man plays.", "hypothesis": "He plays.", "label": "e"}\n'
    '{"context": "A man plays.", "hypothesis": "He sleeps.", "label": "c"}\n',
    "sick.txt": "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\n"
    "1\tA man plays.\tHe plays.\tENTAILMENT\t4.5\n2\tA man plays.\tHe sleeps.\tCONTRADICTION\t3.1\n",
    "sick_train.txt": "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    "1\tA man plays.\tHe plays.\t4.5\tENTAILMENT\n2\tA man plays.\tHe sleeps.\t3.1\tCONTRADICTION\n",
    "capitals.csv": "Label,Hypothesis,Premise\nentailment,He plays.,A man plays.\n"
    "contradiction,He sleeps.,A man plays.\n",
    "wanli.csv": "premise,hypothesis,gold\nA man plays.,He plays.,Entailment\nA man plays.,He sleeps.,contradicts\n",
    "numbers.jsonl --labels 0=entailment,2=contradiction": '{"premise": "A man plays.", "hypothesis": "He plays.", '
    '"label": 0}\n{"premise": "A man plays.", "hypothesis": "He sleeps.", "label": 2.0}\n',
    "own.csv --columns a,b,c --labels yes=entailment,NO=contradiction": "c,a,b\nyes,A man plays.,He plays.\n"
    "no,A man plays.,He sleeps.\n",
}


@pytest.mark.parametrize("corpus", CORPORA)
def test_known_corpora_read_as_they_are_and_others_by_options(
    augment: Augment, folder: Path, corpus: str
) -> None:
    name, *options = corpus.split()
    (folder / name).write_text(CORPORA[corpus])
    done = augment("build-pairs", name, *options, "--pairs", "entailment", "--negatives", "--json")
    assert json.loads(done.out)["dropped"] in (
        {"gold label contradiction": 1},
        *({f"gold label {label}": 1} for label in ("contradictory", "contradicts")),
    )
    assert [(row["view_a"], row["view_b"], row["negative"]) for row in rows_of("data/pairs.arrow")] == [
        ("A man plays.", "He plays.", "He sleeps.")
    ]
    assert "nothing done" in augment("build-pairs", name, *options, "--pairs", "entailment", "--negatives").out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            "--labels 1=yes",
            "--labels 1=yes: write LABEL=MEANING,..., where a meaning is entailment, neutral, contra",
        ),
        ("--labels entailment", "write LABEL=MEANING"),
        ("--columns a", "--columns a: write the names of columns, PREMISE,HYPOTHESIS,LABEL"),
        ("--columns a,b,a", "write the names of columns"),
        ("--columns premise,b", "has no column 'b'"),
        (
            "--pairs columns --columns premise,label --labels 1=neutral",
            "--labels needs --pairs entailment, not columns",
        ),
    ],
)
def test_wrong_columns_and_labels_are_one_line(
    augment: Augment, folder: Path, options: str, expected: str
) -> None:
    parquet(folder / "a.parquet")
    is_refused(augment("build-pairs", "a.parquet", "--pairs", "entailment", *options.split()), expected)


BAD: list[tuple[str, bytes, int, str]] = [
    (
        "none.tsv",
        b"gold_label\tsentence1\tsentence2\nneutral\ta\tb\n",
        1,
        "no pair is left of 1 rows (gold label neut",
    ),
    (
        "columns.tsv",
        b"text\tlabel\na\tb\n",
        2,
        "columns.tsv has no premise column (sentence1 or premise or ori_sent",
    ),
    ("half.csv", b"premise,label\na,entailment\n", 2, "half.csv has no hypothesis column"),
    (
        "label.csv",
        b"premise,hypothesis\na,b\n",
        2,
        "label.csv has no label column (gold_label or label or entail",
    ),
    (
        "numbers.csv",
        b"premise,hypothesis,label\na,b,0\n",
        2,
        "numbers.csv: the label '0' is a number without a name",
    ),
    ("some.md", b"# Title", 2, "some.md is a markdown file, not a table"),
    (
        "keys.jsonl",
        b'{"premise": "a", "label": "b"}\n',
        2,
        "keys.jsonl has no hypothesis column (sentence2 or",
    ),
]


@pytest.mark.parametrize(("name", "content", "code", "expected"), BAD, ids=[name for name, *_ in BAD])
def test_a_bad_corpus_is_one_line_and_nothing_is_written(
    augment: Augment, folder: Path, name: str, content: bytes, code: int, expected: str
) -> None:
    (folder / name).write_bytes(content)
    before = sorted(folder.rglob("*"))
    done = augment("build-pairs", name, "--pairs", "entailment")
    assert (done.code, done.err.count("\n")) == (code, 1)
    assert expected in done.err
    assert sorted(folder.rglob("*")) == before


NLI = [
    NliRow("A man plays.", "Nobody plays.", "contradiction"),
    NliRow("A man plays.", "Someone plays.", "entailment"),
    NliRow("A man plays.", "A person plays.", "entailment"),
    NliRow("A man plays.", "A man sleeps.", "contradiction"),
    NliRow("A man plays.", "A human plays.", "entailment"),
    NliRow("A cat sits.", "A cat runs.", "neutral"),
    NliRow("A cat sits.", "An animal sits.", "entailment"),
]


def test_entailment_takes_contradictions_of_the_premise_in_turn(augment: Augment, folder: Path) -> None:
    jsonl(folder / "nli.jsonl", NLI)
    build = ["build-pairs", "nli.jsonl", "--pairs", "entailment", "--negatives"]
    counts = json.loads(augment(*build, "--json").out)
    assert (counts["pairs"], counts["kept"]) == (4, {"it has no negative": 1})
    assert [(row["view_b"], row["negative"]) for row in rows_of("data/pairs.arrow")] == [
        ("Someone plays.", "Nobody plays."),
        ("A person plays.", "A man sleeps."),
        ("A human plays.", "Nobody plays."),
        ("An animal sits.", None),
    ]
    assert "nothing done" in augment(*build).out
    is_refused(augment(*build[:-1]), "(--negatives True, not none)")
    assert "--negatives needs --pairs entailment, not best" in augment("build-pairs", "--negatives").err
    is_refused(augment("build-pairs", "nli.jsonl", "--pairs", "entailment", "--seed", 1), "makes no views")


def test_a_look_and_an_export_know_negatives(augment: Augment, folder: Path) -> None:
    jsonl(folder / "nli.jsonl", NLI)
    augment("build-pairs", "nli.jsonl", "--pairs", "entailment", "--negatives")
    seen = json.loads(augment("inspect", "data/pairs.arrow", "--json").out)
    assert seen["counts"]["kept"]["it has no negative"] == 1
    found = seen["statistics"]
    assert (found["measures"]["chrF, negative ~ a"]["n"], found["values"]) == (3, {})
    assert "  negative    Nobody plays.\n" in augment("inspect", "data/pairs.arrow").out
    assert "it has no negative" in Path("data/pairs.report.html").read_text()
    augment("export", "data/pairs.arrow", "--to", "jsonl")
    exported = [json.loads(line)["negative"] for line in Path("data/pairs.jsonl").read_text().splitlines()]
    assert exported == ["Nobody plays.", "A man sleeps.", "Nobody plays.", None]


SENTENCES = [
    "A man plays the guitar.",
    "A man plays the piano.",
    "A woman plays the guitar.",
    "A dog runs on the beach.",
    "A dog runs in the park.",
    "The stock market fell sharply.",
    "Stocks fell on Monday.",
    "Two children eat apples.",
]


def test_the_miner_of_the_page_gives_a_training_the_closest_texts_of_others(folder: Path) -> None:
    anchors = [*SENTENCES, "Music for a guitar."]
    vectors = sentence_encoder(STARTER_ENCODER, "cpu").encode(anchors, normalize_embeddings=True)
    cosines = vectors @ vectors[: len(SENTENCES)].T
    # as the second text of the last pair: every other one is too close
    farthest = SENTENCES[cosines[-1].argmin()]
    closest = [next(n for n in row.argsort()[::-1] if row[n] <= 0.95) for row in cosines[:-1]]
    (folder / "data").mkdir()
    write_pairs([*zip(SENTENCES, SENTENCES, strict=True), (anchors[-1], farthest)]).rename("data/pairs.arrow")
    (snippet,) = re.findall(
        "^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    exec(compile(snippet.replace("all-MiniLM-L6-v2", str(STARTER_ENCODER)), str(PAGE), "exec"), {})
    assert list(from_pairs(["data/mined.arrow"]).negatives[0]) == [*(SENTENCES[n] for n in closest), ""]
