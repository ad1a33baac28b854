"""How the vectors of STS-B's sentences lie: isotropy, mean vector, alignment, uniformity, cosines.

Eq. 2 and 3 of Liu et al. 2021 (Mirror-BERT), who take 10,000 sentences of the train split; Wang & Isola 2020.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch

from trainers.encoders.vectors import Vectors
from trainers.losses import geometry
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
    "positive-cosine",
)
POSITIVE = 4.0  # the least grade of a positive pair, of 0 to 5
SETS = read_benchmarks("geometry", stsb=read_stsb)


def score_texts(
    texts: Sequence[str], positive: Sequence[tuple[str, str]], vectors: Vectors, seed: int = 0
) -> Result:
    """Return the metrics of the distinct texts, of all pairs of these, and of the pairs of equal meaning."""
    matrix = torch.from_numpy(vectors.of(list(dict.fromkeys(texts))))
    measures = geometry(matrix, paired=False, most=len(matrix))
    metrics = {name.replace("_", "-"): float(value) for name, value in measures.items()}
    metrics["mean-norm"] = float(matrix.double().mean(dim=0).norm())
    if positive:
        cosines = vectors.cosines(*([pair[side] for pair in positive] for side in (0, 1)))
        mean = float(cosines.mean())
        metrics |= {"alignment": 2 - 2 * mean, "positive-cosine": mean}
    return Result({name: metrics.get(name) for name in METRICS})


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
