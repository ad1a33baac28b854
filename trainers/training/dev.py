"""The development set: graded pairs that an encoder is scored on while it is trained."""

import torch
from sentence_transformers import SimilarityFunction

from pipelines.terminal.console import TwinviewsError
from trainers.data.examples import Examples
from trainers.encoders.model import described
from trainers.encoders.vectors import Vectors
from trainers.evaluation.pairs import spearman
from trainers.evaluation.task import SEED, Task
from trainers.objective import Objective, resolve_precision

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")  # sentence-transformers' names; it negates the distances


def dev_score(
    dev: Examples | Task, objective: Objective, precision: str = "fp32", similarity: str = "cosine"
) -> float | None:
    """Return 100 times Spearman's rho, or a task's figure, None if undefined, of an encoder as it would be saved.

    "best" is whichever of `SIMILARITIES` correlates best. Raises TwinviewsError for NaN or infinity.
    """
    encoder, mode = objective.encoder, objective.encoder.training
    model = described(encoder, None, "bf16" if resolve_precision(precision) == "bf16" else "fp32")
    try:
        vectors = Vectors.encode(model, dev.texts if isinstance(dev, Task) else [*dev.left, *dev.right])
    except TwinviewsError as error:
        raise TwinviewsError(f"{error}, of --dev: lower --lr, or set --clip 1") from None
    finally:
        encoder.train(mode)
    if isinstance(dev, Task):
        return next(iter(dev.score(vectors, SEED).metrics.values()))
    left, right = (torch.from_numpy(vectors.of(side)).double() for side in (dev.left, dev.right))
    names = SIMILARITIES if similarity == "best" else [similarity]
    measures = map(SimilarityFunction.to_similarity_pairwise_fn, names)
    rhos = (spearman(dev.labels or [], measure(left, right).numpy()) for measure in measures)
    return max((100 * rho for rho in rhos if rho is not None), default=None)
