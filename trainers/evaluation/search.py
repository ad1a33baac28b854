"""The k nearest rows of a matrix by exact search: blocks of float32 products, ties settled in float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

SCORES = 16 * 2**20  # similarities in memory at once: 64 MiB of float32
TIED = 1e-5  # a generous bound on the float32 error of the product of two unit vectors


def nearest(
    queries: NDArray[np.float32], keys: NDArray[np.float32], k: int, similarity: Literal["cosine", "dot"] = "cosine"
) -> NDArray[np.int64]:
    """Return the rows of `keys` (m, d) that are nearest to each of `queries` (n, d), best first: (n, min(k, m)).

    Of equal ones the first comes first. "dot" is the product with the key as it is; a zero vector has similarity 0.
    Float32 products choose candidates, float64 ones order them, so that equal rows tie exactly.
    """
    import torch

    k = min(k, len(keys))
    queries = unit(queries)
    # Divided by the longest, because `TIED` is meant for products of at most 1.
    keys = unit(keys) if similarity == "cosine" else keys * np.float32(1 / max(norms(keys).max(initial=0.0), 1e-30))
    found = np.empty((len(queries), k), np.int64)
    for start, block in score_blocks(queries, keys) if k else ():
        least = torch.topk(block, k, dim=1).values[:, -1:] - TIED
        for row, near in enumerate((block >= least).cpu().numpy(), start):
            candidates = np.flatnonzero(near)
            # Summed row by row: the rounding of a matrix product depends on the place of a row.
            products = (keys[candidates].astype(np.float64) * queries[row]).sum(-1)
            found[row] = candidates[np.argsort(-products, kind="stable")[:k]]
    return found


def score_blocks(queries: NDArray[np.float32], keys: NDArray[np.float32]) -> Iterator[tuple[int, torch.Tensor]]:
    """Yield first row and products of blocks of queries (n, d) with all keys (m, d), each of at most `SCORES`."""
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    step = max(1, SCORES // max(1, len(keys)))
    columns = torch.from_numpy(keys).to(device).T
    for start in range(0, len(queries), step):
        yield start, torch.from_numpy(queries[start : start + step]).to(device) @ columns


def unit(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows scaled to length 1 in float32; a zero row stays zero."""
    lengths = norms(matrix)
    factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.ascontiguousarray(matrix, np.float32) * factors.astype(np.float32)[:, None]


def norms(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the length of each row."""
    # In blocks: a float64 copy of a whole dictionary would be the largest array of all.
    parts = [np.square(matrix[start : start + 4096], dtype=np.float64).sum(1) for start in range(0, len(matrix), 4096)]
    return np.asarray(np.sqrt(np.concatenate([np.zeros(0), *parts])))
