"""How an objective is trained: what is prepared, what happens in and after each step, which weights are kept."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainerControl, TrainerState

from pipelines.console import TwinviewsError, note, progress
from trainers.data.examples import Examples
from trainers.data.rows import Order, Rows
from trainers.losses import geometry
from trainers.objective import Objective, Row
from trainers.processes import is_first, of_first, process_seed, processes, summed
from trainers.settings import Training
from trainers.training.dev import DEV, History, dev_score, dev_scores, keep_best, out_of_patience, restore_best
from trainers.training.directory import CHECKPOINTS, WEIGHTS, history_of, newest_checkpoint
from trainers.training.machine import compile_encoders, enable_checkpointing, training_arguments

LOG = "log.jsonl"
SAME = 1e-6
"""Alignment (squared distance of unit vectors) below which two views are one: rounding gives 1e-12, dropout 1e-2."""
COLLAPSED = 0.05
"""Below this spread the mean cosine between sentences is above 0.997."""
NO_GRADIENT = "no gradient reaches the encoder: the loss must come from its vectors, and these must not be detached"
FALLEN = 5.0
"""So many points of Spearman below the untrained start, a score on the development set is no noise any more."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """How a training went: optimiser steps, seconds of this run, and the last line of the log."""

    steps: int
    seconds: float
    last: Mapping[str, float]
    dev: Mapping[int, float]
    """The development scores by step, that of step 0 before the training."""
    kept: int
    """The step whose weights the objective has now, in the first process."""


def fit(
    objective: Objective, rows: Rows, training: Training, out: Path, seed: int, dev: Examples | None = None
) -> Fitted:
    """Train `objective`, freshly built on the CPU, in place; go on from the newest checkpoint under `out`, if any.

    A run that was interrupted and resumed ends with exactly the parameters of one that was not. Under several
    processes all call this alike; the same settings give the same training in any number of them, up to rounding.
    `rows` (at least a batch) are what `objective.columns` gave; `seed` decides their order, dropout and what is drawn
    per row. With `dev`, scored on along the way, `objective` ends with the best weights, unless `training` keeps the
    last. `out` gets `log.jsonl` and `checkpoints/`.

    Raises:
        TwinviewsError: The loss is no longer finite, or the encoder collapsed and that was to end the run.
        InputError: A precision that this machine does not have, or an encoder without gradient checkpointing.
    """
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = newest_checkpoint(out)
    seconds, history = 0.0, history_of(checkpoint) if checkpoint else []
    done = int(history[-1]["step"]) if history else 0
    if done and is_first():
        note(f"resuming {out} at step {done}")
    objective.before_training(out / CHECKPOINTS)
    if checkpoint is not None and out_of_patience(training, history):
        # Killed after its last step: another one would be one too many.
        objective.load_state_dict(load_file(checkpoint / WEIGHTS))
    else:
        trainer = ObjectiveTrainer(objective, rows, training, out, seed, dev, resumed=checkpoint is not None)
        with progress("training", training.steps(len(rows)), unit="steps", done=done) as advance:
            trainer.add_callback(StepCallback(trainer, advance))
            torch.manual_seed(process_seed(seed))  # each process has dropout of its own; a checkpoint brings its state
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        if trainer.collapsed is not None and training.stop_on_collapse:
            raise TwinviewsError(f"{trainer.collapsed}: stopped; lower --lr or start from another encoder")
        history = trainer.state.log_history
        seconds = history[-1]["train_runtime"]
    steps = int(history[-1]["step"])
    kept = steps if training.keep == "last" else restore_best(out / CHECKPOINTS, objective, history) or steps
    last = [line for line in log_lines(history) if "loss" in line][-1]
    return Fitted(steps, seconds, last, dev_scores(history), kept)


def make_optimizer(objective: Objective, training: Training) -> torch.optim.AdamW:
    """Return fused AdamW over what has a gradient; without `decay_all`, biases and norms are not decayed.

    The rate of a parameter is `training.lr` times its factor in `objective.parameter_rates()`.
    """
    rates = objective.parameter_rates()
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in objective.named_parameters():
        if parameter.requires_grad:
            decay = training.weight_decay if training.decay_all or parameter.dim() > 1 else 0.0
            # The longest matching beginning decides.
            rate = rates.get(max((start for start in rates if name.startswith(start)), key=len, default=""), 1.0)
            groups.setdefault((decay, training.lr * rate), []).append(parameter)
    settings = [{"params": held, "weight_decay": decay, "lr": lr} for (decay, lr), held in groups.items()]
    return torch.optim.AdamW(settings, lr=training.lr, eps=training.eps, fused=True)


class ObjectiveTrainer(Trainer):  # type: ignore[misc] # transformers is untyped here
    """Trainer that stops at a loss that is no number, logs parts and geometry, and scores on a development set."""

    def __init__(
        self, objective: Objective, rows: Rows, training: Training, out: Path, seed: int, dev: Examples | None, *,
        resumed: bool,
    ) -> None:  # fmt: skip
        arguments = training_arguments(training, out, seed, training.steps(len(rows)))
        arguments.ddp_find_unused_parameters = objective.unused
        arguments.eval_on_start = dev is not None and not resumed
        objective.to(arguments.device)
        if training.compile:
            compile_encoders(objective)
        if training.gradient_checkpointing:
            enable_checkpointing(objective.encoder[0].model)
        if not resumed:
            torch.manual_seed(seed)  # in all processes the same
            objective.before_first_step(cast("list[Row]", rows), training)
        super().__init__(
            model=objective,
            args=arguments,
            train_dataset=rows,
            data_collator=objective.collate,
            optimizers=(make_optimizer(objective, training), None),
        )
        # It prints raw dictionaries to stdout.
        self.remove_callback(PrinterCallback)
        self.training, self.out, self.dev = training, out, dev
        lengths, size = (rows.lengths(), training.batch_size) if training.group_by_length else (None, 1)
        self.order = Order(len(rows), seed, lengths, size)
        self.parts: dict[str, Tensor] = {}
        self.vectors: Tensor | None = None
        self.batches = 0
        self.collapsed: str | None = None

    def _get_train_sampler(self, train_dataset: Dataset[Any] | None = None) -> Order:
        return self.order

    def compute_loss(self, model: nn.Module, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:  # noqa: ANN401
        """Return the objective's loss; sums its other parts up, on the device, until they are logged."""
        outputs: dict[str, Tensor] = model(**inputs)
        loss = outputs.pop("loss")
        if not loss.requires_grad:
            raise TwinviewsError(NO_GRADIENT)
        self.batches += 1
        self.vectors = outputs.pop("vectors", None)
        for name, part in outputs.items():
            self.parts[name] = self.parts.get(name, 0) + part.detach()
        return loss

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
        """Log the means of the parts over batches and processes, and the geometry, with what Trainer logs.

        The whole log is written each time, so that a resumed run's has no gap and no double lines.
        """
        step = self.state.global_step
        if "loss" in logs:
            if not math.isfinite(logs["loss"]):
                raise TwinviewsError(
                    f"the loss became {logs['loss']} by step {step}: lower --lr ({self.args.learning_rate:g}), "
                    "set --clip 1, or use --precision fp32"
                )
            logs.update(self._batch_metrics())
        super().log(logs, start_time)
        history = self.state.log_history
        if step == 1 and logs.get("alignment", 1.0) < SAME and is_first():
            note(
                "warning: both views of every sentence are the same, dropout included: all there is to learn is to "
                "push sentences apart; use views that differ, or --dropout, --drophead or --span where there are such"
            )
        if is_first():
            text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in log_lines(history))
            (self.out / LOG).write_text(text, encoding="utf-8")
        found = collapse(history[-1], dev_scores(history).get(0))
        if found is not None and self.collapsed is None:
            self.collapsed = f"the encoder collapses: {found} at step {step}"
            if self.training.stop_on_collapse:
                self.control.should_training_stop = self.control.should_save = True
            elif is_first():
                note(f"warning: {self.collapsed}; lower --lr or start from another encoder")

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
        """Score on the development set, in the first process for all; keep the best weights, stop without patience."""
        score = 0.0
        if self.dev is not None and is_first():
            score = dev_score(self.dev, self.model, self.training.precision, self.training.dev_similarity)
        metrics = {DEV: of_first(score)}
        self.log(dict(metrics))
        if self.training.keep == "best" and is_first():
            keep_best(self.out / CHECKPOINTS, self.model, self.state.log_history)
        self.control: TrainerControl = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        self.control.should_training_stop |= out_of_patience(self.training, self.state.log_history)
        return metrics


class StepCallback(TrainerCallback):  # type: ignore[misc] # transformers is untyped here
    """What goes along with Trainer's steps: epochs, the objective's own step, the bar, scores when due."""

    def __init__(self, trainer: ObjectiveTrainer, advance: Callable[[int], None]) -> None:
        self.trainer, self.advance = trainer, advance

    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Tell rows and order which epoch it is, also in the middle of one."""
        self.trainer.train_dataset.epoch = int(state.epoch or 0)
        self.trainer.order.set_epoch(int(state.epoch or 0))

    def on_optimizer_step(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Let the objective follow the optimiser's step, once a step however many batches it took."""
        if state.global_step == 0:
            check_gradients(self.trainer.model)
        self.trainer.model.after_step(state.global_step + 1, state.max_steps)

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Move the bar; score when it is due; log beside each score and checkpoint, whose means begin anew there."""
        self.advance(1)
        count = self.trainer.training.evaluations
        due = {max(1, round(state.max_steps * turn / count)) for turn in range(1, count + 1)}
        control.should_evaluate |= self.trainer.dev is not None and state.global_step in due
        control.should_log |= control.should_evaluate or control.should_save


def check_gradients(objective: Objective) -> None:
    """Raise TwinviewsError where the first step left the encoder, or what several processes wait for, untrained."""
    if all(parameter.grad is None for parameter in objective.encoder.parameters()):
        raise TwinviewsError(NO_GRADIENT)
    trained = [(name, value.grad) for name, value in objective.named_parameters() if value.requires_grad]
    missing = [name for name, gradient in trained if gradient is None]
    if missing and processes() > 1 and not objective.unused:
        raise TwinviewsError(
            f"{missing[0]} got no gradient: set `unused` on {type(objective).__name__}, or use one process"
        )


def log_lines(history: History) -> list[dict[str, float]]:
    """Return a line a step of what was logged in training; the summary at its end is none."""
    steps: dict[float, dict[str, float]] = {}
    for entry in history:
        if "loss" in entry or DEV in entry:
            steps.setdefault(entry["step"], {}).update(entry)
    return list(steps.values())


def collapse(entry: Mapping[str, float], start: float | None) -> str | None:
    """Say what a log's entry (with `spread`, or with `dev`, a Spearman x 100) shows of a collapse, None if nothing.

    `start`: the development score before the training, where there is one.
    """
    if entry.get("spread", 1.0) < COLLAPSED:
        return f"spread {entry['spread']:.3f} (0 = all sentences have one direction)"
    if start is not None and entry.get(DEV, start) < start - FALLEN:
        return f"dev score {entry[DEV]:.2f}, untrained it was {start:.2f}"
    return None
