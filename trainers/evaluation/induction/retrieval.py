"""Ranks of translations among all candidates, by cosine or by CSLS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trainers.evaluation.search import score_blocks, unit

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from trainers.evaluation.vectors import Matrix

NEIGHBOURS = 10
TIED = 1e-6


def neighbourhood(vectors: Matrix, others: Matrix, k: int = NEIGHBOURS) -> NDArray[np.float32]:
    """Return each vector's mean cosine with its k nearest of `others`, shape (n,): r of CSLS (Lample et al. 2018)."""
    import torch

    others = unit(others)
    k = min(k, others.shape[0])
    means = [torch.topk(block, k, dim=1).values.mean(dim=1).cpu() for _, block in score_blocks(unit(vectors), others)]
    return torch.cat(means).float().numpy()


def ranks(
    queries: Matrix, candidates: Matrix, translations: Sequence[Sequence[int]], penalties: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ranks, from 1, of each query's best translation among the candidates, by CSLS and by cosine.

    CSLS is 2 cos(q, c) - r(q) - r(c) (Lample et al. 2018, Eq. 4), of which r(q) moves no rank and is left out.
    Scores that differ by no more than rounding tie: the first candidate is first.

    Args:
        queries: Mapped vectors (n, d) of source words.
        candidates: Vectors (m, d) of target words.
        translations: The rows of candidates that are right, for each query; one at least.
        penalties: r of each candidate: `neighbourhood(candidates, all mapped source words)`.
    """
    import torch

    by_csls, by_cosine = np.empty(queries.shape[0], np.int64), np.empty(queries.shape[0], np.int64)
    width = max(map(len, translations), default=1)
    # Repeating the first translation fills the rows without changing the best one.
    padded = torch.tensor([[*rows, *[rows[0]] * (width - len(rows))] for rows in translations])
    halves = torch.from_numpy(penalties) / 2
    for start, block in score_blocks(unit(queries), unit(candidates)):
        cosines = block.cpu().float()
        rows = slice(start, start + len(cosines))
        by_cosine[rows] = _places(cosines, padded[rows])
        # Half of CSLS ranks alike, and needs one pass.
        by_csls[rows] = _places(cosines.sub_(halves), padded[rows])
    return by_csls, by_cosine


def _places(scores: torch.Tensor, right: torch.Tensor) -> NDArray[np.int64]:
    """Return the rank of the best right column of each row; of equal ones the first column comes first."""
    import torch

    values = scores.gather(1, right)
    best = values.max(dim=1, keepdim=True).values
    first = right.masked_fill(values < best - TIED, scores.shape[1]).min(dim=1, keepdim=True).values
    # NumPy counts ten times as fast as torch.
    ahead = np.count_nonzero((scores > best + TIED).numpy(), axis=1)
    level = np.count_nonzero((scores >= best - TIED).numpy(), axis=1)
    for row in np.flatnonzero(level > ahead + 1):
        ties = torch.nonzero((scores[row] - best[row]).abs() <= TIED)
        ahead[row] += int((ties < first[row]).sum())
    return np.asarray(ahead + 1, np.int64)
