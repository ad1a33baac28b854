"""Whitening: the linear map after which the vectors of a text have mean 0 and covariance 1 (Su et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.console import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALLEST = 1e-6
"""Variance, as a part of the largest, below which a direction is rounding noise that whitening would blow up."""


@dataclass(frozen=True, slots=True)
class Whitened:
    """A fitted whitening: `mean` (d), `kernel` (d, k)."""

    mean: NDArray[np.float64]
    kernel: NDArray[np.float64]

    def __call__(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (x - mean) W (texts, k) of vectors (texts, d)."""
        return np.asarray((vectors - self.mean) @ self.kernel, np.float32)


@dataclass(frozen=True, slots=True)
class Whitening:
    """Whitening to `dimension` directions of largest variance (Whitening-k in the paper); None keeps all."""

    dimension: int | None = None

    @property
    def title(self) -> str:
        """What is done to the vectors."""
        return "whitened" + (f" to {self.dimension} dimensions" if self.dimension else "")

    @property
    def key(self) -> str:
        """A name for files."""
        return f"whitened-{self.dimension or 'all'}"

    def card(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {"method": "whitening", "dimension": self.dimension}

    def fit(self, vectors: NDArray[np.float32]) -> Whitened:
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
        if rank < (self.dimension or 1):
            raise InputError(
                f"cannot whiten to {self.dimension or 1} dimensions: the {len(vectors):,} vectors of "
                f"{values.shape[1]} numbers vary in {rank} directions: ask for fewer, or fit on more text"
            )
        kept = self.dimension or rank
        return Whitened(values.mean(axis=0), directions[:, :kept] / np.sqrt(variances[:kept]))
