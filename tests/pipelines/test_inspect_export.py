"""Looking into datasets and taking them elsewhere."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.inspect import word_diff

Augment = Callable[..., Any]


@pytest.fixture
def made(augment: Augment, lines: Path) -> Augment:
    augment("span-mask", lines, "--shard-size", 16)
    augment("build-pairs", "--pairs", "original", "--view", "span-mask")
    return augment


@pytest.mark.parametrize(
    ("path", "kind", "count"),
    [
        ("data/sentences", "sentences", ("kept", 60)),
        ("data/views/span-mask", "view", ("rows", 60)),
        ("data/pairs.arrow", "pairs", ("pairs", 60)),
    ],
)
def test_inspect_tells_kind_counts_and_sample(made: Augment, path: str, kind: str, count: tuple[str, int]) -> None:
    seen = json.loads(made("inspect", path, "--rows", 7, "--json").out)
    assert (seen["kind"], seen["rows"], len(seen["sample"])) == (kind, 60, 7)
    assert seen["counts"][count[0]] == count[1]
    assert len({row["id"] for row in seen["sample"]}) == 7
    shown = made("inspect", path, "--rows", 7)
    assert shown.code == 0
    assert all(row["id"] in shown.out for row in seen["sample"])


def test_inspect_marks_the_changed_words(made: Augment) -> None:
    assert "{+[MASK]" in made("inspect", "data/views/span-mask", "--rows", 60).out


@given(st.text(), st.text())
def test_word_diff_without_its_marks_is_either_side(old: str, new: str) -> None:
    marks = ("[-", "-]", "{+", "+}")
    if any(sign in old + new for sign in "[]{}-+"):
        return
    shown = word_diff(old, new)
    before, after = "", ""
    side = ""
    at = 0
    while at < len(shown):
        pair = shown[at : at + 2]
        if pair in marks:
            side = {"[-": "old", "{+": "new"}.get(pair, "")
            at += 2
            continue
        before += shown[at] if side in ("", "old") else ""
        after += shown[at] if side in ("", "new") else ""
        at += 1
    assert (before, after) == (old, new)


@pytest.mark.parametrize("path", ["data/sentences", "data/views/span-mask", "data/pairs.arrow"])
@pytest.mark.parametrize("to", ["parquet", "jsonl", "csv"])
def test_export_holds_the_same_rows(made: Augment, path: str, to: str) -> None:
    done = made("export", path, "--to", to)
    assert done.code == 0
    target = Path(f"{path.removesuffix('.arrow')}.{to}")
    rows = (
        datasets.Dataset.from_file(path).to_list()
        if path.endswith("arrow")
        else datasets.load_from_disk(path).to_list()
    )
    if to == "parquet":
        assert pq.read_table(target).to_pylist() == rows
    elif to == "jsonl":
        assert [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()] == rows
    else:
        with target.open(newline="", encoding="utf-8") as stream:
            assert [(row["id"], row["text"]) for row in csv.DictReader(stream)] == [(r["id"], r["text"]) for r in rows]
    refused = made("export", path, "--to", to)
    assert refused.code == 2
    assert "exists" in refused.err
    assert made("export", path, "--to", to, "--limit", 5, "--overwrite").out.startswith("5 rows")


def test_an_exported_dataset_can_be_ingested_again(made: Augment) -> None:
    made("export", "data/sentences", "--to", "parquet")
    assert made("ingest", "data/sentences.parquet", "--out", "again").code == 0
    again, first = (datasets.load_from_disk(path).to_list() for path in ("again", "data/sentences"))
    assert again == first
