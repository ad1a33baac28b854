"""How sentence vectors lie: spread, alignment, uniformity and isotropy."""

import torch
from torch import Tensor
from torch.nn import functional

MOST = 128
"""Pairs (or vectors that are no pairs) that are looked at for all but the spread: more eigenvectors would be felt."""


def geometry(vectors: Tensor, *, paired: bool) -> dict[str, Tensor]:
    """Return how unit vectors lie, as scalars in float32.

    Args:
        vectors: (m, d), not normalised. Where `paired`, rows i and m / 2 + i are two views of one sentence.
        paired: Whether they are.

    Returns:
        `spread`, see `spread`. `alignment`, where paired: mean |u - v|^2 over the pairs, 0 to 4 (Wang & Isola 2020).
        `uniformity`: log of the mean of exp(-2 |u - v|^2) over two rows that are no pair, -8 to 0 (the same).
        `random_cosine`: mean cosine of two rows that are no pair. `isotropy`: see `isotropy`.
    """
    vectors = vectors.detach().float()
    found = {"spread": spread(vectors)}
    vectors = _some(vectors, paired=paired)
    unit = functional.normalize(vectors, dim=-1)
    cosines = unit @ unit.T
    apart = ~torch.eye(len(unit), dtype=torch.bool, device=unit.device)
    if paired:
        first, second = unit.chunk(2)
        found["alignment"] = (first - second).square().sum(dim=-1).mean()
        apart &= ~torch.eye(len(first), dtype=torch.bool, device=unit.device).repeat(2, 2)
    # Without a synchronisation: a mask's size would have to be waited for.
    count = apart.sum()
    found["uniformity"] = ((4 * cosines - 4).exp() * apart).sum().div(count).log()
    found["random_cosine"] = (cosines * apart).sum() / count
    found["isotropy"] = isotropy(vectors)
    return found


def _some(vectors: Tensor, *, paired: bool) -> Tensor:
    if not paired:
        return vectors[:MOST]
    first, second = vectors.chunk(2)
    return torch.cat([first[:MOST], second[:MOST]])


def isotropy(vectors: Tensor) -> Tensor:
    """Return `min Z(c) / max Z(c)`, `Z(c) = sum over v in V of exp(c.v)`; 1 is perfect (Eq. 2 of Liu et al. 2021).

    c runs over the eigenvectors of V'V in both their directions, since an eigenvector has no sign of its own. V holds
    unit vectors, so that the score does not depend on their length.

    Args:
        vectors: (m, d), not normalised.
    """
    unit = functional.normalize(vectors.double(), dim=-1)
    count, dimension = unit.shape
    if count >= dimension:
        projected = unit @ torch.linalg.eigh(unit.T @ unit).eigenvectors
    else:
        # The other eigenvectors are orthogonal to all vectors: Z = m for each of them. Of VV' only m are to be found.
        values, inner = torch.linalg.eigh(unit @ unit.T)
        projected = inner * values.clamp(min=0).sqrt()
        projected = torch.cat([projected, projected.new_zeros(count, 1)], dim=1)
    sums = torch.cat([projected, -projected], dim=1).exp().sum(dim=0)
    return (sums.min() / sums.max()).float()


def spread(vectors: Tensor) -> Tensor:
    """Return how far apart the directions of `vectors` (n, d) are: `sqrt(1 - |mean unit vector|^2)`, in [0, 1].

    0 means that all vectors point the same way (collapse), 1 that their directions cancel out.
    """
    mean = functional.normalize(vectors.detach().float(), dim=-1).mean(dim=0)
    return (1 - mean.square().sum()).clamp(min=0).sqrt()
