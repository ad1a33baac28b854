"""Batches of texts of like length, random enough to learn from: less padding, the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch.utils.data import Sampler

if TYPE_CHECKING:
    from numpy.typing import NDArray

POOL = 50
"""Batches whose rows are sorted together; texts of captions' lengths then hold a few percent of padding."""


class LengthGrouped(Sampler[int]):
    """Rows in an order whose every `batch_size` neighbours are of like length; what fills no batch is left out.

    The order depends on the seed and the epoch alone, so a resumed run goes on in it.
    """

    def __init__(self, lengths: Sequence[int] | NDArray[np.int64], batch_size: int, seed: int) -> None:
        self.lengths = np.asarray(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Draw the order of this epoch at the next iteration."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths) // self.batch_size * self.batch_size

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng((self.seed, self.epoch))
        order = random.permutation(len(self.lengths))[: len(self)]
        pool = POOL * self.batch_size
        pools = [order[start : start + pool] for start in range(0, len(order), pool)]
        grouped = np.concatenate([rows[np.argsort(self.lengths[rows], kind="stable")] for rows in pools])
        batches = random.permutation(grouped.reshape(-1, self.batch_size))
        yield from batches.ravel().tolist()
