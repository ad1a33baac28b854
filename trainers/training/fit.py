"""How an objective is trained: its optimiser, what happens at each step, what is logged, which weights are kept."""

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
from trainers.training.machine import enable_checkpointing, training_arguments

LOG = "log.jsonl"
COLLAPSED = 0.05
"""Below this spread the mean cosine between sentences is above 0.997."""
FALLEN = 5.0
"""A development score this many points below the untrained encoder's is more than noise."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """How a training went: its steps, the seconds of this run, the log's last line, and the scores by step.

    `kept` is the step whose weights the objective has now, in the first process; step 0 of `dev` is the untrained one.
    """

    steps: int
    seconds: float
    last: Mapping[str, float]
    dev: Mapping[int, float]
    kept: int


def fit(
    objective: Objective, rows: Rows, training: Training, out: Path, seed: int, dev: Examples | None = None
) -> Fitted:
    """Train `objective`, freshly built on the CPU, in place, resuming from the newest checkpoint under `out`.

    A resumed run ends with exactly the parameters of an uninterrupted one. Several processes all call this alike, and
    any number of them gives the same training up to rounding. `rows` (at least a batch) are what `objective.columns`
    gave; `seed` decides their order, dropout and random draws. With `dev`, which is scored along the way, `objective`
    ends with the best weights, unless `training` keeps the last. `out` gets `log.jsonl` and `checkpoints/`.

    Raises:
        TwinviewsError: The loss is no longer finite, or no gradient reaches the encoder.
        InputError: A precision that this machine does not support, or an encoder without gradient checkpointing.
    """
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = newest_checkpoint(out)
    seconds, history = 0.0, history_of(checkpoint) if checkpoint else []
    done = int(history[-1]["step"]) if history else 0
    if done:
        note(f"resuming {out} at step {done}")
    objective.before_training(out / CHECKPOINTS)
    if checkpoint is not None and out_of_patience(training, history):
        # Killed after its last step: Trainer would take another one.
        objective.load_state_dict(load_file(checkpoint / WEIGHTS))
    else:
        trainer = ObjectiveTrainer(objective, rows, training, out, seed, dev, resumed=checkpoint is not None)
        with progress("training", training.steps(len(rows)), unit="steps", done=done) as advance:
            trainer.add_callback(StepCallback(trainer, advance))
            torch.manual_seed(process_seed(seed))  # for dropout; checkpoints hold its state
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        history = trainer.state.log_history
        seconds = history[-1]["train_runtime"]
    steps = int(history[-1]["step"])
    kept = steps if training.keep == "last" else restore_best(out / CHECKPOINTS, objective, history) or steps
    last = [line for line in log_lines(history) if "loss" in line][-1]
    return Fitted(steps, seconds, last, dev_scores(history), kept)


def make_optimizer(objective: Objective, training: Training) -> torch.optim.AdamW:
    """Return fused AdamW over the trained parameters; without `decay_all`, biases and norms are not decayed.

    The rate of a parameter is `training.lr` times its factor in `objective.rates`.
    """
    rates = objective.rates
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in objective.named_parameters():
        if parameter.requires_grad:
            decay = training.weight_decay if training.decay_all or parameter.dim() > 1 else 0.0
            # The longest matching prefix decides.
            rate = rates.get(max((start for start in rates if name.startswith(start)), key=len, default=""), 1.0)
            groups.setdefault((decay, training.lr * rate), []).append(parameter)
    settings = [{"params": held, "weight_decay": decay, "lr": lr} for (decay, lr), held in groups.items()]
    return torch.optim.AdamW(settings, lr=training.lr, eps=training.eps, fused=True)


class ObjectiveTrainer(Trainer):  # type: ignore[misc] # transformers is untyped here
    """A Trainer that logs the loss's parts and the geometry, scores on a development set, and stops at a bad loss."""

    def __init__(
        self, objective: Objective, rows: Rows, training: Training, out: Path, seed: int, dev: Examples | None, *,
        resumed: bool,
    ) -> None:  # fmt: skip
        arguments = training_arguments(training, out, seed, training.steps(len(rows)))
        arguments.ddp_find_unused_parameters = objective.unused
        arguments.eval_on_start = dev is not None and not resumed
        objective.to(arguments.device)
        if training.gradient_checkpointing:
            enable_checkpointing(objective.encoder[0].model)
        if not resumed:
            torch.manual_seed(seed)  # the same in all processes
            objective.before_first_step(cast("list[Row]", rows), training)
        super().__init__(
            model=objective,
            args=arguments,
            train_dataset=rows,
            data_collator=objective.collate,
            optimizers=(make_optimizer(objective, training), None),
        )
        self.remove_callback(PrinterCallback)  # it prints raw dictionaries to stdout
        self.training, self.out, self.dev = training, out, dev
        lengths, size = (rows.lengths(), training.batch_size) if training.group_by_length else (None, 1)
        self.order = Order(len(rows), seed, lengths, size)
        self.parts: dict[str, Tensor] = {}
        self.vectors: Tensor | None = None
        self.batches = 0
        self.collapsed = False

    def _get_train_sampler(self, train_dataset: Dataset[Any] | None = None) -> Order:
        return self.order

    def compute_loss(self, model: nn.Module, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:  # noqa: ANN401
        """Return the objective's loss; sum its other parts, on the device, until they are logged."""
        outputs: dict[str, Tensor] = model(**inputs)
        loss = outputs.pop("loss")
        self.batches += 1
        self.vectors = outputs.pop("vectors", None)
        for name, part in outputs.items():
            self.parts[name] = self.parts.get(name, 0) + part.detach()
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the geometry, and the means of the loss's parts over batches and processes, to what Trainer logs.

        The whole log is written each time, so a resumed run's has no gaps and no repeated lines.
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
        if is_first():
            text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in log_lines(history))
            draft = self.out / f"{LOG}.tmp"
            draft.write_text(text, encoding="utf-8")
            draft.replace(self.out / LOG)  # whoever reads it never finds half a line
        found = collapse(history[-1], dev_scores(history).get(0))
        if found is not None and not self.collapsed:
            self.collapsed = True
            note(f"warning: the encoder collapses: {found} at step {step}; lower --lr or start from another encoder")

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
    """What else happens at Trainer's steps: the epoch's number, the objective's own step, the bar, due scores."""

    def __init__(self, trainer: ObjectiveTrainer, advance: Callable[[int], None]) -> None:
        self.trainer, self.advance = trainer, advance

    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Tell rows and order which epoch it is, also when resuming in the middle of one."""
        self.trainer.train_dataset.epoch = int(state.epoch or 0)
        self.trainer.order.set_epoch(int(state.epoch or 0))

    def on_optimizer_step(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Let the objective follow the optimiser's step, once a step however many batches it took."""
        objective = self.trainer.model
        if state.global_step == 0 and all(each.grad is None for each in objective.encoder.parameters()):
            raise TwinviewsError("no gradient reaches the encoder: compute the loss from vectors that are not detached")
        objective.after_step(state.global_step + 1, state.max_steps)

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Move the bar; score when due; log at each score and checkpoint, where the means start again."""
        self.advance(1)
        count = self.trainer.training.evaluations
        due = {max(1, round(state.max_steps * turn / count)) for turn in range(1, count + 1)}
        control.should_evaluate |= self.trainer.dev is not None and state.global_step in due
        control.should_log |= control.should_evaluate or control.should_save


def log_lines(history: History) -> list[dict[str, float]]:
    """Return one line for each step that logged a loss or a development score."""
    steps: dict[float, dict[str, float]] = {}
    for entry in history:
        if "loss" in entry or DEV in entry:
            steps.setdefault(entry["step"], {}).update(entry)
    return list(steps.values())


def collapse(entry: Mapping[str, float], start: float | None) -> str | None:
    """Return how a log's entry (with `spread`, or with `dev`, a Spearman x 100) shows a collapse, None if it does not.

    `start` is the development score before the training, if there is one.
    """
    if entry.get("spread", 1.0) < COLLAPSED:
        return f"spread {entry['spread']:.3f} (0 = all sentences have one direction)"
    if start is not None and entry.get(DEV, start) < start - FALLEN:
        return f"dev score {entry[DEV]:.2f}, untrained it was {start:.2f}"
    return None
