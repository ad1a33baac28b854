"""Graded pairs that an encoder is scored on while it is trained, and the weights that scored best."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
import xxhash
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from pipelines.console import InputError, TwinviewsError
from trainers.data.kinds import read_graded
from trainers.evaluation.metrics import spearman
from trainers.evaluation.pairs import read_pairs
from trainers.evaluation.suites.sts import BENCHMARKS
from trainers.evaluation.task import HUB, Missing
from trainers.objective import Objective
from trainers.processes import is_first
from trainers.settings import Training
from trainers.training.checks import undisturbed
from trainers.training.directory import checkpoints, history_of
from trainers.training.machine import autocast

DEV = "dev"
"""The development score's key in the log."""
DATA = "TWINVIEWS_DATA"
ANY_SCALE = (-1e6, 1e6)
"""Ranks are the same on every scale."""
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")
"""By sentence-transformers' names; distances are negative there, so that more is more alike."""
BEST = "best-{step}.safetensors"

History = Sequence[Mapping[str, float]]
"""What was logged so far. It is part of every checkpoint, so that a resumed run goes on as if nothing had been."""


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


def read_dev(name: str, data: str | None, option: str = "--dev") -> DevSet:
    """Read the pairs to score on: a file as `read_graded` knows it, or a benchmark by its name, such as stsb-dev.

    The benchmark lies in `data` (a folder, or `hf:ORGANISATION`), or in TWINVIEWS_DATA. Raises InputError, with
    the option that named them, where there is none that can be read.
    """
    known = {benchmark.name: benchmark for benchmark in BENCHMARKS}
    if name not in known:
        if not Path(name).is_file():
            raise InputError(f"{option} {name}: no such file, and no benchmark; benchmarks are {', '.join(known)}")
        examples, _ = read_graded(Path(name), ANY_SCALE)
        grades = examples.labels or []
        if len(set(grades)) < 2:
            raise InputError(f"{option} {name}: all of its {len(grades)} pairs have one grade: nothing to rank")
        return DevSet(examples.left, examples.right, grades)
    data = data or os.environ.get(DATA, "")
    if not data.startswith(HUB) and not (data and Path(data).expanduser().is_dir()):
        raise InputError(f"{option} {name}: no data folder {data!r}: give --dev-data DIR (or hf:mteb), or set {DATA}")
    found = read_pairs(known[name], data)
    if isinstance(found, Missing):
        raise InputError(f"{option} {name}: {found}")
    pairs = [pair for subset in found.subsets.values() for pair in subset]
    return DevSet([pair.first for pair in pairs], [pair.second for pair in pairs], [pair.gold for pair in pairs])


def dev_scores(history: History) -> dict[int, float]:
    """Return the development scores of a training so far by step; that of step 0 is the untrained encoder's."""
    return {int(entry["step"]): entry[DEV] for entry in history if DEV in entry}


def best_step(history: History) -> int | None:
    """Return the step of the best score, the first of several equal ones; None where there is none yet."""
    scores = dev_scores(history)
    return max((step for step in scores if step), key=scores.__getitem__, default=None)


def out_of_patience(training: Training, history: History) -> bool:
    """Whether as many scores as the run has patience for came after the best one."""
    best = best_step(history)
    later = [step for step in dev_scores(history) if best is not None and step > best]
    return training.patience is not None and len(later) >= training.patience


def keep_best(folder: Path, objective: Objective, history: History) -> None:
    """Write the weights if the newest score is the best; those stay that a checkpoint's history says were the best."""
    step = best_step(history)
    if step is None or step != history[-1]["step"]:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / BEST.format(step=step)
    save_file({name: tensor.contiguous() for name, tensor in objective.state_dict().items()}, path.with_suffix(".tmp"))
    os.replace(path.with_suffix(".tmp"), path)
    # A run that is killed before its next checkpoint needs the older ones.
    kept = {step, *(best_step(history_of(checkpoint)) for checkpoint in checkpoints(folder))}
    for other in set(folder.glob("best-*")) - {folder / BEST.format(step=each) for each in kept}:
        other.unlink()


def restore_best(folder: Path, objective: Objective, history: History) -> int | None:
    """Give `objective` the best weights back, in the first process; returns their step, None without any score."""
    step = best_step(history)
    if step is not None and is_first():
        path = folder / BEST.format(step=step)
        try:
            objective.load_state_dict(load_file(path))
        except (OSError, SafetensorError):
            raise TwinviewsError(
                f"the best weights of the run, {path}, cannot be read: train again with --overwrite"
            ) from None
    return step
