"""Exact search by blocks against a full sort, ties included."""

import math
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trainers.embedding import vectors
from trainers.embedding.vectors import nearest, norms


def by_hand(queries: NDArray[np.float32], keys: NDArray[np.float32], k: int, similarity: str) -> list[list[int]]:
    """Sort all keys by similarity, in plain Python; equal ones by their place."""

    def score(query: list[float], key: list[float]) -> float:
        dot = math.fsum(a * b for a, b in zip(query, key, strict=True))
        length = math.hypot(*key) if similarity == "cosine" else 1.0
        return round(dot / (math.hypot(*query) * length), 6) if dot else 0.0

    rows, columns = queries.tolist(), keys.tolist()
    return [sorted(range(len(columns)), key=lambda j: (-score(query, columns[j]), j))[:k] for query in rows]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6), st.integers(1, 60), st.integers(1, 6), st.integers(1, 8), st.integers(1, 200),
    st.sampled_from(["cosine", "dot"]), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_blocks_find_what_sorting_finds(
    n: int, m: int, d: int, k: int, scores: int, similarity: str, seed: int
) -> None:
    # Few distinct values: many keys are equal, or equally near, or zero.
    values = np.random.default_rng(seed).integers(-1, 2, (n + m, d)).astype(np.float32)
    queries, keys = values[:n], values[n:]
    with patch.object(vectors, "SCORES", scores):
        found = nearest(queries, keys, k, "dot" if similarity == "dot" else "cosine")
    assert found.tolist() == by_hand(queries, keys, k, similarity)


def test_equal_rows_tie_exactly_wherever_they_stand() -> None:
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(700, 48)).astype(np.float32)
    keys = distinct[rng.integers(0, 700, 2100)]
    queries = rng.normal(size=(37, 48)).astype(np.float32)
    cosines = (queries / norms(queries)[:, None]).astype(np.float64) @ (distinct / norms(distinct)[:, None]).T
    place = {row.tobytes(): index for index, row in enumerate(distinct)}
    which = np.array([place[row.tobytes()] for row in keys])
    expected = np.stack([np.lexsort((np.arange(2100), -line[which])) for line in cosines])[:, :5]
    with patch.object(vectors, "SCORES", 5000):
        assert nearest(queries, keys, 5).tolist() == expected.tolist()
