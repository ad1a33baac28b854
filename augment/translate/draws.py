"""Seeded sampling whose draws depend on a row's seed and position alone: not on its batch, its order or the device."""

from __future__ import annotations

import torch

from augment.translate.decoding import Decoding

# SplitMix64 (Steele, Lea and Flood 2014): the increment and the two multipliers, as signed 64-bit numbers.
_STEP = -7046029254386353131
_FIRST = -4658895280553007687
_SECOND = -7723592293110705685


def uniform(seeds: torch.Tensor, position: int, tokens: torch.Tensor) -> torch.Tensor:
    """Numbers in (0, 1) that a hash of seed, position and token gives; the same on every device.

    Args:
        seeds: One a row, int64.
        position: Of the token that is drawn.
        tokens: Their numbers, one row for all or one for each seed.

    Returns:
        float64, one row for each seed, one column for each token.
    """
    streams = _mix(seeds + seeds.new_tensor(position + 1) * _STEP)
    bits = _shifted(_mix(streams[:, None] + (tokens + 1) * _STEP), 11)
    return (bits.double() + 0.5) * 2.0**-53


def draw(logits: torch.Tensor, decoding: Decoding, seeds: torch.Tensor, position: int) -> torch.Tensor:
    """One token a row from softmax(logits / temperature), cut to the top k or the top p.

    By the Gumbel-max trick (Gumbel 1954): the largest of logit plus Gumbel noise is a draw from the softmax. Rounding
    in the logits then changes a draw only where two tokens were level to that rounding.

    Args:
        logits: Rows by vocabulary.
        decoding: Temperature, top k and top p.
        seeds: One a row, int64.
        position: Of the token that is drawn.
    """
    scores = logits.double() / decoding.temperature
    if decoding.top_k is not None:
        scores, tokens = scores.topk(min(decoding.top_k, scores.shape[-1]))
    else:
        tokens = torch.arange(scores.shape[-1], device=scores.device)[None]
    if decoding.top_p is not None:
        scores = _nucleus(scores, decoding.top_p)
    gumbel = -torch.log(-torch.log(uniform(seeds, position, tokens)))
    best = (scores + gumbel).argmax(dim=-1, keepdim=True)
    return tokens.expand(len(scores), -1).gather(1, best)[:, 0]


def _nucleus(scores: torch.Tensor, share: float) -> torch.Tensor:
    """The scores, with minus infinity for tokens beyond the fewest that make up `share` of the probability."""
    ordered, order = scores.sort(dim=-1, descending=True, stable=True)
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    return scores.masked_fill((before >= share).gather(1, order.argsort(dim=-1)), float("-inf"))


def _mix(numbers: torch.Tensor) -> torch.Tensor:
    numbers = (numbers ^ _shifted(numbers, 30)) * _FIRST
    numbers = (numbers ^ _shifted(numbers, 27)) * _SECOND
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: torch.Tensor, places: int) -> torch.Tensor:
    """Shift to the right as if unsigned."""
    return (numbers >> places) & ((1 << (64 - places)) - 1)
