"""Losses that objectives share, and how sentence vectors lie.

Wherever a batch is (2n, d), row i and row n + i are a positive pair, and s is the cosine. Hard negatives (m, d) are
further columns, for every anchor. `excluded` is (2n, 2n + m), true where column j must not be a negative of anchor i;
positives stay, whatever it says.
"""

from math import log

import torch
from torch import Tensor, nn
from torch.nn import functional

from trainers.objective import float32

MARGIN = 0.2
"""A negative is mined that is at most this much further from its anchor than the positive, in Euclidean distance."""

ALPHA, BETA, BASE = 1.0, 60.0, 0.5
"""The weights and the shift of SapBERT (Liu et al. 2021), whose scheme this is."""

MOST = 128
"""Pairs (or vectors that are no pairs) that are looked at for all but the spread: more eigenvectors would be felt."""


def nt_xent(
    vectors: Tensor, temperature: float, excluded: Tensor | None = None, negatives: Tensor | None = None
) -> Tensor:
    """Return the mean loss of 2n anchors, `-log(exp(s_pos / t) / sum over j != i of exp(s_ij / t))` (Eq. 1)."""
    own, positive = _places(vectors)
    # In half precision a cosine's error would be a tenth of a nat at t = 0.04.
    with float32(vectors.device):
        unit = functional.normalize(vectors.float(), dim=-1)
        scores = unit @ _columns(unit, negatives).T / temperature
        left_out = torch.zeros_like(scores, dtype=torch.bool) if excluded is None else excluded.clone()
        left_out[own, positive] = False
        left_out[own, own] = True
        return functional.cross_entropy(scores.masked_fill(left_out, float("-inf")), positive)


def one_sided(
    vectors: Tensor, temperature: float, excluded: Tensor | None = None, negatives: Tensor | None = None
) -> Tensor:
    """Return the mean loss of n anchors, `-log(exp(s_ii' / t) / sum over j of exp(s_ij' / t))` (Eq. 4-5 of SimCSE).

    s_ij' is the cosine of row i and row n + j, or the negative j - n.
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


def _places(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers (2n,) of the rows, and those of their positives."""
    own = torch.arange(len(rows), device=rows.device)
    return own, own.roll(len(own) // 2)


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

    `guide` (2n, d) are the guide's unit vectors of the pairs, `negatives` (m, d) those of the hard negatives.
    """
    similarities = guide @ torch.cat([guide, negatives]).T
    return similarities > similarities[_places(guide)][:, None]


def multi_similarity(vectors: Tensor, excluded: Tensor | None = None, margin: float = MARGIN) -> Tensor:
    """Return the mean multi-similarity loss of 2n anchors over their mined pairs (Wang et al. 2019, Eq. 15).

    An anchor i with positive p and mined negatives N costs
    `log(1 + exp(-alpha (s_ip - base))) / alpha + log(1 + sum over N of exp(beta (s_ij - base))) / beta`;
    one without mined negatives costs nothing. A negative j is mined where `|i - j| - |i - p| <= margin`, the distances
    being those of unit vectors, at most 2.
    """
    own, positive = _places(vectors)
    with float32(vectors.device):
        unit = functional.normalize(vectors.float(), dim=-1)
        scores = unit @ unit.T
    distances = (2 - 2 * scores.detach()).clamp(min=0).sqrt()
    mined = distances - distances[own, positive][:, None] <= margin
    mined[own, own] = False
    mined[own, positive] = False
    if excluded is not None:
        mined &= ~excluded
    attraction = functional.softplus(-ALPHA * (scores[own, positive] - BASE)) / ALPHA
    pushes = (BETA * (scores - BASE)).masked_fill(~mined, float("-inf"))
    repulsion = functional.softplus(pushes.logsumexp(dim=1)) / BETA
    return torch.where(mined.any(dim=1), attraction + repulsion, 0.0).mean()


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

    z are the student's unit vectors (n, d), r the reference's and D the columns (k, d), which get no gradient. Without
    `divergence`, the cross-entropy: the same but for the entropy of SR(r, D, t_ref), which is constant.
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

    Both are scores (n, m), divided by their temperature.
    """
    return functional.cross_entropy(student, teacher.softmax(dim=-1))


def list_mle(student: Tensor, teacher: Tensor) -> Tensor:
    """Return the mean over rows and ranks of `-log(exp(s_r) / sum over r' >= r of exp(s_r'))` (Xia et al. 2008).

    That is the negative log-likelihood of the teacher's order, divided by the length m of the list: s are the student's
    scores (n, m), divided by their temperature, r a place in the order of the teacher's scores, the greatest first.
    """
    ordered = student.gather(1, teacher.argsort(dim=-1, descending=True, stable=True))
    return (ordered.flip(1).logcumsumexp(dim=-1).flip(1) - ordered).mean()


def jensen_shannon(first: Tensor, second: Tensor) -> Tensor:
    """Return the rows' mean of `1/2 KL(P || M) + 1/2 KL(Q || M)`, where `M = (P + Q) / 2`.

    P and Q are the softmax of the first and of the second scores (n, m).
    """
    log_p, log_q = first.log_softmax(dim=-1), second.log_softmax(dim=-1)
    log_m = torch.logaddexp(log_p, log_q) - log(2)
    to_p = functional.kl_div(log_m, log_p, reduction="batchmean", log_target=True)
    to_q = functional.kl_div(log_m, log_q, reduction="batchmean", log_target=True)
    return (to_p + to_q) / 2


def geometry(vectors: Tensor, *, paired: bool) -> dict[str, Tensor]:
    """Return how vectors (m, d) lie, as scalars in float32; where `paired`, rows i and m / 2 + i are two views of one.

    `spread` and `isotropy` are as the functions have them. `alignment`, where paired: mean |u - v|^2 over the pairs, 0
    to 4 (Wang & Isola 2020). `uniformity`: log of the mean of exp(-2 |u - v|^2) over two rows that are no pair, -8 to 0
    (the same). `random_cosine`: mean cosine of two rows that are no pair.
    """
    vectors = vectors.detach().float()
    found = {"spread": spread(vectors)}
    vectors = torch.cat([side[:MOST] for side in vectors.chunk(2 if paired else 1)])
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


def isotropy(vectors: Tensor) -> Tensor:
    """Return `min Z(c) / max Z(c)`, `Z(c) = sum over v in V of exp(c.v)`; 1 is perfect (Eq. 2 of Liu et al. 2021).

    c runs over the eigenvectors of V'V in both their directions, since an eigenvector has no sign of its own. V holds
    the `vectors` (m, d) as unit vectors, so that the score does not depend on their length.
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
