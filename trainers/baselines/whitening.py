"""Whitening: the linear map after which the vectors of a text have mean 0 and covariance 1 (Su et al. 2021)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pipelines.console import InputError
from trainers.baselines.fitting import Adaptation, FitText, Map

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALLEST = 1e-6
"""Variance, as a part of the largest, below which a direction is rounding noise that whitening would blow up."""


def whitening(dimension: int | None, text: FitText | None = None) -> Adaptation:
    """Return the whitening to `dimension` directions of largest variance (Whitening-k in the paper); None keeps all."""
    title = "whitened" + (f" to {dimension} dimensions" if dimension else "")
    settings = {"method": "whitening", "dimension": dimension}
    return Adaptation(title, f"whitened-{dimension or 'all'}", settings, partial(fit, dimension=dimension), text)


def fit(vectors: NDArray[np.float32], dimension: int | None = None) -> Map:
    """Return the whitening of vectors (texts, d): x -> (x - mean) W, W = U S^(-1/2) of their covariance U S U'.

    The columns stand by falling variance, so that the first k are the reduced whitening of the paper's Alg. 1.

    Raises:
        InputError: There are fewer than two vectors, or they vary in fewer directions than `dimension`.
    """
    from sklearn.decomposition import PCA

    if len(vectors) < 2:
        raise InputError(f"whitening needs two texts or more to fit on, got {len(vectors)}")
    with np.errstate(invalid="ignore"):  # of its ratios, where nothing varies
        found = PCA(svd_solver="covariance_eigh").fit(vectors.astype(np.float64))
    variances = found.explained_variance_
    rank = int((variances > max(variances[0], 0) * SMALLEST).sum())
    if rank < (dimension or 1):
        raise InputError(
            f"cannot whiten to {dimension or 1} dimensions: the {len(vectors):,} vectors of "
            f"{vectors.shape[1]} numbers vary in {rank} directions: ask for fewer, or fit on more text"
        )
    kept = dimension or rank
    kernel = found.components_[:kept].T / np.sqrt(variances[:kept])
    return lambda vectors: np.asarray((vectors - found.mean_) @ kernel, np.float32)
