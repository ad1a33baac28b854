"""Queues of reference vectors, and the relations of a vector to what is in them (Limkonchotiwat et al. 2022, 2023)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Queue(nn.Module):
    """The k newest unit reference vectors, first in, first out; random ones until there are so many.

    They are a buffer, so that checkpoints hold them.
    """

    vectors: Tensor

    def __init__(self, size: int, dimension: int) -> None:
        super().__init__()
        self.register_buffer("vectors", functional.normalize(torch.randn(size, dimension), dim=-1))

    def with_batch(self, references: Tensor) -> Tensor:
        """Return the columns (k + n, d) that a batch is compared with: the queue, then its own references (n, d)."""
        return torch.cat([self.vectors, references])

    def fill(self, references: Tensor) -> None:
        """Hold `references` (k, d) instead of what was there, however many that were."""
        self.vectors = references.to(self.vectors)

    def push(self, references: Tensor) -> None:
        """Put in `references` (n, d) and drop the n oldest."""
        self.vectors.copy_(self.with_batch(references)[len(references) :])


def relation_loss(
    student: Tensor,
    reference: Tensor,
    columns: Tensor,
    student_temperature: float,
    reference_temperature: float,
    *,
    divergence: bool = True,
) -> Tensor:
    """Return the batch's mean of `KL(SR(r, D, t_ref) || SR(z, D, t))`, where `SR(z, D, t) = softmax(z D^T / t)`.

    Args:
        student: z, unit vectors (n, d).
        reference: r, unit vectors (n, d) that get no gradient.
        columns: D, unit vectors (k, d) that get no gradient.
        student_temperature: t.
        reference_temperature: t_ref.
        divergence: Without it, the cross-entropy: the same but for the entropy of SR(r, D, t_ref), which is constant.
    """
    log_p = functional.log_softmax(reference @ columns.T / reference_temperature, dim=-1)
    log_q = functional.log_softmax(student @ columns.T / student_temperature, dim=-1)
    if divergence:
        return functional.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
    return -(log_p.exp() * log_q).sum(dim=-1).mean()
