"""Pairs of columns, neighbours and labels: which texts make one, with and without views, and what is refused."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import chain, combinations
from pathlib import Path
from typing import cast

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from foreigners import Augment, is_refused, rows_of

from pipelines.pairs import row_pairs
from pipelines.pairs.row_pairs import _neighbours
from pipelines.storage.dataset import Dataset

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
        "no.arrow",
    ]
    counts = json.loads(augment(*build, "--json").out)
    assert (counts["rows"], counts["pairs"]) == (5, 2)
    assert counts["dropped"] == {"empty question or answer": 2, "exact duplicate": 1}
    assert sides() == [FAQ[0], FAQ[1]]
    assert {(row["view_a_name"], row["view_b_name"]) for row in rows_of("data/pairs.arrow")} == {
        ("question", "answer")
    }
    assert len(rows_of("no.arrow")) == 3
    assert not Path("data/sentences").exists()
    assert "nothing done" in augment("build-pairs", "--config", "data/pairs.recipe.json").out
    assert augment("verify", "data").code == 0


def test_a_body_that_repeats_itself_is_no_failed_view_of_its_title(augment: Augment) -> None:
    body = "As the manual says, as the manual says."
    Path("t.csv").write_text(f'title,body\nManual,"{body}"\n')
    build = ["build-pairs", "t.csv", "--pairs", "columns", "--columns", "title,body", "--filter", "repetition"]
    assert augment(*build).code == 0
    augment("ingest", "t.csv", "--column", "title", "--pair-column", "body")
    assert augment("build-pairs", "--pairs", "columns", "--filter", "repetition", "--out", "b.arrow").code == 0
    assert sides("data/pairs.arrow") == sides("b.arrow") == [("Manual", body)]


def test_sentences_are_paired_with_their_second_texts(augment: Augment) -> None:
    WRITERS["faq.csv"](Path("faq.csv"))
    augment("ingest", "faq.csv", "--column", "question", "--pair-column", "answer")
    counts = json.loads(augment("build-pairs", "--pairs", "columns", "--json").out)
    assert (counts["sentences"], counts["pairs"], counts["dropped"]) == (2, 1, {"no second text": 1})
    assert sides() == [FAQ[0]]
    augment("build-pairs", "--pairs", "columns", "--view", "span-mask", "--out", "views.arrow", "--seed", 3)
    (row,) = rows_of("views.arrow")
    view = datasets.load_from_disk("data/views/span-mask")["view"][0]
    assert (row["view_a"], row["view_b"]) == (
        {"original": FAQ[0][0], "span-mask": view}[row["view_a_name"]],
        FAQ[0][1],
    )


MARKDOWN = """
Before any heading. It has two sentences.

# Install

Run the command. Then wait.

Last of this.

# Use

Call it.

# <div>Empty</div>
"""


def test_neighbours_stand_near_each_other_under_one_heading(augment: Augment) -> None:
    Path("page.md").write_text(MARKDOWN)
    Path("notes.txt").write_text("One line. Another\nline.\n\nOne line. End.\n")
    augment("ingest", "page.md", "notes.txt", "--split", "sentences")
    placed = [tuple(row.values())[2:] for row in datasets.load_from_disk("data/sentences")]
    assert placed[:3] == [("page.md", 0, None), ("page.md", 1, None), ("page.md", 2, "Install")]
    assert placed[-3:] == [("notes.txt", 0, None), ("notes.txt", 1, None), ("notes.txt", 3, None)]
    build = ["build-pairs", "--pairs", "neighbours", "--json", "--out"]
    counts = json.loads(augment(*build, "one.arrow").out)
    assert counts["dropped"] == {"no sentence near it": 2}  # the last heading, and "End."
    near = [
        ("Before any heading.", "It has two sentences."),
        *(
            ("Install", "Run the command."),
            ("Run the command.", "Then wait."),
            ("Then wait.", "Last of this."),
        ),
        *(("Use", "Call it."), ("One line.", "Another line.")),
    ]
    assert sides("one.arrow") == near
    augment(*build, "two.arrow", "--distance", 2)
    further = [("Install", "Then wait."), ("Run the command.", "Last of this."), ("Another line.", "End.")]
    assert sorted(sides("two.arrow")) == sorted(near + further)


@pytest.mark.parametrize("distance", [1, 3, 50])
def test_neighbours_do_not_depend_on_how_they_are_read(
    augment: Augment, monkeypatch: pytest.MonkeyPatch, distance: int
) -> None:
    Path("rows.jsonl").write_text(
        "".join(json.dumps({"text": f"A{n}. B{n}. C{n}. D{n}."}) + "\n" for n in range(9))
    )
    augment("ingest", "rows.jsonl", "--split", "sentences", "--shard-size", 7)
    build = ["build-pairs", "--pairs", "neighbours", "--distance", distance, "--out"]
    augment(*build, "whole.arrow")
    expected = {
        (f"{a}{n}.", f"{b}{n}.")
        for n in range(9)
        for a, b in combinations("ABCD", 2)
        if ord(b) - ord(a) <= distance
    }
    assert sorted(sides("whole.arrow")) == sorted(expected)
    monkeypatch.setattr("pipelines.pairs.row_pairs.BLOCK_ROWS", 5)
    augment(*build, "parts.arrow")
    assert Path("parts.arrow").read_bytes() == Path("whole.arrow").read_bytes()


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
    augment("span-mask")
    build = ["build-pairs", "--pairs", "labels", "--view", "span-mask", "--out"]
    augment(*build, "whole.arrow")
    monkeypatch.setattr(row_pairs, "BLOCK_ROWS", 7)
    augment(*build, "parts.arrow")
    assert Path("parts.arrow").read_bytes() == Path("whole.arrow").read_bytes()


def test_each_side_may_be_the_sentence_or_one_of_its_views(augment: Augment) -> None:
    classes = labelled({"a": 20, "b": 20})
    augment("ingest", "labelled.csv")
    augment("span-mask")
    done = augment("build-pairs", "--pairs", "labels", "--view", "span-mask", "--view", "identity", "--json")
    counts = json.loads(done.out)
    view = {row["text"]: row["view"] for row in datasets.load_from_disk("data/views/span-mask")}
    texts = {
        text: {"original": text, "identity": text, "span-mask": view.get(text)}
        for text in chain(*classes.values())
    }
    rows = rows_of("data/pairs.arrow")
    names = Counter((row["view_a_name"], row["view_b_name"]) for row in rows)
    assert len(names) == 9
    for row in rows:
        assert row["view_a"] == texts[row["text"]][row["view_a_name"]]
        assert any(row["view_b"] == texts[text][row["view_b_name"]] for text in classes[row["label"]])
    assert counts["pairs"] == 160
    assert counts["kept"]["identity left it unchanged"] == sum(
        (a == "identity") + (b == "identity") for a, b in names.elements()
    )


BAD: list[tuple[str, list[str], list[str], str]] = [
    ("text\na\nb\n", [], ["labels"], "has no labels"),
    ("text,label\na,x\nb,x\n", [], ["labels"], "have the label 'x'"),
    ("text,label\na,x\nb,y\n", [], ["labels"], "no two sentences"),
    ('text,label\na,"[""x"", ""y""]"\nb,"[""x"", ""y""]"\nc,z\n', [], ["labels"], "is a list"),
    ("text,label\na,\"['x', 'y']\"\nb,\"['x', 'y']\"\nc,z\n", [], ["labels"], "is a list"),
    ("text,label\na,entailment\nb,neutral\nc,neutral\n", [], ["labels"], "of an NLI corpus"),
    ("text,label\na,x\nb,x\n", [], ["neighbours"], "where its sentences stand"),
    ("text,label\na,x\nb,x\n", [], ["columns"], "has no second texts"),
    ("text,pair,label\na,b,entailment\nc,d,neutral\n", [], ["columns"], "of an NLI corpus"),
    ("text,label\na,x\nb,x\n", [], ["labels", "--distance", "2"], "--distance needs --pairs neighbours"),
    ("text,label\na,x\nb,x\n", [], ["labels", "--alternatives"], "takes the first text of a view"),
    ("text,label\na,x\nb,x\n", [], ["columns", "--seed", "2"], "draws nothing"),
    ("text,label\na,x\nb,x\n", [], ["columns", "--columns", "text,label"], "are of a table"),
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
    ("t.csv", "title,body\na,b\n", "title", "write the names of two columns"),
    ("t.csv", "title,body\na,b\n", "title,title", "write the names of two columns"),
    (
        "t.jsonl",
        '{"translation": {"de": "a", "en": "b"}}\n',
        "de,en",
        "no column 'de', 'en', only 'translation'",
    ),
    ("t.jsonl", '{"a": "x", "b": ["y"]}\n', "a,b", "'b' is ['y'], of type list, not text"),
    (
        "nli.tsv",
        "gold_label\tsentence1\tsentence2\nneutral\ta\tb\n",
        "sentence1,sentence2",
        "see --pairs entailment",
    ),
    ("q.csv", "question,text,label\na,b,not_entailment\n", "question,text", "see --pairs entailment"),
    ("t.txt", "a\n", "a,b", "t.txt has no column 'b', only 'a'"),
]


@pytest.mark.parametrize(("name", "content", "columns", "expected"), TABLES)
def test_a_table_that_does_not_fit_is_one_line(
    augment: Augment, name: str, content: str, columns: str, expected: str
) -> None:
    Path(name).write_text(content)
    is_refused(augment("build-pairs", name, "--pairs", "columns", "--columns", columns), expected)
    for policy in ("columns", "neighbours"):
        is_refused(augment("build-pairs", name, "--pairs", policy), "needs more than the sentences")
    assert not Path("data").exists()


def test_an_empty_column_is_counted_and_nothing_is_written(augment: Augment) -> None:
    Path("t.csv").write_text("title,body\na,\nb,\n")
    done = augment("build-pairs", "t.csv", "--pairs", "columns", "--columns", "title,body")
    assert (done.code, "no pair is left of 2 rows (empty title or body: 2)" in done.err) == (1, True)
    assert not Path("data/pairs.arrow").exists()


def test_a_sentence_that_stands_before_the_row_above_it_is_no_neighbour() -> None:
    class Sentences:
        def read(self, start: int, stop: int) -> pa.Table:
            table = pa.table({"document": ["a"] * 4, "position": pa.array([5, 6, 0, 1], pa.int32())})
            return table.slice(start, stop - start)

    pairs = [
        (left.tolist(), right.tolist()) for left, right, _ in _neighbours(cast(Dataset, Sentences()), 4, 2)
    ]
    assert pairs == [([0, 2], [1, 3])]
