"""Labelled spans of characters travel from a source through a view."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS: list[tuple[str, Any]] = [
    ("  Anna met Bo in New York yesterday evening.", [[2, 6, "PER"], [11, 13, "PER"], [17, 25, "LOC"]]),
    ("Nothing happened in the old town today.", []),
    ("Cafe\u0301 Müller opened again.", [[0, 12, "ORG"]]),
]


def objects(spans: list[list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(("start", "end", "label"), span, strict=True)) for span in spans]


def write(form: str) -> str:
    path = Path(f"ner.{form}")
    if form == "jsonl":
        path.write_text("".join(json.dumps({"text": text, "label": spans}) + "\n" for text, spans in ROWS))
    elif form == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *((text, json.dumps(spans)) for text, spans in ROWS)])
    else:
        columns = {"text": [text for text, _ in ROWS], "label": [objects(spans) for _, spans in ROWS]}
        pq.write_table(pa.table(columns), path)
    return str(path)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_spans_go_from_a_source_through_a_view(augment: Callable[..., Any], form: str) -> None:
    assert augment("ingest", write(form), "--labels", "spans").code == 0
    sentences = datasets.load_from_disk("data/sentences").to_list()
    there = [[(row["text"][each["start"] : each["end"]], each["label"]) for each in row["spans"]] for row in sentences]
    assert there == [[("Anna", "PER"), ("Bo", "PER"), ("New York", "LOC")], [], [("Café Müller", "ORG")]]
    done = augment("repeat", "--rate", "1", "--seed", "2")
    assert done.code == 0, done.err
    for row in datasets.load_from_disk("data/views/repeat").to_list():
        before = next(each for each in sentences if each["id"] == row["id"])["spans"]
        for old, new in zip(before, row["spans"], strict=True):
            name = row["text"][old["start"] : old["end"]].split()
            assert list(dict.fromkeys(row["view"][new["start"] : new["end"]].split())) == name
        assert row["spans_lost"] == 0
    assert json.loads(Path("data/views/repeat/counts.json").read_text())["spans"] == {"carried": 4, "lost": 0}


def test_what_could_not_be_carried_is_counted(augment: Callable[..., Any]) -> None:
    augment("ingest", write("jsonl"), "--labels", "spans")
    done = augment("span-mask", "--length", "3", "--unit", "word", "--seed", "1")
    assert done.code == 0, done.err
    rows = datasets.load_from_disk("data/views/span-mask").to_list()
    lost = sum(row["spans_lost"] for row in rows)
    assert 0 < lost < 4
    assert sum(len(row["spans"]) for row in rows) == 4 - lost
    card = Path("data/views/span-mask/card.md").read_text()
    assert f"| carried | {4 - lost} |\n| lost | {lost} |" in card
    assert str(lost) in augment("inspect", "data/views/span-mask").out
    # A view that rewrites the text whole carries none.
    augment("backtranslate", "--pivot", "de")
    counts = json.loads(Path("data/views/backtranslate-de/counts.json").read_text())
    assert counts["spans"] == {"carried": 0, "lost": 4}


@pytest.mark.parametrize("name", ["plain.txt", "other.csv", "other.jsonl", "other.parquet"])
def test_a_source_without_the_column_of_spans_is_one_line(augment: Callable[..., Any], folder: Path, name: str) -> None:
    (folder / "plain.txt").write_text("Anna met Bo.\n")
    (folder / "other.csv").write_text("text,tags\nAnna met Bo.,[]\n")
    (folder / "other.jsonl").write_text('{"text": "Anna met Bo.", "tags": []}\n')
    pq.write_table(pa.table({"text": ["Anna met Bo."], "tags": ["[]"]}), folder / "other.parquet")
    for options in ([], ["--limit", "4"], ["--dry-run"]):
        done = augment("ingest", write("jsonl"), name, "--labels", "spans", *options)
        expected = f"error: {name} has no spans in a column 'label': give --label-column\n"
        assert (done.code, done.err) == (2, expected)
    assert not Path("data/sentences").exists()
    if name != "plain.txt":
        assert augment("ingest", name, "--labels", "spans", "--label-column", "tags").code == 0


def test_a_source_without_rows_needs_no_spans(augment: Callable[..., Any], folder: Path) -> None:
    (folder / "header.csv").write_text("text,label\n")
    assert augment("ingest", "header.csv", write("jsonl"), "--labels", "spans").code == 0


@pytest.mark.parametrize(
    "label",
    [
        *("[[0, 9, 'X']]", '[[0, 99, "X"]]', '[[2, 2, "X"]]', '[[0.0, 2, "X"]]', "7", "[[0, 4]]", '[[4, 5, "X"]]'),
        *("[[0, 5, null]]", "[[0, 5, true]]", "[[0, 5, 1.5]]", '[[0, 5, ["X"]]]'),
    ],
)
def test_spans_that_are_none_are_one_line(augment: Callable[..., Any], folder: Path, label: str) -> None:
    rows = [{"text": "Anna.", "label": [[0, 4, 7]]}, {"text": ""}, {"text": "Cafe\u0301 Müller", "label": label}]
    (folder / "ner.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "first.jsonl").write_text(json.dumps({"text": "Bo.", "label": []}) + "\n")
    done = augment("ingest", "first.jsonl", "ner.jsonl", "--labels", "spans")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert done.err.startswith(
        f"error: ner.jsonl: row 3: {label!r} does not list spans of 'Café Müller': write [[start, end,"
    )
    assert augment("ingest", "first.jsonl", "ner.jsonl", "--labels", "spans", "--limit", 2).code == 0
    assert datasets.load_from_disk("data/sentences")[1]["spans"] == [{"start": 0, "end": 4, "label": "7"}]
