"""Orthogonal maps from one language's word vectors to another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trainers.evaluation.search import unit

if TYPE_CHECKING:
    from numpy.typing import NDArray


def procrustes(source: NDArray[np.floating], target: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the orthogonal matrix W that minimises ||source W - target|| (Schoenemann 1966).

    With U S V' the singular value decomposition of source' target, W = U V'. Row i of both, shape (n, d), is a word
    and its translation. The product is formed in float64.
    """
    left, _, right = np.linalg.svd(source.T.astype(np.float64) @ target.astype(np.float64))
    return np.asarray(left @ right)


def centred(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return unit vectors, less their mean, made unit again: VecMap's preprocessing (Artetxe et al. 2018)."""
    lengths = np.asarray(unit(vectors))
    return np.asarray(unit(lengths - lengths.mean(axis=0, dtype=np.float64).astype(np.float32)))
