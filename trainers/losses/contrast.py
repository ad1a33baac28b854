"""Telling a vector's twin from the other vectors of a batch: InfoNCE, and multi-similarity over mined triplets.

Wherever a batch is (2n, d), row i and row n + i are a positive pair. Hard negatives (m, d) are further columns, for
every anchor. `excluded` is (2n, 2n + m), true where column j must not be a negative of anchor i; positives stay,
whatever it says.
"""

import torch
from torch import Tensor
from torch.nn import functional

from trainers.objective import float32

MARGIN = 0.2
"""A negative is mined that is at most this much further from its anchor than the positive, in Euclidean distance."""

ALPHA = 1.0
BETA = 60.0
BASE = 0.5
"""The weights and the shift of SapBERT (Liu et al. 2021), whose scheme this is."""


def nt_xent(
    vectors: Tensor, temperature: float, excluded: Tensor | None = None, negatives: Tensor | None = None
) -> Tensor:
    """Return the mean loss of 2n anchors, `-log(exp(s_pos / t) / sum over j != i of exp(s_ij / t))` (Eq. 1).

    Args:
        vectors: (2n, d); s is their cosine.
        temperature: t.
        excluded: See the module.
        negatives: (m, d).
    """
    own = torch.arange(len(vectors), device=vectors.device)
    # In half precision a cosine's error would be a tenth of a nat at t = 0.04.
    with float32(vectors.device):
        unit = functional.normalize(vectors.float(), dim=-1)
        scores = unit @ _columns(unit, negatives).T / temperature
        positive = own.roll(len(own) // 2)
        left_out = torch.zeros_like(scores, dtype=torch.bool) if excluded is None else excluded.clone()
        left_out[own, positive] = False
        left_out[own, own] = True
        return functional.cross_entropy(scores.masked_fill(left_out, float("-inf")), positive)


def one_sided(
    vectors: Tensor, temperature: float, excluded: Tensor | None = None, negatives: Tensor | None = None
) -> Tensor:
    """Return the mean loss of n anchors, `-log(exp(s_ii' / t) / sum over j of exp(s_ij' / t))` (Eq. 4-5 of SimCSE).

    Args:
        vectors: (2n, d); s_ij' is the cosine of row i and row n + j, or the negative j - n.
        temperature: t.
        excluded: See the module.
        negatives: (m, d).
    """
    left, right = functional.normalize(vectors.float(), dim=-1).chunk(2)
    scores = left @ _columns(right, negatives).T / temperature
    positive = torch.arange(len(left), device=vectors.device)
    if excluded is not None:
        left_out = excluded[: len(left), len(left) :].clone()
        left_out[positive, positive] = False
        scores = scores.masked_fill(left_out, float("-inf"))
    return functional.cross_entropy(scores, positive)


def _columns(unit: Tensor, negatives: Tensor | None) -> Tensor:
    return unit if negatives is None else torch.cat([unit, functional.normalize(negatives.float(), dim=-1)])


def equal_strings(keys: Tensor) -> Tensor:
    """Return (2n, 2n + m), true where column j is no true negative of anchor i.

    That is where both come from the same source, or j is the same string as i or as its positive. A hard negative comes
    from no source; it is none of i where it is i's source, i or i's positive, or where it is missing.

    Args:
        keys: (n, 3) or (n, 4), equal numbers for equal strings: the source, the left and the right string of each pair,
            and its hard negative, -1 where it has none. m is 0 or n.
    """
    source = keys[:, 0].repeat(2)
    string = torch.cat([keys[:, 1], keys[:, 2]])
    partner = torch.cat([keys[:, 2], keys[:, 1]])
    same = (string[:, None] == string[None]) | (partner[:, None] == string[None])
    negative = keys[:, 3:].flatten()
    hard = (source[:, None] == negative) | (string[:, None] == negative) | (partner[:, None] == negative)
    return torch.cat([same | (source[:, None] == source[None]), hard | (negative < 0)], dim=1)


def closer_than_positive(guide: Tensor, negatives: Tensor) -> Tensor:
    """Return (2n, 2n + m), true where a guide finds column j more like anchor i than i's positive (GISTEmbed, 2024).

    Args:
        guide: The guide's unit vectors of the pairs (2n, d).
        negatives: And of the hard negatives (m, d).
    """
    own = torch.arange(len(guide), device=guide.device)
    similarities = guide @ torch.cat([guide, negatives]).T
    return similarities > similarities[own, own.roll(len(own) // 2)][:, None]


def multi_similarity(vectors: Tensor, excluded: Tensor | None = None, margin: float = MARGIN) -> Tensor:
    """Return the mean multi-similarity loss of 2n anchors over their mined pairs (Wang et al. 2019, Eq. 15).

    An anchor i with positive p and mined negatives N costs
    `log(1 + exp(-alpha (s_ip - base))) / alpha + log(1 + sum over N of exp(beta (s_ij - base))) / beta`;
    one without mined negatives costs nothing.

    Args:
        vectors: (2n, d); s is their cosine.
        excluded: See the module; (2n, 2n) here.
        margin: See `mine`.
    """
    own = torch.arange(len(vectors), device=vectors.device)
    with float32(vectors.device):
        unit = functional.normalize(vectors.float(), dim=-1)
        scores = unit @ unit.T
    mined = mine(scores.detach(), excluded, margin)
    attraction = functional.softplus(-ALPHA * (scores[own, own.roll(len(own) // 2)] - BASE)) / ALPHA
    pushes = (BETA * (scores - BASE)).masked_fill(~mined, float("-inf"))
    repulsion = functional.softplus(pushes.logsumexp(dim=1)) / BETA
    return torch.where(mined.any(dim=1), attraction + repulsion, 0.0).mean()


def mine(scores: Tensor, excluded: Tensor | None, margin: float) -> Tensor:
    """Return (2n, 2n), true where j is a negative that violates anchor i's margin: `|i - j| - |i - p| <= margin`.

    Args:
        scores: (2n, 2n) cosines; the distances are those of unit vectors.
        excluded: See `multi_similarity`.
        margin: In units of the distance, which is at most 2.
    """
    own = torch.arange(len(scores), device=scores.device)
    positive = own.roll(len(own) // 2)
    distances = (2 - 2 * scores).clamp(min=0).sqrt()
    hard = distances - distances[own, positive][:, None] <= margin
    hard[own, own] = False
    hard[own, positive] = False
    return hard if excluded is None else hard & ~excluded
