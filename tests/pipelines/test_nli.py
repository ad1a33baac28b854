"""NLI readers: the corpora's own formats, and what they give as pairs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
import xxhash

from pipelines.pairing.nli import NliRow, NliSource, nli_sources
from pipelines.pairs import read_pairs

Augment = Callable[..., Any]


def rows_of(source: NliSource) -> list[NliRow]:
    return [row for batch in source.batches() for row in batch]


ROWS = [
    NliRow("A man plays.", "Someone plays.", "entailment"),
    NliRow("A man plays.", "A woman sleeps.", "contradiction"),
    NliRow('He said "no".', "Nobody knows.", None),
    NliRow("Two dogs run, fast.", "Animals move.", "neutral"),
]
NAMES = ["entailment", "neutral", "contradiction"]


def jsonl(path: Path) -> None:
    """As in snli_1.0_train.jsonl."""
    rows = [
        {"annotator_labels": [row.label], "gold_label": row.label or "-", "sentence1": row.premise}
        | {"sentence1_parse": "(ROOT)", "sentence2": row.hypothesis}
        for row in ROWS
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def txt(path: Path) -> None:
    """As in snli_1.0_train.txt and multinli_1.0_train.txt: the label first, five annotators' labels at the end."""
    head = ["gold_label", "sentence1_binary_parse", "sentence1", "sentence2", "captionID", "label1", "label2"]
    rows = [[row.label or "-", "( a )", row.premise, row.hypothesis, "1.jpg", row.label or "", ""] for row in ROWS]
    path.write_text("".join("\t".join(row) + "\n" for row in [head, *rows]))


def comma_separated(path: Path) -> None:
    quoted = ['"{}","{}",{}'.format(r.premise.replace('"', '""'), r.hypothesis, r.label or "-") for r in ROWS]
    path.write_text("\n".join(["premise,hypothesis,label", *quoted]) + "\n")


def hub_dataset() -> datasets.Dataset:
    """As the Hub has SNLI: labels are numbers, -1 without a gold label, and the schema names them."""
    columns = {
        "premise": [row.premise for row in ROWS],
        "hypothesis": [row.hypothesis for row in ROWS],
        "label": [-1 if row.label is None else NAMES.index(row.label) for row in ROWS],
    }
    text = datasets.Value("string")
    features = datasets.Features(premise=text, hypothesis=text, label=datasets.ClassLabel(names=NAMES))
    return datasets.Dataset.from_dict(columns, features=features)


@pytest.mark.parametrize(("name", "write"), [("a.jsonl", jsonl), ("a.txt", txt), ("a.csv", comma_separated)])
def test_formats_read_alike(folder: Path, name: str, write: Callable[[Path], None]) -> None:
    write(folder / name)
    (source,) = nli_sources([name], folder)
    assert rows_of(source) == ROWS


def test_a_hub_dataset_names_its_labels(folder: Path) -> None:
    (folder / "snli").mkdir()
    hub_dataset().to_parquet(str(folder / "snli" / "train.parquet"))
    (source,) = nli_sources(["hf:./snli"], folder)
    assert rows_of(source) == ROWS


def test_entailed_pairs_and_why_the_others_are_none(augment: Augment, folder: Path) -> None:
    txt(folder / "a.txt")
    jsonl(folder / "b.jsonl")
    extra = [("A cat.", "", "entailment"), (" A cat. ", "An animal.", "entailment"), ("A.", "B.", "maybe")]
    with (folder / "b.jsonl").open("a") as more:
        for one, two, label in extra:
            more.write(json.dumps({"sentence1": one, "sentence2": two, "gold_label": label}) + "\n")
    done = augment("build-pairs", "a.txt", "b.jsonl", "--pairs", "entailment", "--rejects", "no.arrow", "--json")
    counts = json.loads(done.out)
    assert (counts["rows"], counts["pairs"]) == (11, 2)
    assert counts["parts"] == {"a.txt": 1, "b.jsonl": 1}
    assert counts["dropped"] == {
        "another gold label": 1,
        "empty premise or hypothesis": 1,
        "exact duplicate": 1,
        "gold label contradiction": 2,
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
    assert datasets.Dataset.from_file("no.arrow").num_rows == 9
    assert not Path("data/sentences").exists()
    assert "| no gold label | 2 |" in Path("data/pairs.card.md").read_text()


def test_limit_counts_rows_of_the_corpus(augment: Augment, folder: Path) -> None:
    txt(folder / "a.txt")
    counts = json.loads(augment("build-pairs", "a.txt", "--pairs", "entailment", "--limit", 2, "--json").out)
    assert (counts["rows"], counts["pairs"]) == (2, 1)


BAD: list[tuple[str, bytes, int, str]] = [
    ("none.tsv", b"gold_label\tsentence1\tsentence2\nneutral\ta\tb\n", 1, "no pair is left of 1 rows (gold label neut"),
    ("columns.tsv", b"text\tlabel\na\tb\n", 2, "columns.tsv has no premise column (sentence1 or premise or ori_sent"),
    ("half.csv", b"premise,label\na,entailment\n", 2, "half.csv has no hypothesis column"),
    ("label.csv", b"premise,hypothesis\na,b\n", 2, "label.csv has no label column (gold_label or label), only 'pre"),
    ("bad.jsonl", b"{broken\n", 2, "bad.jsonl: its first line is not a JSON object"),
    ("list.jsonl", b"[1]\n", 2, "list.jsonl: its first line is not a JSON object"),
    ("numbers.csv", b"premise,hypothesis,label\na,b,0\n", 2, "numbers.csv: the label '0' is a number without a name"),
    ("some.parquet", b"PAR1", 2, "some.parquet is a parquet file: give e.g. snli_1.0_train.jsonl"),
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
