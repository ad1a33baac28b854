"""Statistics of datasets, against numbers worked out by hand, numpy and sacrebleu; texts compared word by word."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from foreigners import write_stream
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

from pipelines.base.console import counted
from pipelines.inspection.inspect import MAX_CHARACTERS, Piece, pieces, wdiff
from pipelines.inspection.opened import QUANTILES, Distribution, distribution, open_path, statistics
from pipelines.similarity import chrf
from pipelines.storage.dataset import Dataset, Kind, Plan
from pipelines.storage.pair_files import PAIR_COLUMNS
from pipelines.storage.shards import Shard, view_schema

PAIRS = [
    ("a dog runs", "a dog runs", "the dog is running"),
    ("two men talk", "two men are talking", "two men are talking"),
    ("a red car", "a car that is red", "one red automobile"),
    ("he eats an apple", "he eats apples", "an apple is eaten by him"),
]


def pairs(folder: Path, rows: Sequence[tuple[str | None, ...]] = PAIRS, **columns: object) -> Dataset:
    named = {
        "id": [f"{number:016x}" for number in range(len(rows))],
        **dict(zip(("text", "view_a", "view_b"), map(list, zip(*rows, strict=True)), strict=True)),
        "view_a_name": ["one"] * len(rows),
        "view_b_name": ["two"] * len(rows),
    }
    return open_path(write_stream(folder / "pairs.arrow", pa.table({**named, **columns}), 33))


def opened(kind: Kind, path: Path, table: pa.Table) -> Dataset:
    plan = Plan(kind=kind, name="", params={}, inputs=())
    return Dataset(path, plan, (Shard(write_stream(path, table, 33), None, table.num_rows),), {})


def view(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Dataset:
    blank = dict.fromkeys(view_schema().names) | {"status": "ok", "edits": []}
    whole = [{**blank, "id": f"{number:016x}", **row} for number, row in enumerate(rows)]
    return opened("view", folder / "view.arrow", pa.Table.from_pylist(whole, schema=view_schema()))


EDIT = {"start": 2, "end": 5, "old": "big", "new": "large"}


def test_a_view_is_counted_as_by_hand(tmp_path: Path) -> None:
    rows = [
        {"text": "a big dog", "view": "a large dog", "edits": [EDIT], "achieved_fraction": 0.5},
        {"text": "one two three four", "view": "one two [MASK]", "edits": [EDIT]}
        | {"achieved_fraction": 0.25, "pivot": "eins zwei drei vier"},
        {
            "text": "[MASK] it",
            "view": "[MASK] it",
            "status": "unchanged",
            "reason": "none",
            "pivot": "[MASK] it",
        },
        {"text": "broken", "status": "failed", "reason": "too-long", "achieved_fraction": 0.9},
    ]
    found = statistics(view(tmp_path, rows))
    assert found.shares == {"changed": (2, 4)}
    assert (found.rows, found.sampled) == (4, 4)
    measures = {name: (each.n, round(each.mean, 6)) for name, each in found.measures.items()}
    assert measures.pop("chrF, view ~ text")[0] == 3
    assert measures == {
        "achieved fraction": (2, 0.375),
        "words changed, view ~ text": (3, round((1 / 3 + 1 / 3) / 3, 6)),
    }


def test_views_are_judged_by_an_encoder(tmp_path: Path) -> None:
    sentence = "The committee will begin its work on the new budget in the middle of next week."
    texts = [sentence, sentence.replace(".", "!"), sentence.replace("begin", "start")]
    texts += ["The committee is going to start working on the new budget in the middle of the coming week."]
    texts += ["A cat sleeps on a warm stone."]
    rows = [{"text": sentence, "view": text, "edits": []} for text in texts]
    found = statistics(view(tmp_path, rows), judge_encoder="starter")
    cosines = found.measures["cosine, view ~ text"]
    assert (cosines.n, cosines.quantiles["max"]) == (5, 1)
    assert cosines.quantiles["min"] < 0.5
    assert found.shares["worth keeping, view ~ text"] == (2, 5)


def test_pairs_are_scored_as_by_sacrebleu(tmp_path: Path) -> None:
    found = statistics(pairs(tmp_path))
    text, one, two = (list(side) for side in zip(*PAIRS, strict=True))
    for name, (hypotheses, references) in {
        "b ~ a": (two, one),
        "a ~ text": (one, text),
        "b ~ text": (two, text),
    }.items():
        scores = [CHRF().sentence_score(a, [b]).score for a, b in zip(hypotheses, references, strict=True)]
        assert found.measures[f"chrF, {name}"].mean == pytest.approx(np.mean(scores))
        assert found.measures[f"chrF, {name}"].quantiles["max"] == max(scores)


@given(st.lists(st.tuples(st.text(max_size=20), st.text("ab 狗", max_size=20)), max_size=8))
def test_chrf_is_sacrebleu_s(texts: list[tuple[str, str]]) -> None:
    one, two = [a for a, _ in texts], [b for _, b in texts]
    metric = CHRF()
    for hypotheses, references in ((one, two), (two, one), (two, two[::-1])):
        scores = [metric.sentence_score(a, [b]).score for a, b in zip(hypotheses, references, strict=True)]
        assert chrf(hypotheses, references).tolist() == scores


def test_chrf_of_many_pairs_is_that_of_each() -> None:
    one = [f"a text with the number {number % 37} in it" for number in range(2_500)]
    two = [f"the {number % 11} is in this text" for number in range(2_500)]
    assert chrf(one, two)[[5, 1_500, 2_499]].tolist() == [
        chrf([one[n]], [two[n]])[0] for n in (5, 1_500, 2_499)
    ]


def test_columns_of_scores_and_labels_are_summed_up(tmp_path: Path) -> None:
    scores = pa.array([0.5, None, float("nan"), 1.0], pa.float32())
    found = statistics(pairs(tmp_path, semantic=scores, label=["x", "y", None, "y"], number=[1, 2, 3, 4]))
    assert (found.measures["column semantic"].n, found.measures["column semantic"].mean) == (2, 0.75)
    assert found.values == {"label": {"y": 2, "x": 1}}


def test_rejects_that_lack_a_side_are_counted_and_not_compared(tmp_path: Path) -> None:
    rows = [("a", None, "b"), ("a", None, None), ("a dog", "one dog", "a dog")]
    found = statistics(pairs(tmp_path, rows, reason=["one failed", "two failed", "too alike"]))
    assert found.measures["chrF, b ~ text"].n == 2
    assert found.values["reason"] == {"one failed": 1, "too alike": 1, "two failed": 1}


def test_an_empty_file_has_no_statistics(tmp_path: Path) -> None:
    table = pa.table({name: pa.array([], pa.string()) for name in PAIR_COLUMNS})
    found = statistics(open_path(write_stream(tmp_path / "pairs.arrow", table)))
    assert (found.rows, dict(found.measures)) == (0, {})


def test_the_sample_is_drawn_by_its_seed_alone(tmp_path: Path) -> None:
    whole = pairs(
        tmp_path, [(f"row {n} of many", f"row {n} of them", f"number {n % 7} it is") for n in range(500)]
    )
    first = statistics(whole, sample=50, seed=3)
    assert (first.rows, first.sampled) == (500, 50)
    assert statistics(whole, sample=50, seed=3) == first
    assert statistics(whole, sample=50, seed=4).measures != first.measures
    assert [statistics(whole, sample=size).sampled for size in (0, 500, 501)] == [500] * 3


NUMBERS = st.one_of(st.floats(-1e6, 1e6), st.integers(0, 9).map(float), st.floats(0, 1))


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_a_distribution_agrees_with_numpy(values: list[float]) -> None:
    found = distribution([*values, float("nan")])
    assert found is not None
    assert (found.n, found.mean) == (len(values), pytest.approx(np.mean(values), rel=1e-9, abs=1e-9))
    assert list(found.quantiles.values()) == np.quantile(values, list(QUANTILES.values())).tolist()
    assert sum(found.counts) == len(values)
    assert len(found.counts) == 20


@pytest.mark.parametrize(
    ("values", "bounds", "ends", "counts"),
    [
        ([1, 1, 2, 4], (0, 20), (0, 20), (0, 2, 1, 0, 1, *[0] * 15)),
        ([0.06, 0.96, 1.0], (0, 1), (0, 1), (0, 1, *[0] * 17, 2)),
        ([0.3], None, (0.3, 0.3), (*[0] * 19, 1)),
    ],
)
def test_histograms_count_in_equal_bins(
    values: list[float], bounds: tuple[float, float] | None, ends: tuple[float, float], counts: tuple[int, ...]
) -> None:
    found = distribution(values, bounds)
    assert isinstance(found, Distribution)
    assert (found.ends, found.counts) == (pytest.approx(ends), counts)
    assert distribution([]) is None


def test_sentences_have_lengths(tmp_path: Path) -> None:
    table = pa.table({"id": ["1", "2"], "text": ["a dog", "one two three"], "label": ["x", "x"]})
    found = statistics(opened("sentences", tmp_path / "data.arrow", table))
    assert (found.measures["words"].mean, found.measures["characters"].mean) == (2.5, 9)
    assert found.values == {"label": {"x": 2}}


def joined(parts: list[Piece], side: str) -> str:
    return "".join(piece.text for piece in parts if piece.change in ("same", side))


SCRAPS = ["a", "dog", "dogs", "don't", "狗", "跑", "👩‍👩‍👧", "🇩🇪", ".", " ", "  ", "\t"]
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(SCRAPS), max_size=30).map("".join))


@given(TEXTS, TEXTS)
def test_the_pieces_make_both_texts(old: str, new: str) -> None:
    parts = pieces(old, new)
    assert (joined(parts, "removed"), joined(parts, "added")) == (old, new)
    assert all(piece.text for piece in parts)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("a big dog", "a large dog", "a [-big-]{+large+} dog"),
        ("a big dog", "a dog", "a[- big-] dog"),
        ("a dog", "a dog.", "a dog{+.+}"),
        ("a  dog", "a dog", "a [- dog-]{+dog+}"),
        ("I don't know", "I do not know", "I [-don't-]{+do not+} know"),
        ("他快速地跑步。", "他慢慢地跑步！", "他[-快速-]{+慢慢+}地跑步[-。-]{+！+}"),
        ("went 👍🏽 home", "went 👍🏿 home", "went [-👍🏽-]{+👍🏿+} home"),
        ("ab 👩‍👩‍👧", "ab 👨‍👩‍👧", "ab [-👩‍👩‍👧-]{+👨‍👩‍👧+}"),
        ("🇩🇪🇫🇷", "🇩🇪🇮🇹", "🇩🇪[-🇫🇷-]{+🇮🇹+}"),
        ("हिन्दी में", "हिन्दू में", "[-हिन्दी-]{+हिन्दू+} में"),
        ("", "new", "{+new+}"),
    ],
)
def test_changes_are_marked_word_by_word(old: str, new: str, shown: str) -> None:
    assert wdiff(pieces(old, new)) == shown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("word " * 20_000, "word " * 9_000 + "other " + "word " * 9_000),
        ("的" * 50_000, "了" + "的" * 40_000 + "了"),
    ],
)
def test_of_very_long_texts_only_the_beginnings_are_compared(old: str, new: str) -> None:
    *parts, more = pieces(old, new)
    assert (joined(parts, "removed"), joined(parts, "added")) == (old[:MAX_CHARACTERS], new[:MAX_CHARACTERS])
    assert more == Piece("same", f" … {counted(max(len(old), len(new)) - MAX_CHARACTERS, 'more character')}")
