"""Tokens drawn from a model's logits by the row's own seed, the same in any batch and on every device."""

from __future__ import annotations

import torch
from torch import Tensor

from augment.translate.decoding import Decoding

# SplitMix64 (Steele, Lea and Flood 2014): the increment and the two multipliers, as signed 64-bit numbers.
_STEP = -7046029254386353131
_FIRST = -4658895280553007687
_SECOND = -7723592293110705685


def draw(logits: Tensor, decoding: Decoding, seeds: Tensor, position: int) -> Tensor:
    """One token a row from softmax(logits / temperature), cut to the top k or the top p.

    By the Gumbel-max trick (Gumbel 1954): the largest of logit plus Gumbel noise is a draw from the softmax. Rounding
    in the logits then changes a draw only where two tokens were level to that rounding. Logits are rows by vocabulary,
    seeds one a row (int64), `position` is that of the token.
    """
    scores = logits.double() / decoding.temperature
    tokens = torch.arange(scores.shape[-1], device=scores.device)[None]
    if decoding.top_k is not None:
        scores, tokens = scores.topk(min(decoding.top_k, scores.shape[-1]))
    if decoding.top_p is not None:  # minus infinity beyond the fewest tokens that make up this share
        ordered, order = scores.sort(dim=-1, descending=True, stable=True)
        probabilities = ordered.softmax(dim=-1)
        beyond = probabilities.cumsum(dim=-1) - probabilities >= decoding.top_p
        scores = scores.masked_fill(beyond.gather(1, order.argsort(dim=-1)), float("-inf"))
    gumbel = -torch.log(-torch.log(uniform(seeds, position, tokens)))
    best = (scores + gumbel).argmax(dim=-1, keepdim=True)
    return tokens.expand(len(scores), -1).gather(1, best)[:, 0]


def uniform(seeds: Tensor, position: int, tokens: Tensor) -> Tensor:
    """Numbers in (0, 1) that a hash of seed, position and token gives; the same in any batch and on every device.

    Seeds are one a row (int64), tokens numbers in one row for all seeds or one for each. The result is float64, one row
    for each seed, one column for each token.
    """
    streams = _mix(seeds + seeds.new_tensor(position + 1) * _STEP)
    bits = _shifted(_mix(streams[:, None] + (tokens + 1) * _STEP), 11)
    return (bits.double() + 0.5) * 2.0**-53


def _mix(numbers: Tensor) -> Tensor:
    numbers = (numbers ^ _shifted(numbers, 30)) * _FIRST
    numbers = (numbers ^ _shifted(numbers, 27)) * _SECOND
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: Tensor, places: int) -> Tensor:
    """Shift to the right as if unsigned."""
    return (numbers >> places) & ((1 << (64 - places)) - 1)
