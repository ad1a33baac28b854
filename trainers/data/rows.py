"""The rows that are trained on, and their order in each epoch: shuffled, or in batches of texts of like length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.utils.data import Dataset, Sampler

from trainers.data.examples import row_seed
from trainers.data.ragged import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

POOL = 50
"""Batches whose rows are sorted together; texts of captions' lengths then hold a few percent of padding."""


class Rows(Dataset[dict[str, Any]]):
    """Columns as rows, each with its seed of the running epoch."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], seed: int) -> None:
        self.columns = columns
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def lengths(self) -> list[int]:
        """Return the number of tokens of every row, over all its columns of ids."""
        ids = [column.lengths for column in self.columns.values() if isinstance(column, Ragged)]
        return [sum(row) for row in zip(*(lengths.tolist() for lengths in ids), strict=True)]

    def __getitem__(self, row: int) -> dict[str, Any]:
        cells = {name: column[row] for name, column in self.columns.items()}
        return {**cells, "seed": row_seed(self.seed, row, self.epoch)}


class Shuffled(Sampler[int]):
    """All rows in an order that depends on the seed and the epoch alone, so a resumed run goes on in it.

    Each process walks through the same order and takes its own part of every batch.
    """

    def __init__(self, rows: int, seed: int) -> None:
        self.rows = rows
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Draw the order of this epoch at the next iteration."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[int]:
        yield from np.random.default_rng((self.seed, self.epoch)).permutation(self.rows).tolist()


class LengthGrouped(Shuffled):
    """Rows in an order whose every `batch_size` neighbours are of like length: less padding, the same rows.

    `batch_size` counts the rows of all processes; what fills no batch is left out.
    """

    def __init__(self, lengths: Sequence[int] | NDArray[np.int64], batch_size: int, seed: int) -> None:
        super().__init__(len(lengths) // batch_size * batch_size, seed)
        self.lengths = np.asarray(lengths)
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng((self.seed, self.epoch))
        order = random.permutation(len(self.lengths))[: len(self)]
        pool = POOL * self.batch_size
        pools = [order[start : start + pool] for start in range(0, len(order), pool)]
        grouped = np.concatenate([rows[np.argsort(self.lengths[rows], kind="stable")] for rows in pools])
        batches = random.permutation(grouped.reshape(-1, self.batch_size))
        yield from batches.ravel().tolist()
