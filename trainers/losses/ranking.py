"""Ranking a batch as a teacher ranks it: ListNet and ListMLE, and two rankings of one batch made alike (RankCSE)."""

from __future__ import annotations

from math import log

import torch
from torch import Tensor
from torch.nn import functional


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
