"""Statistics of datasets, against numbers worked out by hand, numpy and sacrebleu."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from pipelines.folder import view_schema
from pipelines.look import opened as looking
from pipelines.look.distribution import QUANTILES, Distribution
from pipelines.look.opened import Opened, open_path
from pipelines.look.similarity import SelfBleu, chrf, tokenizer_for
from pipelines.look.statistics import Statistics, statistics
from pipelines.look.tally import words_changed
from pipelines.pairs import PairFile
from pipelines.plan import Kind

PAIRS = [
    ("a dog runs", "a dog runs", "the dog is running"),
    ("two men talk", "two men are talking", "two men are talking"),
    ("a red car", "a car that is red", "one red automobile"),
    ("he eats an apple", "he eats apples", "an apple is eaten by him"),
]


def stream(path: Path, table: pa.Table) -> Path:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return path


def pairs(folder: Path, rows: Sequence[tuple[str | None, ...]] = PAIRS, **columns: object) -> Path:
    named = {
        "id": [f"{number:016x}" for number in range(len(rows))],
        **dict(zip(("text", "view_a", "view_b"), map(list, zip(*rows, strict=True)), strict=True)),
        "view_a_name": ["one"] * len(rows),
        "view_b_name": ["two"] * len(rows),
    }
    return stream(folder / "pairs.arrow", pa.table({**named, **columns}))


def view(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Opened:
    blank = dict.fromkeys(view_schema().names) | {"status": "ok", "edits": [], "alternatives": []}
    whole = [{**blank, "id": f"{number:016x}", **row} for number, row in enumerate(rows)]
    file = stream(folder / "view.arrow", pa.Table.from_pylist(whole, schema=view_schema()))
    return opened("view", file)


def opened(kind: Kind, *files: Path) -> Opened:
    return Opened(kind, files[0], {}, {}, tuple(PairFile(file, None) for file in files))


def edit(start: int, old: str, new: str) -> dict[str, Any]:
    return {"start": start, "end": start + len(old), "old": old, "new": new}


def test_a_view_is_counted_as_by_hand(tmp_path: Path) -> None:
    rows = [
        {"text": "a big dog", "view": "a large dog", "edits": [edit(2, "big", "large")], "achieved_fraction": 0.5},
        {"text": "one two three four", "view": "one two [MASK]", "edits": [edit(8, "three four", "[MASK]")]}
        | {"achieved_fraction": 0.25, "pivot": "eins zwei drei vier", "alternatives": ["x", "y"]},
        {"text": "[MASK] it", "view": "[MASK] it", "status": "unchanged", "reason": "none", "pivot": "[MASK] it"},
        {"text": "broken", "status": "failed", "reason": "too-long", "target_fraction": 0.9},
    ]
    for row in rows[:3]:
        row["target_fraction"] = 0.3
    found = statistics(view(tmp_path, rows), sample=0)
    assert {name: (share.count, share.of) for name, share in found.shares.items()} == {
        "with_view": (3, 4),
        "unchanged": (1, 3),
        "special_tokens": (1, 3),
        "pivot_is_text": (1, 2),
        "words_changed": (3, 3 + 4 + 2),
    }
    assert found.shares["unchanged"].value == 1 / 3
    assert (found.rows, found.sampled) == (4, 3)
    measures = {name: (summary.n, round(summary.mean, 6)) for name, summary in found.measures.items()}
    assert measures.pop("chrf")[0] == 3
    assert measures == {
        "target_fraction": (3, 0.3),
        "achieved_fraction": (2, 0.375),
        "edits": (3, round(2 / 3, 6)),
        "length_ratio": (3, round((11 / 9 + 14 / 18 + 1) / 3, 6)),
        "alternatives": (3, round(2 / 3, 6)),
    }


def test_what_a_view_does_not_have_is_left_out(tmp_path: Path) -> None:
    found = statistics(view(tmp_path, [{"text": "a dog", "view": "one dog"}]))
    assert set(found.shares) == {"with_view", "unchanged", "special_tokens"}
    assert set(found.measures) == {"length_ratio", "chrf"}


def test_pairs_are_scored_as_by_sacrebleu(tmp_path: Path) -> None:
    found = statistics(open_path(pairs(tmp_path)), sample=0)
    text, one, two = (list(side) for side in zip(*PAIRS, strict=True))
    expected = {"chrf": (two, one), "chrf_a": (one, text), "chrf_b": (two, text)}
    for name, (hypotheses, references) in expected.items():
        scores = [CHRF().sentence_score(a, [b]).score for a, b in zip(hypotheses, references, strict=True)]
        assert found.measures[name].mean == pytest.approx(np.mean(scores))
        assert found.measures[name].quantiles["max"] == max(scores)
    bleu = BLEU()
    assert found.self_bleu is not None
    assert found.self_bleu.score == pytest.approx(bleu.corpus_score(one, [two]).score)
    assert found.self_bleu.signature == str(bleu.get_signature())
    assert found.chrf_signature == "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0".replace(
        "2.6.0", found.self_bleu.signature.rsplit(":", 1)[1]
    )
    shares = {name: (share.count, share.of) for name, share in found.shares.items()}
    assert shares == {"identical": (1, 4), "a_is_text": (1, 4), "b_is_text": (0, 4)}
    ratios = [len(b) / len(a) for a, b in zip(one, two, strict=True)]
    assert found.measures["length_ratio"].mean == pytest.approx(np.mean(ratios))
    assert found.parts == {}


def test_bleu_in_batches_is_that_of_the_whole() -> None:
    bleu = SelfBleu()
    other = SelfBleu()
    _, one, two = zip(*PAIRS, strict=True)
    bleu.add(one[:1], two[:1])
    bleu.add([], [])
    other.add(one[1:], two[1:])
    bleu.absorb(other)
    bleu.absorb(SelfBleu())
    score = bleu.score()
    assert score is not None
    assert score.rows == 4
    assert score.score == pytest.approx(BLEU().corpus_score(one, [two]).score)
    assert SelfBleu().score() is None


@pytest.mark.parametrize(
    ("text", "tokenizer"),
    [("a dog runs", "13a"), ("他跑步", "char"), ("개가 달린다", "13a"), ("กิน", "char"), ("", "13a")],
)
def test_bleu_counts_characters_where_there_are_no_spaces(text: str, tokenizer: str) -> None:
    assert tokenizer_for([text]) == tokenizer


def test_several_combinations_of_views_are_told_apart(tmp_path: Path) -> None:
    names = ["two", "three", "three", "two"]
    found = statistics(open_path(pairs(tmp_path, view_b_name=names)), sample=0)
    assert {name: part.rows for name, part in found.parts.items()} == {"one x three": 2, "one x two": 2}
    inner, outer = PAIRS[1:3], (PAIRS[0], PAIRS[3])
    for name, rows in (("one x three", inner), ("one x two", outer)):
        _, one, two = (list(side) for side in zip(*rows, strict=True))
        part = found.parts[name]
        assert part.self_bleu is not None
        assert part.self_bleu.score == pytest.approx(BLEU().corpus_score(one, [two]).score)
        assert part.measures["chrf"].mean == pytest.approx(np.mean(chrf(two, one)))
    _, one, two = (list(side) for side in zip(*PAIRS, strict=True))
    assert found.self_bleu is not None
    assert found.self_bleu.score == pytest.approx(BLEU().corpus_score(one, [two]).score)


def test_hundreds_of_combinations_do_not_grow_the_tables(tmp_path: Path) -> None:
    rows = [("a b", "a b c", "a c")] * 300
    found = statistics(open_path(pairs(tmp_path, rows, view_b_name=[f"v{number}" for number in range(300)])))
    assert len(found.parts) == 13
    assert found.parts["others"].rows == 288


def test_columns_of_scores_and_labels_are_summed_up(tmp_path: Path) -> None:
    scores = pa.array([0.5, None, float("nan"), 1.0], pa.float32())
    found = statistics(open_path(pairs(tmp_path, semantic=scores, label=["x", "y", None, "y"], number=[1, 2, 3, 4])))
    assert (found.scores["semantic"].n, found.scores["semantic"].mean) == (2, 0.75)
    assert found.values == {"label": {"y": 2, "x": 1}}


def test_rejects_that_lack_a_side_are_counted_and_not_compared(tmp_path: Path) -> None:
    rows = [("a", None, "b"), ("a", None, None), ("a dog", "one dog", "a dog")]
    found = statistics(open_path(pairs(tmp_path, rows, reason=["one failed", "two failed", "too alike"])))
    assert (found.rows, found.sampled) == (3, 1)
    assert (found.shares["identical"].count, found.shares["identical"].of) == (0, 1)
    assert found.shares["b_is_text"].of == 2
    assert found.values["reason"] == {"one failed": 1, "too alike": 1, "two failed": 1}


def test_an_empty_file_has_no_statistics(tmp_path: Path) -> None:
    table = pa.table({name: pa.array([], pa.string()) for name in looking.PAIR_COLUMNS})
    found = statistics(open_path(stream(tmp_path / "pairs.arrow", table)))
    assert (found.rows, dict(found.measures), found.self_bleu) == (0, {}, None)


def many(folder: Path, rows: int = 500) -> Path:
    return pairs(folder, [(f"row {n} of many", f"row {n} of them", f"number {n % 7} it is") for n in range(rows)])


def test_the_sample_is_drawn_by_its_seed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = many(tmp_path)
    first = statistics(open_path(path), sample=50, seed=3)
    assert first.sampled == 50
    monkeypatch.setattr(looking, "CHUNK_ROWS", 33)
    again = statistics(open_path(path), sample=50, seed=3)
    assert close(first, again)
    other = statistics(open_path(path), sample=50, seed=4)
    assert other.measures["chrf"].mean != first.measures["chrf"].mean
    assert other.measures["length_ratio"].mean == pytest.approx(first.measures["length_ratio"].mean)
    assert [statistics(open_path(path), sample=size).sampled for size in (0, 500, 501)] == [500] * 3


def close(one: Statistics, two: Statistics) -> bool:
    """Whether they are the same but for the order in which numbers were summed up."""

    def short(found: Statistics) -> str:
        return json.dumps(json.loads(json.dumps(found.as_dict()), parse_float=lambda x: round(float(x), 9)))

    return short(one) == short(two)


@given(
    st.lists(st.one_of(st.floats(-1e6, 1e6), st.integers(0, 9).map(float), st.floats(0, 1)), min_size=1, max_size=60),
    st.integers(1, 7),
)
def test_a_distribution_agrees_with_numpy(values: list[float], size: int) -> None:
    seen = Distribution()
    for start in range(0, len(values), size):
        seen.add(values[start : start + size])
    summary = seen.summary()
    assert summary is not None
    assert summary.n == len(values)
    assert summary.mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-9)
    assert (summary.quantiles["min"], summary.quantiles["max"]) == (min(values), max(values))
    widest = max(map(abs, values))
    for name, place in QUANTILES.items():
        assert summary.quantiles[name] == pytest.approx(np.quantile(values, place), rel=1e-3, abs=1e-3 * widest + 1e-12)
    assert sum(summary.histogram.counts) == len(values)
    assert len(summary.histogram.counts) <= 21


def test_a_distribution_of_a_million_numbers_takes_little_room() -> None:
    seen = Distribution()
    draw = np.random.default_rng(0)
    for _ in range(10):
        seen.add(draw.lognormal(0, 0.3, 100_000))
    assert seen.n == 1_000_000
    assert len(seen._counts) < 20_000
    summary = seen.summary()
    assert summary is not None
    assert summary.quantiles["median"] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("values", "bounds", "low", "high", "counts"),
    [
        ([1, 1, 2, 4], (None, None), 0.5, 4.5, (2, 1, 0, 1)),
        ([0.06, 0.96, 1.0], (0, 1), 0, 1, (0, 1, *[0] * 17, 2)),
        ([0.3], (None, None), -0.2, 0.8, (*[0] * 10, 1, *[0] * 9)),
    ],
)
def test_histograms_count_in_equal_bins(
    values: list[float], bounds: tuple[float | None, float | None], low: float, high: float, counts: tuple[int, ...]
) -> None:
    seen = Distribution(*bounds)
    seen.add(values)
    summary = seen.summary()
    assert summary is not None
    shown = summary.histogram
    assert (shown.low, shown.high, shown.counts) == (low, high, counts)
    assert Distribution().summary() is None


def test_sentences_have_lengths(tmp_path: Path) -> None:
    table = pa.table({"id": ["1", "2"], "text": ["a dog", "one two three"], "label": ["x", "x"], "pair": ["p", None]})
    found = statistics(opened("sentences", stream(tmp_path / "data.arrow", table)))
    assert found.measures["words"].mean == 2.5
    assert found.measures["characters"].mean == 9
    assert found.values == {"label": {"x": 2}}
    assert found.shares["pair"].count == 1


def test_an_edit_beside_a_word_does_not_touch_it() -> None:
    rows = [{"text": "a big dog", "edits": [edit(1, " ", "-"), edit(5, " d", "d")]}]
    assert words_changed(rows) == (1, 3)
