"""How the vectors of STS-B's sentences lie: isotropy, mean vector, alignment, uniformity, cosines.

Isotropy score and mean-vector norm: Eq. 2 and 3 of Liu et al. 2021 (Mirror-BERT), who take 10,000 sentences of STS-B's
train split, so that this is looked at beside the test. Alignment and uniformity: Wang & Isola 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipelines.console import InputError
from trainers.evaluation.pairs import Pairs, read_all
from trainers.evaluation.reading import file_lines
from trainers.evaluation.suites.sts import STSB, STSB_TRAIN
from trainers.evaluation.task import HUB, Missing, Result, Task
from trainers.files import file_sha256

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from trainers.embedding.vectors import Vectors

METRICS = (
    "isotropy", "mean-norm", "spread", "uniformity", "alignment",
    "random-cosine", "random-sd", "positive-cosine", "positive-sd",
)  # fmt: skip
COUNTED = 0
DECIMALS = 3
UNITS = (
    "isotropy and spread go from 0 to 1, uniformity (a log) from -8 to 0, alignment (a squared distance) from 0 to 4"
)
POSITIVE = 4.0
"""The least grade of a positive pair, of 0 to 5."""
EDGES = np.linspace(-1.0, 1.0, 41)
"""The edges of the histograms of cosines."""
BLOCK = 1024
"""Rows of the matrix of all cosines that are made at a time."""


@dataclass(frozen=True, kw_only=True)
class TextSet(Task):
    """Texts to look at, and which pairs of them mean the same.

    Attributes:
        contents: Every text; one that is repeated counts once.
        items: What the checksum is of.
        count: How many pairs these are, or texts of one's own.
        positive: Two texts each.
    """

    contents: tuple[str, ...]
    items: tuple[str, ...]
    count: int
    positive: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """The number of pairs, or of texts of one's own."""
        return self.count

    def texts(self) -> Iterable[str]:
        """Yield every text."""
        return self.contents

    def lines(self) -> Iterable[str]:
        """Yield the lines of the pairs or texts."""
        return self.items

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return the metrics of the distinct texts, and as `parts` how many cosines lie where, if any.

        `isotropy`: `min Z(c) / max Z(c)` over the eigenvectors of V'V, 1 is perfect (Eq. 2 of Liu et al. 2021), V the
            unit vectors; see `trainers.losses.geometry.isotropy`.
        `mean-norm`: length of the mean vector, of the vectors as they are (Eq. 3 of the same).
        `spread`: `sqrt(1 - |mean unit vector|^2)`, 0 to 1.
        `uniformity`: log of the mean of exp(-2 |u - v|^2) over two texts, -8 to 0 (Wang & Isola 2020).
        `alignment`: mean |u - v|^2 of the positive pairs, 0 to 4 (the same).
        `random-cosine`, `random-sd`: mean and standard deviation over all pairs of two different texts.
        `positive-cosine`, `positive-sd`: the same over the positive pairs.

        Undefined of sparse vectors. Nothing is drawn.
        """
        matrix = vectors.of(list(dict.fromkeys(self.contents)))
        if not isinstance(matrix, np.ndarray):
            return Result(dict.fromkeys(METRICS))
        firsts, seconds = [first for first, _ in self.positive], [second for _, second in self.positive]
        positive = vectors.cosines(firsts, seconds) if self.positive else np.zeros(0)
        random, counts = all_pairs(matrix)
        found = {**_directions(matrix), **random, **_positive(positive)}
        return Result({name: found[name] for name in METRICS}, parts=_histogram(counts, _counts(positive)))


def all_pairs(vectors: NDArray[np.float32]) -> tuple[dict[str, float], NDArray[np.int64]]:
    """Return uniformity and the cosines of all n (n - 1) / 2 pairs of different rows, and their counts by `EDGES`.

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
    deviation = float(np.sqrt(max(squares / pairs - mean**2, 0.0)))
    return {"uniformity": float(np.log(near / pairs)), "random-cosine": mean, "random-sd": deviation}, counts


def _directions(vectors: NDArray[np.float32]) -> dict[str, float | None]:
    """Return what the vectors (n, d) give without pairs."""
    import torch

    from trainers.losses.geometry import isotropy, spread

    rows = torch.from_numpy(vectors)
    return {
        "isotropy": float(isotropy(rows)),
        "mean-norm": float(np.linalg.norm(vectors.mean(axis=0, dtype=np.float64))),
        "spread": float(spread(rows)),
    }


def _positive(cosines: NDArray[np.float64]) -> dict[str, float | None]:
    if not len(cosines):
        return {"alignment": None, "positive-cosine": None, "positive-sd": None}
    mean = float(cosines.mean())
    return {"alignment": 2 - 2 * mean, "positive-cosine": mean, "positive-sd": float(cosines.std())}


def _counts(cosines: ArrayLike) -> NDArray[np.int64]:
    # A rounded cosine can lie outside the range.
    return np.histogram(np.clip(cosines, -1.0, 1.0), EDGES)[0]


def _histogram(random: NDArray[np.int64], positive: NDArray[np.int64]) -> Mapping[str, Mapping[str, int]]:
    """Return the counts of the ranges that are not empty."""
    return {
        f"{low:.2f} to {high:.2f}": {"random pairs": int(one), "positive pairs": int(other)}
        for low, high, one, other in zip(EDGES[:-1], EDGES[1:], random, positive, strict=True)
        if one or other
    }


def find(data: str) -> tuple[list[TextSet], list[Missing]]:
    """Read the sentences from a folder or the Hub, and texts of one's own from `geometry/<name>.txt`, one a line.

    The names `word` and `phrase` stand in Mirror-BERT's columns.

    Raises:
        InputError: A file is malformed, or a count is wrong.
    """
    found, missing = read_all((STSB, STSB_TRAIN), data)
    own = [] if data.startswith(HUB) else sorted((Path(data).expanduser() / "geometry").glob("*.txt"))
    return [*map(of_pairs, found), *map(_read, own)], missing


def of_pairs(pairs: Pairs) -> TextSet:
    """Return the sentences of graded pairs; those graded `POSITIVE` or more are the positive ones."""
    every = [pair for subset in pairs.subsets.values() for pair in subset]
    return TextSet(
        name=pairs.name, title=pairs.title, source=pairs.source, files=pairs.files, note=UNITS, counted=False,
        contents=tuple(pairs.texts()), items=tuple(pairs.lines()), count=pairs.size,
        positive=tuple((pair.first, pair.second) for pair in every if pair.gold >= POSITIVE),
    )  # fmt: skip


def _read(path: Path) -> TextSet:
    lines = tuple(line.strip() for line in file_lines(path) if line.strip())
    if len(set(lines)) < 2:
        raise InputError(f"{path}: two different texts are needed, one a line")
    if path.stem in (STSB.name, STSB_TRAIN.name):
        raise InputError(f"{path}: {path.stem} is the name of a known set: give the file another one")
    return TextSet(
        name=path.stem, title=path.stem, source=str(path), files={path.name: file_sha256(path)}, note=UNITS,
        counted=False, contents=lines, items=("\n".join(lines),), count=len(lines),
    )  # fmt: skip
