"""Relations and rankings that a vector learns from a reference's: queues, KL, ListNet, ListMLE and Jensen-Shannon."""

from math import log

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


def off_diagonal(scores: Tensor) -> Tensor:
    """Return (n, n - 1): each row of (n, n) without its diagonal, the others in their order."""
    others = ~torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    return scores[others].view(len(scores), -1)


def list_net(student: Tensor, teacher: Tensor) -> Tensor:
    """Return the rows' mean of `-sum_j softmax(teacher)_j log softmax(student)_j` (Cao et al. 2007, top one).

    Args:
        student: Scores (n, m), divided by their temperature.
        teacher: The same, without gradient.
    """
    return functional.cross_entropy(student, teacher.softmax(dim=-1))


def list_mle(student: Tensor, teacher: Tensor) -> Tensor:
    """Return the mean over rows and ranks of `-log(exp(s_r) / sum over r' >= r of exp(s_r'))` (Xia et al. 2008).

    That is the negative log-likelihood of the teacher's order, divided by the length m of the list.

    Args:
        student: Scores s (n, m), divided by their temperature; r is a place in the teacher's order.
        teacher: Scores (n, m), the greatest of them first in order.
    """
    ordered = student.gather(1, teacher.argsort(dim=-1, descending=True, stable=True))
    return (ordered.flip(1).logcumsumexp(dim=-1).flip(1) - ordered).mean()


def jensen_shannon(first: Tensor, second: Tensor) -> Tensor:
    """Return the rows' mean of `1/2 KL(P || M) + 1/2 KL(Q || M)`, where `M = (P + Q) / 2`.

    Args:
        first: Scores (n, m), of which P is the softmax.
        second: Scores of the same shape, of which Q is the softmax.
    """
    log_p, log_q = first.log_softmax(dim=-1), second.log_softmax(dim=-1)
    log_m = torch.logaddexp(log_p, log_q) - log(2)
    to_p = functional.kl_div(log_m, log_p, reduction="batchmean", log_target=True)
    to_q = functional.kl_div(log_m, log_q, reduction="batchmean", log_target=True)
    return (to_p + to_q) / 2
