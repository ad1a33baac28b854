"""Whitening of the vectors that are scored (Su et al. 2021)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pipelines.console import InputError
from trainers.embedding.vectors import Vectors, check

SMALLEST = 1e-6
"""Directions whose variance is a smaller share of the largest are rounding noise, which whitening would amplify."""


def whitened(vectors: Vectors, texts: Sequence[str], dimension: int | None, name: str) -> Vectors:
    """Return the vectors of a set's texts, whitened by those same texts; each weighs as often as it occurs.

    This is transductive: the map has seen the test sentences, though not their grades. `dimension` and errors are as
    for `fit_whitening`; `name` is the encoder's, for messages.
    """
    distinct = list(dict.fromkeys(texts))
    mapped = fit_whitening(vectors.of(texts), dimension)(vectors.of(distinct))
    check(mapped, distinct, f"{name}, whitened,")
    return Vectors({text: row for row, text in enumerate(distinct)}, mapped)


def fit_whitening(
    vectors: NDArray[np.float32], dimension: int | None = None
) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    """Return the whitening of vectors (texts, d): x -> (x - mean) W, W = U S^(-1/2) of their covariance U S U'.

    Columns are in order of falling variance: the first `dimension` (None: all) are the reduced whitening of the paper's
    Alg. 1. Raises InputError: there are fewer than two vectors, or they vary in fewer directions than that.
    """
    from sklearn.decomposition import PCA

    if len(vectors) < 2:
        raise InputError(f"whitening needs at least two texts, got {len(vectors)}")
    with np.errstate(invalid="ignore"):  # PCA's variance ratios, if nothing varies
        found = PCA(svd_solver="covariance_eigh").fit(vectors.astype(np.float64))
    variances = found.explained_variance_
    rank = int((variances > max(variances[0], 0) * SMALLEST).sum())
    if rank < (dimension or 1):
        raise InputError(
            f"cannot whiten to {dimension or 1} dimensions: the {len(vectors):,} vectors of {vectors.shape[1]} numbers "
            f"vary in {rank} directions: ask for fewer"
        )
    kept = dimension or rank
    kernel = found.components_[:kept].T / np.sqrt(variances[:kept])
    return lambda vectors: np.asarray((vectors - found.mean_) @ kernel, np.float32)
