"""Correlations, how vectors lie and nearest neighbours: against SciPy, plain NumPy and a full sort."""

import math
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy_reference as reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_vectors import Known, parted
from numpy.typing import NDArray
from scipy import stats

from trainers.encoders import vectors as vectors_module
from trainers.encoders.vectors import Vectors, nearest, norms
from trainers.scores.pairs import Pair, pearson, read_pairs, spearman
from trainers.scores.result_files import mean
from trainers.scores.suites import geometry
from trainers.scores.suites.bli import Lexicon, score_lexicon
from trainers.scores.suites.geometry import METRICS, POSITIVE, score
from trainers.scores.suites.linking import Mention, score_mentions


def test_every_figure_is_that_of_its_definition() -> None:
    matrix = np.random.default_rng(0).normal(size=(20, 5)) * 3 + [1.0, 0.0, 2.0, 0.0, 0.0]
    grades = [4.0, 5.0, 3.9, 0.0, 4.5, 1.0, 2.0, 3.0, 4.0, 0.5]
    texts = [str(row) for row in range(20)]
    close = [(2 * row, 2 * row + 1) for row, grade in enumerate(grades) if grade >= POSITIVE]
    assert close == [(0, 1), (2, 3), (8, 9), (16, 17)]
    vectors = Vectors.encode(Known(texts, matrix.astype(np.float32)), texts)
    pairs = [Pair(str(2 * row), str(2 * row + 1), grade) for row, grade in enumerate(grades)]
    found = score({"": tuple(pairs)}, vectors)
    expected = reference.geometry(matrix, close, list(combinations(range(20), 2)))
    assert tuple(found.metrics) == METRICS
    assert found.metrics == pytest.approx(expected, abs=1e-5)
    assert found.predictions is None


def test_the_suite_reads_test_and_train_and_averages_nothing(research_data: Path) -> None:
    found, missing = parted([read_pairs(benchmark, str(research_data)) for benchmark in geometry.BENCHMARKS])
    assert missing == []
    read = [(item.name, item.size, item.counted) for item in found]
    assert read == [("stsb", 1379, False), ("stsb-train", 5749, False)]
    assert all("from 0 to 1" in item.note for item in found)


@pytest.mark.parametrize(
    ("values", "digits", "shown"),
    [
        ([72.849, 72.851], 2, "72.85 +- 0.00"),
        ([72.6, 73.1], 2, "72.85 +- 0.35"),
        ([72.6], 2, "72.60"),
        ([0.12345], 4, "0.1235"),
        ([-0.001], 2, "0.00"),
        ([72.6, None], 2, "None"),
        ([], 2, "None"),
    ],
)
def test_figures_are_shown_as_papers_print_them(values: list[float | None], digits: int, shown: str) -> None:
    assert str(mean(values, digits)) == shown


FEW = st.integers(min_value=-3, max_value=3)  # few values, so that ties are common


@settings(deadline=None)
@given(st.lists(st.tuples(FEW, FEW), min_size=2, max_size=40))
def test_correlations_equal_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert spearman(x, y) is None
        assert pearson(x, y) is None
    else:
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


def test_a_constant_list_has_no_correlation_even_when_its_mean_is_rounded() -> None:
    assert spearman([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]) is None
    assert pearson([1.0, 2.0, 3.0], [0.1, 0.1, 0.1]) is None


def by_hand(
    queries: NDArray[np.float32], keys: NDArray[np.float32], k: int, similarity: str
) -> list[list[int]]:
    """Sort all keys by similarity, in plain Python; equal ones by their place."""

    def score(query: list[float], key: list[float]) -> float:
        dot = math.fsum(a * b for a, b in zip(query, key, strict=True))
        length = math.hypot(*key) if similarity == "cosine" else 1.0
        return round(dot / (math.hypot(*query) * length), 6) if dot else 0.0

    rows, columns = queries.tolist(), keys.tolist()
    return [sorted(range(len(columns)), key=lambda j: (-score(query, columns[j]), j))[:k] for query in rows]


def test_vectors_are_compared_where_they_were_encoded() -> None:
    """On torch's device for shapes alone, which can only fail once a number is asked for."""
    encoder = Known(["a", "b"], np.eye(2, dtype=np.float32))
    encoder.device = "meta"
    vectors = Vectors.encode(encoder, ["a", "b"])
    mention = Mention(("a",), frozenset("1"))
    with pytest.raises(NotImplementedError, match="meta tensor"):
        score_mentions([mention], {"b": frozenset("1")}, vectors)
    with pytest.raises(NotImplementedError, match="meta tensor"):
        score_lexicon(Lexicon(("a",), ("b",), ((0, 0),), {0: (0,)}), vectors)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(1, 60),
    st.integers(1, 6),
    st.integers(1, 8),
    st.integers(1, 200),
    st.sampled_from(["cosine", "dot"]),
    st.integers(0, 2**32 - 1),
)
def test_blocks_find_the_nearest(
    n: int, m: int, d: int, k: int, scores: int, similarity: str, seed: int
) -> None:
    # Few distinct values: many keys are equal, or equally near, or zero.
    values = np.random.default_rng(seed).integers(-1, 2, (n + m, d)).astype(np.float32)
    queries, keys = values[:n], values[n:]
    with patch.object(vectors_module, "SCORES", scores):
        found = nearest(queries, keys, k, "dot" if similarity == "dot" else "cosine")
    assert found.tolist() == by_hand(queries, keys, k, similarity)


def test_equal_rows_tie_exactly_at_any_index() -> None:
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(700, 48)).astype(np.float32)
    keys = distinct[rng.integers(0, 700, 2100)]
    queries = rng.normal(size=(37, 48)).astype(np.float32)
    cosines = (queries / norms(queries)[:, None]).astype(np.float64) @ (distinct / norms(distinct)[:, None]).T
    place = {row.tobytes(): index for index, row in enumerate(distinct)}
    which = np.array([place[row.tobytes()] for row in keys])
    expected = np.stack([np.lexsort((np.arange(2100), -line[which])) for line in cosines])[:, :5]
    with patch.object(vectors_module, "SCORES", 5000):
        assert nearest(queries, keys, 5).tolist() == expected.tolist()
