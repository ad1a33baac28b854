"""How the vectors of STS-B's sentences lie: isotropy, mean vector, alignment, uniformity, cosines.

Eq. 2 and 3 of Liu et al. 2021 (Mirror-BERT), who take 10,000 sentences of the train split; Wang & Isola 2020.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from trainers.encoders.vectors import Vectors, unit
from trainers.losses import isotropy, spread
from trainers.scores.pairs import Pairs, read_benchmarks, read_pairs
from trainers.scores.suites.sts import read_stsb
from trainers.scores.task import Missing, Result, Task

METRICS = (
    "isotropy",
    "mean-norm",
    "spread",
    "uniformity",
    "alignment",
    "random-cosine",
    "random-sd",
    "positive-cosine",
    "positive-sd",
)
POSITIVE = 4.0  # the least grade of a positive pair, of 0 to 5
SETS = read_benchmarks("geometry", stsb=read_stsb)
BLOCK = 1024  # rows of the matrix of all cosines that are computed at a time


def score_texts(
    texts: Sequence[str], positive: Sequence[tuple[str, str]], vectors: Vectors, seed: int = 0
) -> Result:
    """Return the metrics of the distinct texts, of all pairs of these, and of the pairs of equal meaning."""
    matrix = vectors.of(list(dict.fromkeys(texts)))
    rows = torch.from_numpy(matrix)
    norm = float(np.linalg.norm(matrix.mean(axis=0, dtype=np.float64)))
    metrics = {
        "isotropy": float(isotropy(rows)),
        "mean-norm": norm,
        "spread": float(spread(rows)),
        **all_pairs(matrix),
    }
    if positive:
        cosines = vectors.cosines(*([pair[side] for pair in positive] for side in (0, 1)))
        mean = float(cosines.mean())
        metrics |= {"alignment": 2 - 2 * mean, "positive-cosine": mean, "positive-sd": float(cosines.std())}
    return Result({name: metrics.get(name) for name in METRICS})


def all_pairs(vectors: NDArray[np.float32]) -> dict[str, float]:
    """Return uniformity and the cosines of all n (n - 1) / 2 pairs of different rows of (n, d); n > 1."""
    rows = unit(vectors)
    sums = np.zeros(3)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        # The columns left of the block belong to earlier blocks.
        later = np.triu(np.ones((len(block), len(rows) - start), dtype=np.bool_), 1)
        cosines = (block @ rows[start:].T)[later]
        sums += [
            terms.sum(dtype=np.float64) for terms in (cosines, np.square(cosines), np.exp(4 * cosines - 4))
        ]
    mean, square, near = (sums / (len(rows) * (len(rows) - 1) // 2)).tolist()
    deviation = float(np.sqrt(max(square - mean**2, 0.0)))
    return {"uniformity": float(np.log(near)), "random-cosine": mean, "random-sd": deviation}


def find(data: str) -> list[Task | Missing]:
    """Read the sentences; the pairs graded at least `POSITIVE` are the positive ones."""
    sets: list[Task | Missing] = []
    for item in (read_pairs(benchmark, data) for benchmark in SETS):
        if isinstance(item, Pairs):
            positive = [
                pair[:2] for subset in item.subsets.values() for pair in subset if pair.gold >= POSITIVE
            ]
            item = replace(item, score=partial(score_texts, item.texts, positive))
        sets.append(item)
    return sets
