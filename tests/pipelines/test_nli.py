"""Pairs and negatives from NLI corpora in their own formats, and hard negatives that an encoder finds."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from foreigners import Augment, is_refused, rows_of, write_pairs

from augment.meaning.judge import sentence_encoder
from augment.models.weights import STARTER_ENCODER, find_encoder
from pipelines.outputs.verify import verify
from pipelines.pairs.nli import NliRow, nli_rows, nli_sources
from pipelines.storage.pair_files import read_pairs

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
    rows = [[row.label or "-", "( a )", row.premise, row.hypothesis, "1.jpg", row.label or "", ""] for row in ROWS]
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
    assert list(nli_rows(found)) == ROWS


def test_a_dataset_of_the_hub_is_loaded_once(folder: Path) -> None:
    hub_dataset(folder / "once")
    (source,) = nli_sources([f"hf:{folder / 'once'}"], folder)
    (folder / "once" / "train.parquet").unlink()
    assert list(nli_rows(source)) == ROWS


def test_entailed_rows_become_pairs_and_others_have_a_reason(augment: Augment, folder: Path) -> None:
    txt(folder / "a.txt")
    jsonl(folder / "b.jsonl")
    extra = [("A cat.", "", "entailment"), (" A cat. ", "An animal.", "entailment"), ("A.", "B.", "maybe")]
    with (folder / "b.jsonl").open("a") as more:
        for one, two, label in extra:
            more.write(json.dumps({"sentence1": one, "sentence2": two, "gold_label": label}) + "\n")
    done = augment("build-pairs", "a.txt", "b.jsonl", "--pairs", "entailment", "--rejects", "no.arrow", "--json")
    counts = json.loads(done.out)
    assert (counts["rows"], counts["pairs"]) == (11, 2)
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
    limited = augment("build-pairs", "a.txt", "--pairs", "entailment", "--limit", 2, "--out", "two.arrow", "--json")
    assert (json.loads(limited.out)["rows"], json.loads(limited.out)["pairs"]) == (2, 1)


BAD: list[tuple[str, bytes, int, str]] = [
    ("none.tsv", b"gold_label\tsentence1\tsentence2\nneutral\ta\tb\n", 1, "no pair is left of 1 rows (gold label neut"),
    ("columns.tsv", b"text\tlabel\na\tb\n", 2, "columns.tsv has no premise column (sentence1 or premise or ori_sent"),
    ("half.csv", b"premise,label\na,entailment\n", 2, "half.csv has no hypothesis column"),
    ("label.csv", b"premise,hypothesis\na,b\n", 2, "label.csv has no label column (gold_label or label), only 'pre"),
    ("numbers.csv", b"premise,hypothesis,label\na,b,0\n", 2, "numbers.csv: the label '0' is a number without a name"),
    ("some.md", b"# Title", 2, "some.md is a markdown file: give e.g. snli_1.0_train.jsonl"),
    ("keys.jsonl", b'{"premise": "a", "label": "b"}\n', 2, "keys.jsonl has no hypothesis column (sentence2 or"),
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
    assert "--negatives needs --pairs entailment, not bsl" in augment("build-pairs", "--negatives").err
    is_refused(augment("build-pairs", "nli.jsonl", "--pairs", "entailment", "--seed", 1), "makes no views")


def test_a_look_and_an_export_know_negatives(augment: Augment, folder: Path) -> None:
    jsonl(folder / "nli.jsonl", NLI)
    augment("build-pairs", "nli.jsonl", "--pairs", "entailment", "--negatives")
    found = json.loads(augment("inspect", "data/pairs.arrow", "--json").out)["statistics"]
    assert found["shares"]["have a negative"] == [3, 4]
    assert (found["measures"]["chrF, negative ~ a"]["n"], found["values"]) == (3, {})
    assert "  negative    Nobody plays.\n" in augment("inspect", "data/pairs.arrow").out
    assert "have a negative" in Path("data/pairs.report.html").read_text()
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


@pytest.fixture
def pairs(augment: Augment, folder: Path) -> Augment:
    (folder / "lines.txt").write_text("\n".join(SENTENCES) + "\n")
    assert augment("build-pairs", "lines.txt", "--pairs", "self").code == 0
    return augment


def test_mined_negatives_are_the_closest_texts_of_others(pairs: Augment) -> None:
    vectors = sentence_encoder(STARTER_ENCODER, "cpu").encode(SENTENCES, normalize_embeddings=True)
    cosines = vectors @ vectors.T
    for skip, margin in ((0, 0.0), (2, 0.0), (0, 0.3)):
        out = Path(f"{skip}-{margin}.arrow")
        options = ["--skip", skip, "--within", skip + 1, "--margin", margin, "--out", out]
        assert pairs("mine-negatives", "data/pairs.arrow", *options).code == 0
        for number, row in enumerate(rows_of(str(out))):
            others = [n for n in cosines[number].argsort()[::-1] if n != number and cosines[number, n] <= 1 - margin]
            assert row["negative"] == (SENTENCES[others[skip]] if len(others) > skip else None)


def test_mined_pairs_follow_from_their_recipe_and_are_verified(pairs: Augment) -> None:
    out = Path("data/pairs.negatives.arrow")
    done = pairs("mine-negatives", "data/pairs.arrow", "--seed", 3, "--json")
    assert done.code == 0, done.err
    first = out.read_bytes()
    assert "nothing done" in pairs("mine-negatives", "data/pairs.arrow", "--seed", 3).out
    assert "(--seed 3, not 4)" in pairs("mine-negatives", "data/pairs.arrow", "--seed", 4).err
    assert pairs("mine-negatives", "data/pairs.arrow", "--seed", 4, "--overwrite").code == 0
    assert out.read_bytes() != first
    again = pairs("mine-negatives", "--config", "data/pairs.negatives.recipe.json", "--out", "again.arrow")
    assert again.code == 0, again.err
    assert Path("again.arrow").read_bytes() == out.read_bytes()
    recipe = json.loads(Path("data/pairs.negatives.recipe.json").read_text())
    assert recipe["revision"] == find_encoder("starter").revision
    assert set(verify([Path("data")]).values()) == {None}
    assert out in verify([Path("data")])
    out.unlink()
    assert verify([Path("data")])[out] == "missing"


def test_negatives_that_are_there_stay_and_others_are_found(augment: Augment, folder: Path) -> None:
    jsonl(folder / "nli.jsonl", NLI)
    augment("build-pairs", "nli.jsonl", "--pairs", "entailment", "--negatives")
    mine = ["mine-negatives", "data/pairs.arrow", "--margin", -2, "--within", 1]
    assert augment(*mine).code == 0
    *kept, found = [row["negative"] for row in rows_of("data/pairs.negatives.arrow")]
    assert kept == ["Nobody plays.", "A man sleeps.", "Nobody plays."]
    assert found in {"Someone plays.", "A person plays.", "A human plays."}
    assert augment(*mine, "--limit", 2, "--out", "two.arrow").code == 0
    assert len(rows_of("two.arrow")) == 2


@pytest.mark.parametrize("blank", [None, ""])
def test_pairs_without_their_sentence_are_told_apart_by_view_a(augment: Augment, blank: str | None) -> None:
    views = [*pairwise(SENTENCES), (SENTENCES[0], "A man sings.")]
    path = write_pairs(views, text=pa.array([blank] * len(views), pa.string()))
    done = augment("mine-negatives", path, "--margin", -2, "--within", 1)
    assert done.code == 0, done.err
    made = rows_of("other.negatives.arrow")
    assert all(row["negative"] not in (None, row["view_a"], row["view_b"]) for row in made)
    # Both pairs of the first sentence may have neither's view.
    assert not {made[0]["negative"], made[-1]["negative"]} & {SENTENCES[1], "A man sings."}


def test_a_dry_run_and_mistakes_write_nothing(pairs: Augment) -> None:
    before = sorted(Path().rglob("*"))
    preview = json.loads(pairs("mine-negatives", "data/pairs.arrow", "--dry-run", "--json").out)
    assert (preview["pairs"], preview["out"]) == (len(SENTENCES), "data/pairs.negatives.arrow")
    for arguments, expected in (
        (["none.arrow"], "no pairs at 'none.arrow'"),
        (["data/pairs.arrow", "--encoder", "/nowhere"], "--encoder /nowhere: no such folder"),
        (["data/pairs.arrow", "--revision", "0123456789ab"], "its revision is"),
        (["data/pairs.arrow", "--skip", 10], "--skip 10 leaves nothing --within 10"),
        (["data/pairs.arrow", "--out", "data/pairs.arrow"], "is what the pairs are made from"),
    ):
        is_refused(pairs("mine-negatives", *arguments), expected)
    Path("n.arrow").write_text("mine")
    is_refused(pairs("mine-negatives", "data/pairs.arrow", "--out", "n.arrow"), "n.arrow has no recipe of its own")
    Path("n.arrow").unlink()
    assert sorted(Path().rglob("*")) == before
