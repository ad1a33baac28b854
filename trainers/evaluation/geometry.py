"""How an encoder's vectors of some texts lie in their space."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trainers.evaluation.graded import GradedSet
from trainers.evaluation.task import Result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from trainers.evaluation.vectors import Matrix, Vectors

FIGURES = (
    "isotropy", "mean-norm", "spread", "uniformity", "alignment",
    "random-cosine", "random-sd", "positive-cosine", "positive-sd",
)  # fmt: skip
UNITS = (
    "isotropy and spread go from 0 to 1, uniformity (a log) from -8 to 0, alignment (a squared distance) from 0 to 4"
)

POSITIVE = 4.0
"""The least grade of a positive pair, of 0 to 5."""
EDGES = np.linspace(-1.0, 1.0, 41)
"""The edges of the histograms of cosines."""
BLOCK = 1024
"""Rows of the matrix of all cosines that are made at a time."""
MOST = 4096
"""Most eigenvectors that are looked for: of more, which only sparse vectors have, it would take too long."""


@dataclass(frozen=True, slots=True)
class GeometrySet:
    """A graded set, of whose grades no more is asked than which pairs are positive."""

    graded: GradedSet

    @property
    def name(self) -> str:
        """The graded set's short name."""
        return self.graded.name

    @property
    def title(self) -> str:
        """The graded set's name as papers print it."""
        return self.graded.title

    @property
    def size(self) -> int:
        """The number of pairs."""
        return self.graded.size

    @property
    def source(self) -> str:
        """The folder or the Hub name that it was read from."""
        return self.graded.source

    @property
    def files(self) -> Mapping[str, str]:
        """The sha256 of each file that was read."""
        return self.graded.files

    @property
    def note(self) -> str:
        """The units."""
        return UNITS

    @property
    def counted(self) -> bool:
        """Nothing here is averaged."""
        return False

    def texts(self) -> Iterable[str]:
        """Yield both sides of every pair."""
        return self.graded.texts()

    def sha256(self) -> str:
        """Return a checksum of the pairs."""
        return self.graded.sha256()

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return the figures of the distinct sentences and of the pairs graded 4 or more; see `geometry`."""
        pairs = [pair for pairs in self.graded.subsets.values() for pair in pairs if pair.gold >= POSITIVE]
        return geometry(vectors, self.texts(), [(pair.first, pair.second) for pair in pairs])


@dataclass(frozen=True, slots=True)
class TextSet:
    """Texts of one's own, such as words or names; without pairs, so that nothing positive can be measured."""

    name: str
    lines: tuple[str, ...]
    source: str
    files: Mapping[str, str] = field(default_factory=dict)
    note: str | None = UNITS
    counted: bool = False

    @property
    def title(self) -> str:
        """The name."""
        return self.name

    @property
    def size(self) -> int:
        """The number of texts."""
        return len(self.lines)

    def texts(self) -> Iterable[str]:
        """Yield every text."""
        return self.lines

    def sha256(self) -> str:
        """Return a checksum of the texts."""
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return the figures of the distinct texts; see `geometry`."""
        return geometry(vectors, self.lines, [])


def geometry(vectors: Vectors, texts: Iterable[str], pairs: Sequence[tuple[str, str]]) -> Result:
    """Return the figures of the distinct texts, and as `parts` how many cosines lie where, if any.

    `isotropy`: `min Z(c) / max Z(c)` over the eigenvectors of V'V, 1 is perfect (Eq. 2 of Liu et al. 2021), V the
        unit vectors; see `trainers.training.watch.isotropy`. None of more than 4,096 dimensions.
    `mean-norm`: length of the mean vector, of the vectors as they are (Eq. 3 of the same).
    `spread`: `sqrt(1 - |mean unit vector|^2)`, 0 to 1.
    `uniformity`: log of the mean of exp(-2 |u - v|^2) over two texts, -8 to 0 (Wang & Isola 2020).
    `alignment`: mean |u - v|^2 of the positive pairs, 0 to 4 (the same).
    `random-cosine`, `random-sd`: mean and standard deviation over all pairs of two different texts.
    `positive-cosine`, `positive-sd`: the same over the positive pairs.

    Args:
        vectors: Of all the texts.
        texts: Two different ones at least.
        pairs: Two texts each that mean the same.
    """
    firsts, seconds = [first for first, _ in pairs], [second for _, second in pairs]
    positive = vectors.cosines(firsts, seconds) if pairs else np.zeros(0)
    matrix = _dense(vectors.of(list(dict.fromkeys(texts))))
    random = all_pairs(matrix)
    found = {**_alone(matrix), **random.figures, **_positive(positive)}
    return Result({name: found[name] for name in FIGURES}, parts=_histogram(random.counts, _counts(positive)))


@dataclass(frozen=True, slots=True)
class AllPairs:
    """What all pairs of different rows give: figures, and how many cosines lie between two of `EDGES`."""

    figures: Mapping[str, float]
    counts: NDArray[np.int64]


def all_pairs(vectors: NDArray[np.float32]) -> AllPairs:
    """Return uniformity and the cosines of all n (n - 1) / 2 pairs of different rows, from blocks of them.

    Args:
        vectors: (n, d), not normalised; n > 1.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    counts = np.zeros(len(EDGES) - 1, dtype=np.int64)
    total = squares = near = 0.0
    for start in range(0, len(unit), BLOCK):
        rows = unit[start : start + BLOCK]
        # What stands left of the block is another block's.
        later = np.triu(np.ones((len(rows), len(unit) - start), dtype=np.bool_), 1)
        cosines = (rows @ unit[start:].T)[later]
        counts += _counts(cosines)
        total += float(cosines.sum(dtype=np.float64))
        squares += float(np.square(cosines).sum(dtype=np.float64))
        near += float(np.exp(4 * cosines - 4).sum(dtype=np.float64))
    pairs = len(unit) * (len(unit) - 1) // 2
    mean = total / pairs
    figures = {
        "uniformity": float(np.log(near / pairs)),
        "random-cosine": mean,
        "random-sd": float(np.sqrt(max(squares / pairs - mean**2, 0.0))),
    }
    return AllPairs(figures, counts)


def _alone(vectors: NDArray[np.float32]) -> dict[str, float | None]:
    """Return what the sentences' vectors (n, d) give without pairs."""
    import torch

    from trainers.losses.geometry import isotropy, spread

    rows = torch.from_numpy(vectors)
    return {
        "isotropy": float(isotropy(rows)) if min(rows.shape) <= MOST else None,
        "mean-norm": float(np.linalg.norm(vectors.mean(axis=0, dtype=np.float64))),
        "spread": float(spread(rows)),
    }


def _positive(cosines: NDArray[np.float64]) -> dict[str, float | None]:
    if not len(cosines):
        return {"alignment": None, "positive-cosine": None, "positive-sd": None}
    mean = float(cosines.mean())
    return {"alignment": 2 - 2 * mean, "positive-cosine": mean, "positive-sd": float(cosines.std())}


def _dense(matrix: Matrix) -> NDArray[np.float32]:
    """Return an array; of sparse vectors without the dimensions that are zero in all of them."""
    if isinstance(matrix, np.ndarray):
        return matrix
    return np.asarray(matrix[:, np.flatnonzero(matrix.getnnz(axis=0))].toarray(), dtype=np.float32)


def _counts(cosines: ArrayLike) -> NDArray[np.int64]:
    # A rounded cosine can lie beside the range.
    return np.histogram(np.clip(cosines, -1.0, 1.0), EDGES)[0]


def _histogram(random: NDArray[np.int64], positive: NDArray[np.int64]) -> dict[str, dict[str, int]]:
    """Return the counts of the ranges that are not empty."""
    return {
        f"{low:.2f} to {high:.2f}": {"random pairs": int(one), "positive pairs": int(other)}
        for low, high, one, other in zip(EDGES[:-1], EDGES[1:], random, positive, strict=True)
        if one or other
    }
