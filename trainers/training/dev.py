"""Graded pairs that an encoder is scored on while it is trained: read, and scored by rank correlation."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
import xxhash

from pipelines.console import InputError, TwinviewsError
from trainers.data.labelled import read_graded
from trainers.evaluation.metrics import spearman
from trainers.evaluation.pairs import read_pairs
from trainers.evaluation.suites.sts import BENCHMARKS
from trainers.evaluation.task import HUB, Missing
from trainers.objective import Objective
from trainers.training.checks import undisturbed
from trainers.training.machine import autocast

DATA = "TWINVIEWS_DATA"
ANY_SCALE = (-1e6, 1e6)
"""Ranks are the same on every scale."""

SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
"""By sentence-transformers' names; distances are negative there, so that more is more alike."""


@dataclass(frozen=True, slots=True)
class DevSet:
    """Pairs of sentences and how alike people found them, on any scale."""

    first: Sequence[str]
    second: Sequence[str]
    grades: Sequence[float]

    def digest(self) -> str:
        """Return a hash of all pairs, grades and their order, 16 hex digits."""
        state = xxhash.xxh64()
        for row in zip(self.first, self.second, self.grades, strict=True):
            state.update("\0".join(map(str, row)).encode("utf-8", "surrogatepass") + b"\0")
        return state.hexdigest()

    def score(
        self, objective: Objective, precision: str = "fp32", similarity: Literal["cosine", "best"] = "cosine"
    ) -> float:
        """Return Spearman's rho x 100 of the similarities with the grades; 0 where all similarities are the same.

        `similarity` is the cosine, or whichever of `SIMILARITIES` agrees best with the grades. Dropout is off, and the
        random numbers of the training stay as they were. Raises TwinviewsError for vectors that are not finite.
        """
        from sentence_transformers import SimilarityFunction

        device = next(objective.encoder.parameters()).device
        # Sentences of like length together: little padding.
        texts = sorted(dict.fromkeys([*self.first, *self.second]), key=len)
        with undisturbed(device), torch.no_grad(), autocast(device, precision):
            vectors = objective.encode(texts, batch_size=128).double()
        if not torch.isfinite(vectors).all():
            raise TwinviewsError("the encoder gives NaN or infinity on the --dev pairs: lower --lr, or set --clip 1")
        row = {text: number for number, text in enumerate(texts)}
        left, right = ([row[text] for text in side] for side in (self.first, self.second))
        names = SIMILARITIES if similarity == "best" else [similarity]
        measures = map(SimilarityFunction.to_similarity_pairwise_fn, names)
        found = [spearman(self.grades, measure(vectors[left], vectors[right]).numpy()) for measure in measures]
        return max(0.0 if rho is None else 100 * rho for rho in found)


def read_dev(name: str, data: str | None) -> DevSet:
    """Read the pairs to score on: a file as `read_graded` knows it, or a benchmark by its name, such as stsb-dev.

    The benchmark lies in `data` (a folder, or `hf:ORGANISATION`), or in TWINVIEWS_DATA. Raises InputError where there
    is none that can be read.
    """
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    if name not in known:
        if not Path(name).is_file():
            raise InputError(f"--dev {name}: no such file, and no benchmark; benchmarks are {', '.join(known)}")
        examples, _ = read_graded(Path(name), ANY_SCALE)
        grades = examples.labels or []
        if len(set(grades)) < 2:
            raise InputError(f"--dev {name}: all of its {len(grades)} pairs have one grade: there is nothing to rank")
        return DevSet(examples.left, examples.right, grades)
    data = data or os.environ.get(DATA)
    if data is None:
        raise InputError(f"--dev {name} needs its data: give --dev-data DIR (or hf:mteb), or set {DATA}")
    if not data.startswith(HUB) and not Path(data).expanduser().is_dir():
        raise InputError(f"no data folder {data!r}: give --dev-data a folder that exists, or hf:mteb")
    found = read_pairs(known[name], data)
    if isinstance(found, Missing):
        raise InputError(f"--dev {name}: {found}")
    pairs = [pair for subset in found.subsets.values() for pair in subset]
    return DevSet([pair.first for pair in pairs], [pair.second for pair in pairs], [pair.gold for pair in pairs])
