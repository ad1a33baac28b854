"""The best weights of a training, by its scores on the development set, and the files that keep them."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from pipelines.base.console import TwinviewsError
from trainers.objective import Objective
from trainers.processes import is_first
from trainers.settings import Training
from trainers.training.directory import checkpoints, history_of

DEV = "dev"  # the development score's key in the log
BEST = "best-{step}.safetensors"

History = Sequence[Mapping[str, float]]
"""What was logged so far. Every checkpoint has it, so a resumed run decides as an uninterrupted one does."""


def dev_scores(history: History) -> dict[int, float]:
    """Return the development scores by step; that of step 0 is from before the training."""
    return {int(entry["step"]): entry[DEV] for entry in history if DEV in entry}


def best_step(history: History) -> int | None:
    """Return the step of the best score, the first of several equal ones; None before the first score."""
    scores = dev_scores(history)
    return max(scores, key=scores.__getitem__, default=None)


def out_of_patience(training: Training, history: History) -> bool:
    """Whether `patience` scores or more came after the best one since the training began."""
    best = best_step([entry for entry in history if entry["step"]]) or 0
    later = sum(step > best for step in dev_scores(history))
    return training.patience is not None and later >= training.patience


def keep_best(folder: Path, objective: Objective, history: History) -> None:
    """Write the weights if the newest score is the best, and delete those that no checkpoint needs."""
    step = best_step(history)
    if step is None or step != history[-1]["step"]:
        return
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / "best.tmp"
    save_file({name: tensor.contiguous() for name, tensor in objective.state_dict().items()}, draft)
    os.replace(draft, folder / BEST.format(step=step))
    # A run that is killed before its next checkpoint resumes from an older one, whose best step may be older
    # too.
    steps = {step, *(best_step(history_of(checkpoint)) for checkpoint in checkpoints(folder))}
    for path in {*folder.glob("best-*")} - {folder / BEST.format(step=kept_step) for kept_step in steps}:
        path.unlink()


def restore_best(folder: Path, objective: Objective, history: History) -> int | None:
    """Load the best weights into `objective`, in the first process.

    Returns their step, None without any score.
    """
    step = best_step(history)
    if step is not None and is_first():
        path = folder / BEST.format(step=step)
        try:
            load_weights(objective, path)
        except (OSError, SafetensorError):
            raise TwinviewsError(
                f"cannot read the best weights, {path}: train again with --overwrite"
            ) from None
    return step


def load_weights(objective: Objective, path: Path) -> None:
    """Load what `state_dict` gave, in which shared tensors have one name."""
    objective.load_state_dict(load_file(path), strict=False)
