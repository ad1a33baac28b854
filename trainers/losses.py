"""Losses that objectives share, and measures of how sentence vectors lie.

In a batch (2n, d), rows i and n + i are a positive pair; s is the cosine. Hard negatives (m, d) are further
columns for every anchor. `excluded` is (2n, 2n + m), true if column j is not a negative of anchor i; positives
are never excluded. `positives` (2n, 2n), where given, is true for further positives.
"""

import torch
from torch import Tensor, nn

from trainers.objective import float32

MARGIN, ALPHA, BETA, BASE = 0.2, 1.0, 60.0, 0.5
"""Multi-similarity as in SapBERT (arXiv:2010.11784): margin of a mined negative (Euclidean), weights,
shift."""
MAX_MEASURED = 128  # pairs (or unpaired vectors) that all measures but the spread look at; more would be slow


def contrast(
    vectors: Tensor,
    temperature: float,
    excluded: Tensor | None = None,
    negatives: Tensor | None = None,
    *,
    one_sided: bool = False,
    positives: Tensor | None = None,
) -> Tensor:
    """The anchors' mean of `-log(exp(s_ip / t) / sum over j of exp(s_ij / t))`, where p is i's positive.

    All 2n rows of `vectors`, of any length, are anchors, each compared with all others (NT-Xent; Eq. 1 of
    arXiv:2104.08027). `one_sided`: the n first views are, each compared with the n second views (Eq. 4-5 of
    arXiv:2104.08821). With `positives` it is the mean over the anchor's positives, all of them in the sum
    (L_out, Eq. 2 of arXiv:2004.11362). `temperature` is t, above 0; the loss is a scalar in nats.
    """
    rows, positive = _places(vectors)
    anchors = len(vectors) // 2 if one_sided else len(vectors)
    first_column = len(vectors) - anchors
    # In half precision a cosine's error would be a tenth of a nat at t = 0.04.
    with float32(vectors.device):
        unit = nn.functional.normalize(vectors.float(), dim=-1)
        hard = unit[:0] if negatives is None else nn.functional.normalize(negatives.float(), dim=-1)
        scores = unit[:anchors] @ torch.cat([unit[first_column:], hard]).T / temperature
        ignored = (
            rows.new_zeros(len(unit), len(unit) + len(hard)).bool() if excluded is None else excluded.clone()
        )
        ignored[rows, rows] = True
        ignored[rows, positive] = False
        if positives is not None:
            targets = nn.functional.pad(positives, (0, len(hard)))
            targets[rows, positive] = True
            targets[rows, rows] = False
            ignored &= ~targets
        scores = scores.masked_fill(ignored[:anchors, first_column:], float("-inf"))
        if positives is None:
            return nn.functional.cross_entropy(scores, positive[:anchors] - first_column)
        targets = targets[:anchors, first_column:]
        shares = scores.log_softmax(dim=1).masked_fill(~targets, 0.0).sum(dim=1) / targets.sum(dim=1)
        return -shares.mean()


def _places(rows: Tensor) -> tuple[Tensor, Tensor]:
    numbers = torch.arange(len(rows), device=rows.device)
    return numbers, numbers.roll(len(numbers) // 2)


def equal_strings(keys: Tensor) -> Tensor:
    """(2n, 2n + m), true if column j is no true negative of anchor i: it equals i, its source or its positive.

    `keys` (n, 3 + k) are equal numbers for equal strings: a pair's source, left and right string, and its k
    hard negatives (-1: none, which is no negative either). m is k times n.
    """
    source = keys[:, 0].repeat(2)
    string = torch.cat([keys[:, 1], keys[:, 2]])
    partner = torch.cat([keys[:, 2], keys[:, 1]])
    same = (string[:, None] == string[None]) | (partner[:, None] == string[None])
    negative = keys[:, 3:].T.flatten()
    hard = (source[:, None] == negative) | (string[:, None] == negative) | (partner[:, None] == negative)
    return torch.cat([same | (source[:, None] == source[None]), hard | (negative < 0)], dim=1)


def same_label(keys: Tensor, labels: Tensor) -> Tensor:
    """(2n, 2n), true if row j has anchor i's label and is another string; `labels` (n,) are -1 for none."""
    string, label = keys[:, 1:3].T.flatten(), labels.repeat(2)
    return (label[:, None] == label) & (label >= 0) & (string[:, None] != string)


def closer_than_positive(guide: Tensor, negatives: Tensor, *, keep_own: bool = False) -> Tensor:
    """(2n, 2n + m), true if a guide (2n, d) has column j closer to i than i's positive (arXiv:2402.16829).

    With `keep_own` a row's own hard negatives are never left out, however close.
    """
    similarities = guide @ torch.cat([guide, negatives]).T
    closer = similarities > similarities[_places(guide)][:, None]
    if keep_own:
        rows = len(guide) // 2
        closer[:, len(guide) :].view(2, rows, -1, rows).diagonal(dim1=1, dim2=3).fill_(False)
    return closer


def moved_cosines(vectors: Tensor, originals: Tensor) -> Tensor:
    """The mean squared difference of the cosines between all rows of `vectors` and of `originals`, (n, d)."""
    now, before = (nn.functional.normalize(rows.float(), dim=-1) for rows in (vectors, originals))
    return nn.functional.mse_loss(now @ now.T, before @ before.T)


def multi_similarity(vectors: Tensor, excluded: Tensor | None = None) -> Tensor:
    """Return the mean multi-similarity loss of 2n anchors over their mined pairs (Eq. 15 of arXiv:1904.06627).

    `log(1 + exp(-alpha (s_ip - base))) / alpha + log(1 + sum over N of exp(beta (s_ij - base))) / beta` is the
    loss of an anchor i with positive p and mined negatives N, 0 without any. A negative j is mined if
    `|i - j| - |i - p| <= MARGIN`, with distances between unit vectors, at most 2.
    """
    rows, positive = _places(vectors)
    with float32(vectors.device):
        unit = nn.functional.normalize(vectors.float(), dim=-1)
        scores = unit @ unit.T
    distances = (2 - 2 * scores.detach()).clamp(min=0).sqrt()
    mined = distances - distances[rows, positive][:, None] <= MARGIN
    mined[rows, rows] = mined[rows, positive] = False
    if excluded is not None:
        mined &= ~excluded
    attraction = nn.functional.softplus(-ALPHA * (scores[rows, positive] - BASE)) / ALPHA
    exponents = (BETA * (scores - BASE)).masked_fill(~mined, float("-inf"))
    repulsion = nn.functional.softplus(exponents.logsumexp(dim=1)) / BETA
    return torch.where(mined.any(dim=1), attraction + repulsion, 0.0).mean()


class Queue(nn.Module):
    """The k newest unit reference vectors, first in, first out, starting with random ones.

    A buffer of checkpoints.
    """

    vectors: Tensor

    def __init__(self, size: int, dimension: int) -> None:
        super().__init__()
        self.register_buffer("vectors", nn.functional.normalize(torch.randn(size, dimension), dim=-1))

    def forward(self, references: Tensor) -> Tensor:
        """Return the columns (k + n, d): the queue, then the batch's references (n, d), which enter it in training."""
        columns = torch.cat([self.vectors, references])
        if self.training:
            self.vectors.copy_(columns[len(references) :])
        return columns


def relation_loss(
    student: Tensor,
    reference: Tensor,
    columns: Tensor,
    student_temperature: float,
    reference_temperature: float,
    *,
    divergence: bool = True,
) -> Tensor:
    """The batch's mean of `KL(SR(r, D, t_ref) || SR(z, D, t))`, where `SR(z, D, t) = softmax(z D^T / t)`.

    z are the student's unit vectors (n, d), r the reference's and D the columns (k, d), which get no gradient.
    Without `divergence` it is the cross-entropy, which differs by a constant, the entropy of SR(r, D, t_ref).
    """
    log_p = nn.functional.log_softmax(reference @ columns.T / reference_temperature, dim=-1)
    log_q = nn.functional.log_softmax(student @ columns.T / student_temperature, dim=-1)
    if divergence:
        return nn.functional.kl_div(log_q, log_p, reduction="batchmean", log_target=True)
    return -(log_p.exp() * log_q).sum(dim=-1).mean()


def geometry(vectors: Tensor, *, paired: bool, most: int = MAX_MEASURED) -> dict[str, Tensor]:
    """How vectors (m, d) lie, as float32 scalars; if `paired`, rows i and m / 2 + i are views of one sentence.

    `alignment`: mean |u - v|^2 over the pairs, 0 to 4; `uniformity`: log of the mean of exp(-2 |u - v|^2)
    over all others, -8 to 0 (Wang & Isola 2020); `random_cosine`: their mean cosine; `spread` and `isotropy`:
    see the functions. All but the spread are of the first `most` rows of each side.
    """
    vectors = vectors.detach().float()
    measures = {"spread": spread(vectors)}
    vectors = torch.cat([side[:most] for side in vectors.chunk(2 if paired else 1)])
    unit = nn.functional.normalize(vectors, dim=-1)
    cosines = unit @ unit.T
    apart = ~torch.eye(len(unit), dtype=torch.bool, device=unit.device)
    if paired:
        first, second = unit.chunk(2)
        measures["alignment"] = (first - second).square().sum(dim=-1).mean()
        apart &= ~torch.eye(len(first), dtype=torch.bool, device=unit.device).repeat(2, 2)
    count = apart.sum()  # boolean indexing would wait for a GPU to know the size
    measures["uniformity"] = ((4 * cosines - 4).exp() * apart).sum().div(count).log()
    measures["random_cosine"] = (cosines * apart).sum() / count
    return {**measures, "isotropy": isotropy(vectors)}


def isotropy(vectors: Tensor) -> Tensor:
    """`min Z(c) / max Z(c)`, `Z(c) = sum over v in V of exp(c.v)`; 1 is perfect (Eq. 2 of arXiv:2104.08027).

    c runs over the eigenvectors of V'V in both directions, as their sign is arbitrary; V are unit `vectors`
    (m, d).
    """
    unit = nn.functional.normalize(vectors.double(), dim=-1)
    count, dimension = unit.shape
    if count >= dimension:
        projected = unit @ torch.linalg.eigh(unit.T @ unit).eigenvectors
    else:
        # VV' has the same non-zero eigenvalues and is smaller. The other eigenvectors are orthogonal to V: Z =
        # m.
        eigenvalues, eigenvectors = torch.linalg.eigh(unit @ unit.T)
        projected = nn.functional.pad(eigenvectors * eigenvalues.clamp(min=0).sqrt(), (0, 1))
    sums = torch.cat([projected, -projected], dim=1).exp().sum(dim=0)
    return (sums.min() / sums.max()).float()


def spread(vectors: Tensor) -> Tensor:
    """Return `sqrt(1 - |mean unit vector|^2)` of vectors (n, d): 0 if all point the same way (collapse), at most 1."""
    mean = nn.functional.normalize(vectors.detach().float(), dim=-1).mean(dim=0)
    return (1 - mean.square().sum()).clamp(min=0).sqrt()
