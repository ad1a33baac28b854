"""Mixtures: proportions, order, columns, and what cannot be mixed."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from foreigners import rows_of
from hypothesis import given
from hypothesis import strategies as st

from pipelines.pairing.mixture import Ingredient, shares
from pipelines.pairs import PAIR_COLUMNS, read_pairs

Augment = Callable[..., Any]


def make_pairs(path: str, rows: int, **more: Sequence[object]) -> None:
    """A file of pairs with numbered texts."""
    text = [f"{Path(path).stem} {number}" for number in range(rows)]
    columns: dict[str, Sequence[object]] = dict.fromkeys(PAIR_COLUMNS, text)
    table = pa.table({**columns, "view_a_name": ["premise"] * rows, "view_b_name": [path] * rows, **more})
    Path(path).parent.mkdir(exist_ok=True)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


MIX = ["build-pairs", "--pairs", "mixture", "--json", "--mix"]


def test_a_mixture_has_the_weights_proportions(augment: Augment, folder: Path) -> None:
    make_pairs("a.arrow", 100)
    make_pairs("b.arrow", 30)
    counts = json.loads(augment(*MIX, "a.arrow=2", "--mix", "b.arrow=1").out)
    assert counts == {
        "out": "data/pairs.arrow",
        "drawn": 90,
        "pairs": 90,
        "parts": {"a.arrow": 60, "b.arrow": 30},
        "dropped": {},
        "kept": {"the two views are identical": 90},
        "made_now": True,
    }
    rows = rows_of("data/pairs.arrow")
    assert list(rows[0]) == [*PAIR_COLUMNS, "source"]
    assert all(row["source"] == row["view_b_name"] == f"{row['text'].split()[0]}.arrow" for row in rows)
    assert len({row["text"] for row in rows}) == 90
    half = Counter(row["source"] for row in rows[:45])
    assert 20 <= half["a.arrow"] <= 40  # 30 on average, with a standard deviation of 2.2
    for source in ("a.arrow", "b.arrow"):
        numbers = [int(row["text"].split()[1]) for row in rows if row["source"] == source]
        assert numbers == sorted(numbers)
    assert "| a.arrow | weight 2, 60 drawn of 100 |" in Path("data/pairs.card.md").read_text()


def test_a_mixture_follows_from_its_seed(augment: Augment, folder: Path) -> None:
    make_pairs("a.arrow", 100)
    make_pairs("b.arrow", 30)
    parts = ["a.arrow", "--mix", "b.arrow"]
    for seed, out in ((0, "one"), (0, "two"), (1, "three")):
        assert augment(*MIX, *parts, "--seed", seed, "--out", f"{out}.arrow").code == 0
    one, two, three = (Path(f"{name}.arrow").read_bytes() for name in ("one", "two", "three"))
    assert one == two != three
    assert augment("build-pairs", "--config", "three.recipe.json", "--out", "again.arrow").code == 0
    assert Path("again.arrow").read_bytes() == three
    refused = augment(*MIX, *parts, "--out", "one.arrow", "--seed", 1)
    assert "the seed is 0 there and 1 here" in refused.err
    refused = augment(*MIX, "a.arrow", "--mix", "b.arrow=2", "--out", "one.arrow")
    assert "mix is " in refused.err


def test_columns_that_all_parts_have_are_kept(augment: Augment, folder: Path) -> None:
    make_pairs("a.arrow", 5, label=["x"] * 5, chrf=[1.0] * 5, semantic=[0.5] * 5)
    make_pairs("b.arrow", 5, chrf=[2.0] * 5, label=["y"] * 5, semantic=["high"] * 5)
    assert augment(*MIX, "a.arrow", "--mix", "b.arrow").code == 0
    rows = rows_of("data/pairs.arrow")
    assert list(rows[0]) == [*PAIR_COLUMNS, "source", "label", "chrf"]
    assert {(row["source"], row["label"], row["chrf"]) for row in rows} == {("a.arrow", "x", 1), ("b.arrow", "y", 2)}


def test_a_mixture_is_filtered_and_may_hold_folders(augment: Augment, lines: Path) -> None:
    augment("build-pairs", lines, "--pairs", "self", "--shards", 4, "--out", "folder")
    make_pairs("twice.arrow", 60)
    table = read_pairs("folder").data.table
    with pa.ipc.new_stream("same.arrow", table.schema) as writer:
        writer.write_table(table)
    counts = json.loads(
        augment(*MIX, "folder", "--mix", "same.arrow", "--filter", "near-duplicates:threshold=1", "--rejects", "r").out
    )
    assert counts["drawn"] == 120
    assert counts["dropped"]["near-duplicate of an earlier pair"] >= 60
    assert {row["source"] for row in rows_of("r")} == {"folder", "same.arrow"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "--pairs mixture needs files of pairs"),
        (["--mix", "a.arrow=0"], "the weight '0' is no number above 0"),
        (["--mix", "a.arrow=-1"], "the weight '-1' is no number above 0"),
        (["--mix", "a.arrow=nan"], "the weight 'nan' is no number above 0"),
        (["--mix", "a.arrow=much"], "the weight 'much' is no number above 0"),
        (["--mix", "a.arrow=1", "--mix", "a.arrow=2"], "--mix names a.arrow twice"),
        (["--mix", "none.arrow=1"], "no pairs at 'none.arrow'"),
        (["--mix", "empty.arrow"], "--mix empty.arrow holds no pairs"),
        (["--mix", "text.txt"], "text.txt is no Arrow IPC stream"),
        (["--mix", "a.arrow", "--view", "span-mask"], "--pairs mixture takes no --view"),
        (["--mix", "a.arrow", "--out", "a.arrow", "--overwrite"], "--out a.arrow is what the pairs are made from"),
        (["text.txt", "--mix", "a.arrow"], "--pairs mixture takes no SOURCE"),
        (["--pairs", "self", "--mix", "a.arrow"], "--mix belongs to --pairs mixture, not self"),
        (["--pairs", "entailment", "text.txt", "--view", "x"], "--pairs entailment takes no --view"),
    ],
)
def test_a_wrong_mixture_is_one_line(augment: Augment, folder: Path, arguments: Sequence[str], expected: str) -> None:
    make_pairs("a.arrow", 3)
    make_pairs("empty.arrow", 0)
    (folder / "text.txt").write_text("One.\n")
    before = sorted(folder.rglob("*"))
    refused = augment("build-pairs", "--pairs", "mixture", *arguments)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert expected in refused.err
    assert sorted(folder.rglob("*")) == before


@given(
    st.lists(st.tuples(st.integers(1, 500), st.fractions("1/20", 20, max_denominator=20)), min_size=1, max_size=5),
    st.none() | st.integers(1, 400),
)
def test_shares_are_proportional_and_as_large_as_they_can_be(
    sizes: list[tuple[int, Fraction]], limit: int | None
) -> None:
    parts = [Ingredient(str(number), weight, (), rows, "") for number, (rows, weight) in enumerate(sizes)]
    counts = shares(parts, limit)
    whole, total = sum(part.weight for part in parts), sum(counts)
    for part, count in zip(parts, counts, strict=True):
        assert abs(count - total * part.weight / whole) < 1
        assert count <= part.rows
    if limit is None or total < limit:
        assert any((total + 1) * part.weight / whole > part.rows for part in parts)
    else:
        assert total == limit
