"""`transformers.Trainer` for objectives: the order of the rows, what is logged, and what happens along the way."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from pipelines.console import TwinviewsError, note
from trainers.data.rows import LengthGrouped, Rows, Shuffled
from trainers.losses.geometry import geometry
from trainers.objective import Objective
from trainers.processes import is_first, of_first, process_seed, processes, summed
from trainers.settings import Training
from trainers.training.dev import DevSet
from trainers.training.selection import DEV, Scores

COLLAPSED = 0.05
"""Below this spread the mean cosine between sentences is above 0.997."""

FALLEN = 5.0
"""So many points of Spearman below the untrained start, a score on the development set is no noise any more."""


class ObjectiveTrainer(Trainer):  # type: ignore[misc] # transformers is untyped here
    """Trainer that stops at a loss that is no number, logs parts and geometry, and scores on a development set."""

    def __init__(
        self, objective: Objective, rows: Rows, training: Training, arguments: TrainingArguments, dev: DevSet | None
    ) -> None:
        super().__init__(
            model=objective,
            args=arguments,
            train_dataset=rows,
            data_collator=objective.collate,
            optimizers=(make_optimizer(objective, training), None),
        )
        # It prints raw dictionaries to stdout.
        self.remove_callback(PrinterCallback)
        self.training, self.rows, self.dev = training, rows, dev
        grouped = training.group_by_length
        self.order = (
            LengthGrouped(rows.lengths(), training.batch_size, arguments.seed)
            if grouped
            else Shuffled(len(rows), arguments.seed)
        )
        self.parts: dict[str, Tensor] = {}
        self.vectors: Tensor | None = None
        self.batches = 0

    def set_epoch(self, epoch: int) -> None:
        """Tell rows and order which epoch it is."""
        self.rows.epoch = epoch
        self.order.set_epoch(epoch)

    def _get_train_sampler(self, train_dataset: Dataset[Any] | None = None) -> Shuffled:
        return self.order

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:  # noqa: ANN401 - Trainer's own
        """Return the objective's loss; sums its other parts up, on the device, until they are logged."""
        outputs = model(**inputs)
        loss = outputs["loss"]
        if loss.device.type == "cpu":
            # Elsewhere a look at the number would make the host wait in every step: there `log` looks.
            self._check(loss.item())
        self.batches += 1
        self.vectors = outputs.pop("vectors", None)
        for name, part in outputs.items():
            if name != "loss":
                self.parts[name] = self.parts.get(name, 0) + part.detach()
        return (loss, outputs) if return_outputs else loss

    def _check(self, loss: float) -> None:
        if not math.isfinite(loss):
            raise TwinviewsError(
                f"the loss became {loss} after {self.state.global_step} steps: "
                f"lower --lr ({self.args.learning_rate:g}), set --clip 1, or use --precision fp32"
            )

    def _get_grad_norm(self, model: nn.Module, grad_norm: Tensor | float | None = None) -> Tensor | float | None:
        """Return the gradient's norm where it is known or will be logged: for its own sake it costs too much."""
        if grad_norm is not None or self.accelerator.scaler is not None:
            known: Tensor | float = super()._get_grad_norm(model, grad_norm)
            return known
        step = self.state.global_step + 1
        if step != 1 and step % self.state.logging_steps:
            return None
        return nn.utils.get_total_norm([value.grad for value in model.parameters() if value.grad is not None])

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log the means of the parts over batches and processes, and the geometry, with what Trainer logs."""
        if "loss" in logs:
            self._check(logs["loss"])
            logs.update(self._batch_metrics())
        super().log(logs, start_time)

    def _batch_metrics(self) -> dict[str, float]:
        metrics = {name: total / self.batches for name, total in self.parts.items()}
        if self.vectors is not None and len(self.vectors) > 2:
            metrics.update(geometry(self.vectors, paired=self.model.paired))
        self.parts, self.vectors, self.batches = {}, None, 0
        if not metrics:
            return {}
        means = summed(torch.stack([metric.float() for metric in metrics.values()])) / processes()
        return dict(zip(metrics, means.tolist(), strict=True))

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:  # noqa: ANN401 - Trainer's own
        """Score on the development set, in the first process for all, and log it."""
        score: float = of_first(self._score() if is_first() else 0.0)
        metrics = {DEV: score}
        self.log(dict(metrics))
        self.control: TrainerControl = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _score(self) -> float:
        return (
            0.0
            if self.dev is None
            else self.dev.score(self.model, self.training.precision, self.training.dev_similarity)
        )


def make_optimizer(objective: Objective, training: Training) -> torch.optim.AdamW:
    """Return fused AdamW over what has a gradient; without `decay_all`, biases and norms are not decayed.

    The rate of a parameter is `training.lr` times its factor in `objective.parameter_rates()`.
    """
    rates = objective.parameter_rates()
    groups: dict[tuple[float, float], dict[str, Any]] = {}
    for name, parameter in objective.named_parameters():
        if not parameter.requires_grad:
            continue
        decay = training.weight_decay if training.decay_all or parameter.dim() > 1 else 0.0
        # The most particular beginning decides.
        rate = rates[max(found, key=len)] if (found := [start for start in rates if name.startswith(start)]) else 1.0
        settings = {"params": [], "weight_decay": decay, "lr": training.lr * rate}
        groups.setdefault((decay, rate), settings)["params"].append(parameter)
    return torch.optim.AdamW(list(groups.values()), lr=training.lr, eps=training.eps, fused=True)


class Progress(TrainerCallback):  # type: ignore[misc] # transformers is untyped here
    """What happens along the way: seeds, epochs, the objective's step, the bar, the log, the warning of a collapse."""

    def __init__(self, trainer: ObjectiveTrainer, log: Path, advance: Callable[[int], None]) -> None:
        self.trainer = trainer
        self.log = log
        self.advance = advance
        self.collapsed: str | None = None

    def raise_if_stopped(self, folder: Path) -> None:
        """Raise where the training was ended by a collapse; `folder` has its checkpoint.

        Raises:
            TwinviewsError: It was.
        """
        if self.collapsed is not None and self.trainer.training.stop_on_collapse:
            raise TwinviewsError(
                f"{self.collapsed}: stopped; its checkpoint is in {folder}. Lower --lr or start from another encoder"
            )

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Give each process masks of its own; a resumed run's are read from its checkpoint after this."""
        torch.manual_seed(process_seed(args.seed))

    def on_epoch_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Tell rows and order which epoch it is, also in the middle of one."""
        self.trainer.set_epoch(int(state.epoch or 0))

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
        lines = entries(state.log_history)
        if is_first():
            text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
            self.log.write_text(text, encoding="utf-8")
        found = collapse(state.log_history[-1], Scores.of(state.log_history).start)
        if found is None or self.collapsed is not None:
            return
        self.collapsed = f"the encoder collapses: {found} at step {state.global_step}"
        if self.trainer.training.stop_on_collapse:
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
    if start is not None and entry.get("dev", start) < start - FALLEN:
        return f"dev score {entry['dev']:.2f}, untrained it was {start:.2f}"
    return None
