"""What happens along a training: progress, the log, warnings of a collapse, and scores on a development set."""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from pipelines.console import TwinviewsError, note
from trainers.data.rows import Order, Rows
from trainers.objective import Objective
from trainers.processes import is_first, process_seed
from trainers.settings import Training
from trainers.training.directory import checkpoints, history_of

DEV = "dev"
"""The development score's key in the log."""

COLLAPSED = 0.05
"""Below this spread the mean cosine between sentences is above 0.997."""

FALLEN = 5.0
"""So many points of Spearman below the untrained start, a score on the development set is no noise any more."""


class Progress(TrainerCallback):  # type: ignore[misc] # transformers is untyped here
    """Seeds, epochs, the objective's step, the bar, the log, the warning of a collapse."""

    def __init__(self, rows: Rows, order: Order, log: Path, advance: Callable[[int], None], *, stop: bool) -> None:
        self.rows, self.order = rows, order
        self.log = log
        self.advance = advance
        self.stop = stop
        self.collapsed: str | None = None

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Give each process masks of its own; a resumed run's are read from its checkpoint after this."""
        torch.manual_seed(process_seed(args.seed))

    def on_epoch_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Tell rows and order which epoch it is, also in the middle of one."""
        self.rows.epoch = int(state.epoch or 0)
        self.order.set_epoch(self.rows.epoch)

    def on_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, *, model: Objective, **_: Any  # noqa: ANN401
    ) -> None:  # fmt: skip
        """Let the objective follow the optimiser's step, once a step however many batches it took."""
        model.after_step(state.global_step + 1, state.max_steps)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Move the bar; log whatever is saved, so that the means of a resumed run's log begin where they should."""
        self.advance(1)
        control.should_log = control.should_log or control.should_save

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Write the whole log, so that a resumed run's has no gap and no double lines; warn of a collapse, once."""
        if is_first():
            text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in entries(state.log_history))
            self.log.write_text(text, encoding="utf-8")
        found = collapse(state.log_history[-1], Scores.of(state.log_history).start)
        if found is None or self.collapsed is not None:
            return
        self.collapsed = f"the encoder collapses: {found} at step {state.global_step}"
        if self.stop:
            control.should_training_stop = control.should_save = True
        elif is_first():
            note(f"warning: {self.collapsed}; lower --lr or start from another encoder")


def entries(history: list[dict[str, float]]) -> list[Mapping[str, float]]:
    """Return a line a step of what was logged in training; the summary at its end is none."""
    steps: dict[float, dict[str, float]] = {}
    for entry in history:
        if "loss" in entry or DEV in entry:
            steps.setdefault(entry["step"], {}).update(entry)
    return list(steps.values())


def collapse(entry: Mapping[str, float], start: float | None) -> str | None:
    """Say what a log's entry shows of a collapse, None where it shows none.

    Args:
        entry: With `spread`, or with `dev`, a Spearman x 100.
        start: The development score before the training, where there is one.
    """
    if entry.get("spread", 1.0) < COLLAPSED:
        return f"spread {entry['spread']:.3f} (0 = all sentences have one direction)"
    if start is not None and entry.get(DEV, start) < start - FALLEN:
        return f"dev score {entry[DEV]:.2f}, untrained it was {start:.2f}"
    return None


@dataclass(frozen=True, slots=True)
class Scores:
    """The development scores of a training so far: before it, and after the steps at which it was scored."""

    start: float | None
    steps: tuple[int, ...]
    values: tuple[float, ...]

    @classmethod
    def of(cls, history: Sequence[Mapping[str, float]]) -> Self:
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
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self._path(state.global_step)
            draft = path.with_suffix(".tmp")
            save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, draft)
            os.replace(draft, path)
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

    def _tidy(self, best: Collection[int | None]) -> None:
        # Not before a checkpoint knows of the new best: a run that is killed until then needs the old one.
        kept = {self._path(step) for step in best if step is not None}
        for path in self.folder.glob("best-*"):
            if path not in kept:
                path.unlink()
