"""Rows of token ids, and their order in each epoch: shuffled, or in batches of texts of similar length."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xxhash
from torch.utils.data import Dataset, Sampler

POOL_BATCHES = 50  # batches whose rows are sorted together; captions then have a few percent of padding


class Ragged(Sequence[list[int]]):
    """Token ids of many texts in a tenth of the memory that lists need: row i is `values[starts[i]:starts[i + 1]]`."""

    def __init__(self, rows: Iterable[Sequence[int]]) -> None:
        values, starts = array("i"), array("q", [0])
        for row in rows:
            values.extend(row)
            starts.append(len(values))
        self.values, self.starts = np.asarray(values, dtype=np.int32), np.asarray(starts, dtype=np.int64)
        self.lengths = np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> list[int]:  # type: ignore[override] # no slices
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.values[self.starts[index] : self.starts[index + 1]].tolist()  # type: ignore[no-any-return]


class Rows(Dataset[dict[str, Any]]):
    """Columns as rows, each with its `seed` in the current epoch: 63 bits that do not depend on the batch."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], seed: int) -> None:
        self.columns, self.seed, self.epoch = columns, seed, 0

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def lengths(self) -> list[int]:
        """Return the number of tokens of every row, over all its columns of ids."""
        ids = [column.lengths for column in self.columns.values() if isinstance(column, Ragged)]
        return np.sum(ids, axis=0).tolist()  # type: ignore[no-any-return]

    def __getitem__(self, row: int) -> dict[str, Any]:
        cells = {name: column[row] for name, column in self.columns.items()}
        return {**cells, "seed": xxhash.xxh64_intdigest(f"{self.seed}|{row}|{self.epoch}".encode()) >> 1}


class Order(Sampler[int]):
    """All rows in an order that depends only on the seed and the epoch, so a resumed run continues in it.

    Each process follows the same order and takes its own part of every batch. With `lengths`, every `batch_size`
    neighbours (rows of all processes) are of similar length, for less padding; rows that fill no batch are left out.
    """

    def __init__(self, rows: int, seed: int, lengths: Sequence[int] | None = None, batch_size: int = 1) -> None:
        self.rows, self.seed, self.batch_size, self.epoch = rows, seed, batch_size, 0
        self.lengths = None if lengths is None else np.asarray(lengths)

    def __len__(self) -> int:
        return self.rows // self.batch_size * self.batch_size

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng((self.seed, self.epoch))
        order = random.permutation(self.rows)[: len(self)]
        if self.lengths is not None:
            size = POOL_BATCHES * self.batch_size
            pools = [order[start : start + size] for start in range(0, len(order), size)]
            by_length = np.concatenate([rows[np.argsort(self.lengths[rows], kind="stable")] for rows in pools])
            order = random.permutation(by_length.reshape(-1, self.batch_size)).ravel()
        yield from order.tolist()
