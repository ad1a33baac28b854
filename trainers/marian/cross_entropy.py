"""Output layer and label-smoothed cross-entropy in one pass over blocks of tokens.

Logits of a block are made, turned into gradients and dropped while they are still in the cache; a plain
`cross_entropy` writes and reads (tokens x vocabulary) float32 values some ten times, which on a CPU took 40% of a
step of the starter model's training.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

BLOCK = 256
"""Tokens a block: 256 x 8,000 logits are 8 MB in float32."""


class _OutputCrossEntropy(torch.autograd.Function):
    """Forward computes the gradients as well, so backward only scales them."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - autograd's own context type is private
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        labels: Tensor,
        smoothing: float,
        dtype: torch.dtype,
    ) -> Tensor:
        count, vocabulary = len(labels), len(weight)
        matrix, bias = weight.to(dtype), bias.float()
        total = states.new_zeros((), dtype=torch.float32)
        states_grad = torch.empty_like(states)
        weight_grad = torch.zeros_like(weight, dtype=torch.float32)
        for start in range(0, count, BLOCK):
            block = states[start : start + BLOCK].to(dtype)
            wanted = labels[start : start + BLOCK, None]
            logits = torch.mm(block, matrix.T).float().add_(bias)
            uniform = logits.mean(1) if smoothing else 0.0
            chosen = logits.gather(1, wanted).squeeze(1)
            normaliser = logits.logsumexp(1)
            total += (normaliser - (1 - smoothing) * chosen - smoothing * uniform).sum()
            grad = logits.sub_(normaliser[:, None]).exp_()
            if smoothing:
                grad.sub_(smoothing / vocabulary)
            grad.scatter_add_(1, wanted, grad.new_full(wanted.shape, smoothing - 1))
            grad = grad.mul_(1 / count).to(dtype)
            states_grad[start : start + BLOCK] = torch.mm(grad, matrix)
            weight_grad += torch.mm(grad.T, block)
        ctx.save_for_backward(states_grad, weight_grad.to(weight.dtype))
        return total / count

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:  # noqa: ANN401
        states_grad, weight_grad = ctx.saved_tensors
        return states_grad * scale, weight_grad * scale, None, None, None, None


def output_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, *, smoothing: float = 0.0
) -> Tensor:
    """Return the mean label-smoothed cross-entropy of `states @ weight.T + bias`, in nats.

    Equal to `torch.nn.functional.cross_entropy(logits, labels, label_smoothing=smoothing)`; matrix products run in
    the autocast type where autocast is on, everything else in float32. No gradient reaches `bias`.

    Args:
        states: (tokens, d).
        weight: (vocabulary, d).
        bias: (vocabulary,) or (1, vocabulary).
        labels: (tokens,), each in [0, vocabulary).
        smoothing: Share of the target distribution that is spread over the whole vocabulary, in [0, 1).
    """
    device = states.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
    loss: Tensor = _OutputCrossEntropy.apply(  # type: ignore[no-untyped-call]
        states, weight, bias, labels, smoothing, dtype
    )
    return loss
