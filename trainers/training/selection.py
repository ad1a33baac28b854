"""Scores on a development set along a training: when, which encoder is the best so far, and when to stop."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from pipelines.console import TwinviewsError
from trainers.processes import is_first
from trainers.training.checkpoints import checkpoints, history_of

if TYPE_CHECKING:
    from trainers.objective import Objective
    from trainers.settings import Training

DEV = "dev"
"""The score's key in the log."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The development scores of a training so far: before it, and after the steps at which it was scored."""

    start: float | None
    steps: tuple[int, ...]
    values: tuple[float, ...]

    @classmethod
    def of(cls, history: Sequence[Mapping[str, float]]) -> Scores:
        """Read them from a log, which is part of every checkpoint."""
        found = {int(entry["step"]): entry[DEV] for entry in history if DEV in entry}
        start = found.pop(0, None)
        return cls(start, tuple(found), tuple(found.values()))

    @property
    def best(self) -> int | None:
        """The step of the best score, the first of several equal ones; None where there is none yet."""
        return self.steps[self.values.index(max(self.values))] if self.values else None

    @property
    def since_best(self) -> int:
        """How many scores came after the best one."""
        return len(self.values) - 1 - self.values.index(max(self.values)) if self.values else 0

    def at(self, step: int) -> float:
        """Return the score at a step."""
        return self.values[self.steps.index(step)]


class Selection(TrainerCallback):  # type: ignore[misc] # transformers is untyped here
    """Asks for a score every so often, keeps the weights that scored best, and stops when patience is at its end.

    What it knows stands in the log of the training's state alone, so a resumed run goes on as if nothing had been.
    """

    def __init__(self, training: Training, total: int, folder: Path) -> None:
        self.training = training
        self.folder = folder
        self.due = {max(1, round(total * turn / training.evaluations)) for turn in range(1, training.evaluations + 1)}

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any  # noqa: ANN401
    ) -> None:  # fmt: skip
        """Ask for a score, and for a line of the log to stand beside it."""
        if state.global_step in self.due:
            control.should_evaluate = control.should_log = True

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, *, model: Objective, **_: Any  # noqa: ANN401
    ) -> None:  # fmt: skip
        """Keep the weights of a new best; stop where the best is too long ago."""
        scores = Scores.of(state.log_history)
        if self.training.keep == "best" and scores.best == state.global_step > 0 and is_first():
            self._write(model, state.global_step)
            if args.save_strategy == "no":
                self._tidy({state.global_step})
        if self.exhausted(state.log_history):
            control.should_training_stop = True

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Remove weights that no checkpoint's best are any more."""
        if is_first():
            self._tidy({Scores.of(history_of(path)).best for path in checkpoints(self.folder)})

    def exhausted(self, history: Sequence[Mapping[str, float]]) -> bool:
        """Whether patience is at its end."""
        return self.training.patience is not None and Scores.of(history).since_best >= self.training.patience

    def restore(self, objective: Objective, history: Sequence[Mapping[str, float]]) -> int | None:
        """Give `objective` the best weights back; returns their step, None where the last ones are to be kept."""
        step = Scores.of(history).best
        if self.training.keep == "last" or step is None:
            return None
        if is_first():
            try:
                best = load_file(self._path(step))
            except (OSError, SafetensorError):
                raise TwinviewsError(
                    f"the best weights of the run, {self._path(step)}, cannot be read: train again with --overwrite"
                ) from None
            objective.load_state_dict(best)
        return step

    def _path(self, step: int) -> Path:
        return self.folder / f"best-{step}.safetensors"

    def _write(self, model: Objective, step: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self._path(step).with_suffix(".tmp")
        save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, draft)
        os.replace(draft, self._path(step))

    def _tidy(self, best: Collection[int | None]) -> None:
        # Not before a checkpoint knows of the new best: a run that is killed until then needs the old one.
        kept = {self._path(step) for step in best if step is not None}
        for path in self.folder.glob("best-*"):
            if path not in kept:
                path.unlink()
