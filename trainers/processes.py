"""Training in several processes: every process sees the vectors of the whole batch, with the gradients of one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed


def processes() -> int:
    """Return how many processes train together; 1 outside `torchrun` and `accelerate launch`."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


class _Gather(torch.autograd.Function):
    """All processes' rows, concatenated in the order of the processes.

    Every process computes the same loss from the same rows. Its own rows' gradient is therefore complete as it is;
    it is multiplied by the number of processes because data-parallel training averages the parameters' gradients.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:  # noqa: ANN401 - torch's context
        """Gather (n, ...) from every process into (processes * n, ...)."""
        ctx.count = len(rows)
        parts = [torch.empty_like(rows) for _ in range(processes())]
        distributed.all_gather(parts, rows.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:  # noqa: ANN401 - torch's context
        """Return the part that belongs to this process."""
        start = distributed.get_rank() * ctx.count
        return gradients[0][start : start + ctx.count] * processes()


def gather(rows: Tensor) -> Tensor:
    """Return the rows (n, ...) of all processes, (processes * n, ...); with one process, what was given.

    A loss over the result that every process computes alike gives, after the averaging of data-parallel training,
    exactly the gradients of one process with the whole batch. All processes must hold equally many rows.
    """
    if processes() == 1:
        return rows
    gathered: Tensor = _Gather.apply(rows)  # type: ignore[no-untyped-call]
    return gathered


def gather_pairs(vectors: Tensor) -> Tensor:
    """Gather (2n, d) vectors, row i and n + i a pair, so that in the whole, too, all first sides come first."""
    if processes() == 1:
        return vectors
    first, second = vectors.chunk(2)
    return torch.cat([gather(first), gather(second)])
