"""Pairs of columns and of labels: which texts make one, and what is refused."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from foreigners import Augment, is_refused, rows_of

FAQ = [
    ("How do I pay?", "By card or in cash, at the desk."),
    ("How do I pay?", "Online."),
    ("Where is it?", ""),
    ("  How do I pay? ", "Online."),
    ("", "Nobody asked."),
]


def sides(path: str = "data/pairs.arrow") -> list[tuple[str, str]]:
    return [(row["view_a"], row["view_b"]) for row in rows_of(path)]


def labelled(sizes: dict[str, int]) -> dict[str, list[str]]:
    """A file `labelled.csv` with as many sentences of each label, one label after another; returns them by label."""
    classes = {
        label: [f"Sentence {n} of {label or 'none'}." for n in range(size)] for label, size in sizes.items()
    }
    lines = [f"{text},{label}" for label, texts in classes.items() for text in texts]
    Path("labelled.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    return classes


WRITERS: dict[str, Callable[[Path], None]] = {
    "faq.csv": lambda path: path.write_text(
        "answer,question\n" + "".join(f'"{body}","{title}"\n' for title, body in FAQ)
    ),
    "faq.jsonl": lambda path: path.write_text(
        "".join(
            json.dumps({"question": title, "id": 1, **({"answer": body} if body else {"answer": None})}) + "\n"
            for title, body in FAQ
        )
    ),
    "faq.parquet": lambda path: pq.write_table(
        pa.table({"question": [title for title, _ in FAQ], "answer": [body for _, body in FAQ]}), path
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_two_columns_of_a_table_are_pairs(augment: Augment, name: str) -> None:
    WRITERS[name](Path(name))
    build = [
        "build-pairs",
        name,
        "--pairs",
        "columns",
        "--columns",
        "question,answer",
        "--rejects",
    ]
    counts = json.loads(augment(*build, "--json").out)
    assert (counts["rows"], counts["pairs"]) == (5, 2)
    assert counts["dropped"] == {"empty question or answer": 2, "exact duplicate": 1}
    assert sides() == [FAQ[0], FAQ[1]]
    assert {(row["view_a_name"], row["view_b_name"]) for row in rows_of("data/pairs.arrow")} == {
        ("question", "answer")
    }
    assert len(rows_of("data/pairs.rejects.arrow")) == 3
    assert not Path("data/sentences").exists()
    assert "nothing done" in augment("build-pairs", "--config", "data/pairs.recipe.json").out
    assert augment("verify", "data").code == 0


def test_a_third_column_is_the_negative(augment: Augment) -> None:
    """Triplets that differ in their negative alone are several, and one may have none."""
    rows = ["q,p,n", "q,p,m", "q,p,n", "r,s,", ",p,n", "q,p,q", "q,o,o"]
    Path("t.csv").write_text("\n".join(["anchor,positive,negative", *rows]))
    build = ("build-pairs", "t.csv", "--pairs", "columns", "--columns")
    counts = json.loads(augment(*build, "anchor,positive,negative", "--json").out)
    empty, own = "empty anchor or positive", "negative identical to its pair"
    assert counts["dropped"] == {"exact duplicate": 1, empty: 1, own: 2}
    triplets = [(row["view_a"], row["view_b"], row["negative"]) for row in rows_of("data/pairs.arrow")]
    assert triplets == [("q", "p", "n"), ("q", "p", "m"), ("r", "s", None)]
    named = augment(*build, "negative,positive,anchor", "--out", "named.arrow")
    assert (named.code, rows_of("named.arrow")[1]["negative"]) == (0, "q")
    assert augment(*build, "anchor,positive", "--out", "two.arrow").code == 0
    assert "negative" not in rows_of("two.arrow")[0]


def test_a_body_that_repeats_itself_is_no_failed_view_of_its_title(augment: Augment) -> None:
    body = "As the manual says, as the manual says."
    Path("t.csv").write_text(f'title,body\nManual,"{body}"\n')
    build = ["build-pairs", "t.csv", "--pairs", "columns", "--columns", "title,body", "--filter", "repetition"]
    assert augment(*build).code == 0
    assert sides("data/pairs.arrow") == [("Manual", body)]


def test_labels_pair_as_many_sentences_of_each_label_by_the_seed(augment: Augment) -> None:
    classes = labelled({"big": 40, "small": 5, "four": 4, "one": 1, "": 2})
    augment("ingest", "labelled.csv")
    counts = json.loads(augment("build-pairs", "--pairs", "labels", "--per-sentence", 2, "--json").out)
    # 2 x 49 sentences / 3 labels = 33 pairs each; five sentences have 10, four have 6.
    assert counts["dropped"] == {"no label": 2, "no other sentence has its label": 1}
    rows = rows_of("data/pairs.arrow")
    assert Counter(row["label"] for row in rows) == {"big": 33, "small": 10, "four": 6}
    assert all({row["view_a"], row["view_b"]} <= set(classes[row["label"]]) for row in rows)
    assert len({frozenset(pair) for pair in sides()}) == counts["pairs"] == 49
    uses = Counter(text for pair in sides() for text in pair)
    assert {uses[text] for text in classes["big"]} <= {1, 2}
    assert Counter(row["label"] for row in rows[:12]) == {"big": 4, "small": 4, "four": 4}
    again = ["build-pairs", "--pairs", "labels", "--per-sentence", 2, "--out"]
    augment(*again, "two.arrow", "--workers", 2)
    assert Path("two.arrow").read_bytes() == Path("data/pairs.arrow").read_bytes()
    augment(*again, "other.arrow", "--seed", 1)
    assert sorted(sides("other.arrow")) != sorted(sides())
    is_refused(augment(*again[:-1], "--seed", 1), "(--seed 0, not 1)")
    assert augment("build-pairs", "--config", "data/pairs.recipe.json").out.count("nothing done") == 1
    assert augment("verify", "data").code == 0


def test_pairs_of_labels_do_not_depend_on_how_they_are_made(
    augment: Augment, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled({"a": 30, "b": 20, "c": 25})
    augment("ingest", "labelled.csv", "--shard-size", 8)
    build = ["build-pairs", "--pairs", "labels", "--out"]
    augment(*build, "whole.arrow")
    monkeypatch.setattr("pipelines.pairs.pair.BLOCK_ROWS", 7)
    augment(*build, "parts.arrow")
    assert Path("parts.arrow").read_bytes() == Path("whole.arrow").read_bytes()


BAD: list[tuple[str, list[str], list[str], str]] = [
    ("text\na\nb\n", [], ["labels"], "has no labels"),
    ("text,label\na,x\nb,x\n", [], ["labels"], "have one label"),
    ("text,label\na,x\nb,y\n", [], ["labels"], "no two sentences"),
    ("text,label\na,x\nb,x\n", [], ["columns"], "needs a table as SOURCE, and --columns"),
    ("text,label\na,x\nb,x\n", [], ["self", "--per-sentence", "2"], "--per-sentence needs --pairs labels"),
    ("text,label\na,x\nb,x\n", [], ["labels", "--view", "repeat"], "pairs labels take no views, not 1"),
    ("text,label\na,x\nb,x\n", [], ["columns", "--seed", "2"], "draws nothing"),
    ("text,label\na,x\nb,x\n", [], ["columns", "--columns", "text,label"], "needs a table as SOURCE"),
]


@pytest.mark.parametrize(("content", "ingest", "policy", "expected"), BAD)
def test_sentences_that_do_not_fit_are_one_line(
    augment: Augment, content: str, ingest: list[str], policy: list[str], expected: str
) -> None:
    Path("t.csv").write_text(content)
    assert augment("ingest", "t.csv", *ingest).code == 0
    is_refused(augment("build-pairs", "--pairs", *policy), expected)
    assert not Path("data/pairs.arrow").exists()


TABLES: list[tuple[str, str, str, str]] = [
    ("t.csv", "title,body\na,b\n", "title,text", "t.csv has no column 'text', only 'title', 'body'"),
    ("t.csv", "title,body\na,b\n", "title", "write the names of columns, LEFT,RIGHT or LEFT,RIGHT,NEGATIVE"),
    (
        "t.csv",
        "title,body\na,b\n",
        "title,title",
        "write the names of columns, LEFT,RIGHT or LEFT,RIGHT,NEGATIVE",
    ),
    (
        "t.jsonl",
        '{"translation": {"de": "a", "en": "b"}}\n',
        "de,en",
        "no column 'de', 'en', only 'translation'",
    ),
    ("t.csv", "title,body\na,b\n", "title,body,no", "t.csv has no column 'no', only 'title', 'body'"),
    ("t.csv", "a,b,c,d\nw,x,y,z\n", "a,b,c,d", "write the names of columns, LEFT,RIGHT or"),
    ("t.jsonl", '{"a": "x", "b": "y", "c": ["z"]}\n', "a,b,c", "'c' is ['z'], of type list, not text"),
    ("t.jsonl", '{"a": "x", "b": ["y"]}\n', "a,b", "'b' is ['y'], of type list, not text"),
    (
        "nli.tsv",
        "gold_label\tsentence1\tsentence2\nneutral\ta\tb\n",
        "sentence1,sentence2",
        "see --pairs entailment",
    ),
    ("t.txt", "a\n", "a,b", "t.txt has no column 'b', only 'a'"),
]


@pytest.mark.parametrize(("name", "content", "columns", "expected"), TABLES)
def test_a_table_that_does_not_fit_is_one_line(
    augment: Augment, name: str, content: str, columns: str, expected: str
) -> None:
    Path(name).write_text(content)
    is_refused(augment("build-pairs", name, "--pairs", "columns", "--columns", columns), expected)
    is_refused(augment("build-pairs", name, "--pairs", "columns"), "--columns LEFT,RIGHT of it")
    assert not Path("data").exists()


def test_an_empty_column_is_counted_and_nothing_is_written(augment: Augment) -> None:
    Path("t.csv").write_text("title,body\na,\nb,\n")
    done = augment("build-pairs", "t.csv", "--pairs", "columns", "--columns", "title,body")
    assert (done.code, "no pair is left of 2 rows (empty title or body: 2)" in done.err) == (1, True)
    assert not Path("data/pairs.arrow").exists()
