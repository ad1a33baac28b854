"""How the vectors of STS-B's sentences lie: isotropy, mean vector, alignment, uniformity, cosines.

Eq. 2 and 3 of Liu et al. 2021 (Mirror-BERT), who take 10,000 sentences of the train split; Wang & Isola 2020.
"""

import torch

from trainers.encoders.vectors import Vectors
from trainers.losses import geometry
from trainers.scores.pairs import Subsets, read_benchmarks
from trainers.scores.suites.sts import read_stsb
from trainers.scores.task import Result

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


def score(subsets: Subsets, vectors: Vectors, seed: int = 0) -> Result:
    """Return the metrics of the distinct texts, of all pairs of these, and of the pairs of equal meaning."""
    pairs = [pair for part in subsets.values() for pair in part]
    positive = [pair for pair in pairs if pair.gold >= POSITIVE]
    texts = dict.fromkeys(text for pair in pairs for text in pair[:2])
    matrix = torch.from_numpy(vectors.of(list(texts)))
    measures = geometry(matrix, paired=False, most=len(matrix))
    metrics = {name.replace("_", "-"): float(value) for name, value in measures.items()}
    metrics["mean-norm"] = float(matrix.double().mean(dim=0).norm())
    if positive:
        first, second, _ = zip(*positive, strict=True)
        mean = float(vectors.cosines(first, second).mean())
        metrics |= {"alignment": 2 - 2 * mean, "positive-cosine": mean}
    return Result({name: metrics.get(name) for name in METRICS})


BENCHMARKS = read_benchmarks("geometry", score, stsb=read_stsb)
