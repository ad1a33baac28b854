"""Whitening: the linear map after which the vectors of a text have mean 0 and covariance 1 (Su et al. 2021)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pipelines.console import InputError
from trainers.baselines.fitting import Adaptation, FitText

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALLEST = 1e-6
"""Variance, as a part of the largest, below which a direction is rounding noise that whitening would blow up."""


def whitening(dimension: int | None, text: FitText | None = None) -> Adaptation:
    """Return the whitening to `dimension` directions of largest variance (Whitening-k in the paper); None keeps all."""
    title = "whitened" + (f" to {dimension} dimensions" if dimension else "")
    settings = {"method": "whitening", "dimension": dimension}
    return Adaptation(title, f"whitened-{dimension or 'all'}", settings, partial(fit, dimension=dimension), text)


def fit(vectors: NDArray[np.float32], dimension: int | None = None) -> partial[NDArray[np.float32]]:
    """Return the whitening of vectors (texts, d): W = U S^(-1/2) of their covariance U S U'.

    The columns stand by falling variance, so that the first k are the reduced whitening of the paper's Alg. 1.

    Raises:
        InputError: There are fewer than two vectors, or they vary in fewer directions than `dimension`.
    """
    if len(vectors) < 2:
        raise InputError(f"whitening needs two texts or more to fit on, got {len(vectors)}")
    values = vectors.astype(np.float64)
    covariance = np.cov(values, rowvar=False).reshape(values.shape[1], values.shape[1])
    variances, directions = np.linalg.eigh(covariance)
    order = np.argsort(-variances)
    variances, directions = variances[order], directions[:, order]
    rank = int((variances > max(variances[0], 0) * SMALLEST).sum())
    if rank < (dimension or 1):
        raise InputError(
            f"cannot whiten to {dimension or 1} dimensions: the {len(vectors):,} vectors of "
            f"{values.shape[1]} numbers vary in {rank} directions: ask for fewer, or fit on more text"
        )
    kept = dimension or rank
    return partial(whiten, mean=values.mean(axis=0), kernel=directions[:, :kept] / np.sqrt(variances[:kept]))


def whiten(vectors: NDArray[np.float32], mean: NDArray[np.float64], kernel: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return (x - mean) W (texts, k) of vectors (texts, d); `mean` (d), `kernel` W (d, k)."""
    return np.asarray((vectors - mean) @ kernel, np.float32)
