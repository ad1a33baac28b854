"""Training an objective with `transformers.Trainer`: from its rows to the weights that are kept."""

import logging
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import PrinterCallback, Trainer, TrainerControl, TrainingArguments

from pipelines.console import InputError, TwinviewsError, note, progress
from trainers.data.rows import Order, Rows
from trainers.losses.geometry import geometry
from trainers.objective import Objective, Row
from trainers.processes import is_first, of_first, process_rank, processes, summed
from trainers.settings import Training
from trainers.training.callbacks import DEV, Progress, Scores, Selection, entries
from trainers.training.checks import ROWS, check
from trainers.training.dev import DevSet
from trainers.training.directory import CHECKPOINTS, WEIGHTS, history_of, newest_checkpoint, step_of
from trainers.training.machine import PROJECT, reporters, resolve_precision

LOG = "log.jsonl"


@dataclass(frozen=True, slots=True)
class Fitted:
    """How a training went: optimiser steps, seconds of this run, the last line of the log, the development scores.

    `kept` is the step whose weights the objective has now, in the first process; `steps` unless an earlier one scored
    better.
    """

    steps: int
    seconds: float
    last: Mapping[str, float]
    dev: Scores
    kept: int


def fit(
    objective: Objective, rows: Rows, training: Training, out: Path, seed: int, dev: DevSet | None = None
) -> Fitted:
    """Train `objective` in place, resuming from the newest checkpoint under `out` if there is one.

    A run that was interrupted and resumed ends with exactly the parameters of one that was not. Under several
    processes all call this alike; the same settings give the same training in any number of them, up to rounding.

    Args:
        objective: On the CPU, freshly built; its target, buffers and so on are part of the checkpoints.
        rows: What `objective.columns` gave; at least `training.batch_size` of them.
        training: Optimiser, schedule, batches.
        out: The run's directory; `log.jsonl` and `checkpoints/` go there.
        seed: Decides the order of the rows, dropout and what is drawn per row.
        dev: Pairs to score on along the way; `objective` ends with the weights that scored best, unless the last ones
            are to be kept.

    Raises:
        TwinviewsError: The loss is no longer finite, or the encoder collapsed and that was to end the run.
        InputError: A precision that this machine does not have, or an encoder without gradient checkpointing.
    """
    folder = out / CHECKPOINTS
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = newest_checkpoint(out)
    objective.before_training(folder)
    total = training.steps(len(rows))
    selection = Selection(training, total, folder) if dev is not None else None
    if checkpoint is not None and selection is not None and selection.exhausted(history_of(checkpoint)):
        # Killed after its last step: another one would be one too many.
        objective.load_state_dict(load_file(checkpoint / WEIGHTS))
        return _fitted(objective, selection, step_of(checkpoint), 0.0, history_of(checkpoint))
    arguments = training_arguments(training, folder, seed, total)
    arguments.eval_on_start = dev is not None and checkpoint is None
    objective.to(arguments.device)
    arguments.ddp_find_unused_parameters = _has_unused(objective, rows, training)
    if training.compile:
        _compile(objective)
    if training.gradient_checkpointing:
        enable_checkpointing(objective.encoder)
    if checkpoint is None:
        torch.manual_seed(seed)  # in all processes the same
        objective.before_first_step(cast("list[Row]", rows), training)
    trainer = ObjectiveTrainer(objective, rows, training, arguments, dev)
    with progress("training", total, unit="steps", done=step_of(checkpoint)) as advance:
        along = Progress(rows, trainer.order, out / LOG, advance, stop=training.stop_on_collapse)
        sent = reporters(training.report_to, out) if is_first() else []
        for callback in filter(None, (along, selection, *sent)):
            trainer.add_callback(callback)
        outcome = trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if along.collapsed is not None and along.stop:
        raise TwinviewsError(
            f"{along.collapsed}: stopped; its checkpoint is in {folder}. Lower --lr or start from another encoder"
        )
    done, seconds = outcome.global_step, outcome.metrics["train_runtime"]
    return _fitted(objective, selection, done, seconds, trainer.state.log_history)


def _fitted(
    objective: Objective, selection: Selection | None, steps: int, seconds: float, history: list[dict[str, float]]
) -> Fitted:
    best = selection.restore(objective, history) if selection is not None else None
    last = [line for line in entries(history) if "loss" in line][-1]
    return Fitted(steps, seconds, last, Scores.of(history), steps if best is None else best)


def _has_unused(objective: Objective, rows: Rows, training: Training) -> bool:
    """Check the objective on a few rows, and return whether a parameter gets no gradient in any process."""
    count = max(2, min(training.batch_size, ROWS) // processes())
    # Spread over the data, which may be sorted, and other rows in every process.
    step = max(1, len(rows) // (count * processes()))
    chosen = [(process_rank() + turn * processes()) * step % len(rows) for turn in range(count)]
    unused, warnings = check(objective, [rows[row] for row in chosen])
    for line in warnings if is_first() else []:
        note(line)
    device = next(objective.parameters()).device
    return summed(torch.tensor(len(unused), device=device)).item() > 0


def _compile(objective: Objective) -> None:
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
    for module in objective.modules():
        if isinstance(module, Transformer):
            # In place: the names in the state dict stay what they are. Batches differ in width and number.
            module.model.compile(dynamic=True)


def enable_checkpointing(encoder: SentenceTransformer) -> None:
    """Compute activations again in the backward pass; raises InputError where the architecture cannot."""
    model = encoder[0].model
    # Its older name goes away.
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    try:
        enable({"use_reentrant": False})
    except (ValueError, NotImplementedError):
        raise InputError(
            f"{type(model).__name__} has no gradient checkpointing: leave --gradient-checkpointing out"
        ) from None


def training_arguments(training: Training, folder: Path, seed: int, total: int) -> TrainingArguments:
    """Return Trainer's arguments: everything silent, logged some fifty times, checkpoints only in longer runs."""
    cuda = torch.cuda.is_available()
    precision = resolve_precision(training.precision)
    arguments = TrainingArguments(
        output_dir=str(folder),
        run_name=folder.parent.as_posix(),
        project=os.environ.get("TRACKIO_PROJECT", PROJECT),
        num_train_epochs=training.epochs,
        per_device_train_batch_size=training.batch_size // processes(),
        gradient_accumulation_steps=training.accumulate,
        learning_rate=training.lr,
        lr_scheduler_type="constant_with_warmup" if training.schedule == "constant" else "linear",
        warmup_steps=training.warmup if training.warmup else 0,
        max_grad_norm=training.clip,
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        use_cpu=not cuda,
        seed=seed,
        data_seed=seed,
        dataloader_drop_last=True,
        dataloader_pin_memory=cuda,
        accelerator_config={"non_blocking": cuda},
        remove_unused_columns=False,
        # All processes compute the same from the whole batch, and the first one's buffers are kept: sending them all
        # before every step (queues of a hundred thousand vectors) would change nothing.
        ddp_broadcast_buffers=False,
        logging_steps=max(1, min(total // 50, training.save_every)),
        logging_first_step=True,
        logging_nan_inf_filter=False,
        save_strategy="steps" if total > training.save_every else "no",
        save_steps=training.save_every,
        # The older one is for a newest one that turns out to be damaged.
        save_total_limit=2,
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        log_level_replica="error",
    )
    if arguments.n_gpu > 1:
        # Trainer would split batches among the GPUs in threads, negatives and norms with them.
        note(f"training on one of {arguments.n_gpu} GPUs: torchrun --nproc-per-node {arguments.n_gpu} takes all")
        arguments._n_gpu = 1
    return arguments


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
        # The longest matching beginning decides.
        rate = rates[max(found, key=len)] if (found := [start for start in rates if name.startswith(start)]) else 1.0
        settings = {"params": [], "weight_decay": decay, "lr": training.lr * rate}
        groups.setdefault((decay, rate), settings)["params"].append(parameter)
    return torch.optim.AdamW(list(groups.values()), lr=training.lr, eps=training.eps, fused=True)


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
        self.training, self.dev = training, dev
        lengths = rows.lengths() if training.group_by_length else None
        batch = training.batch_size if training.group_by_length else 1
        self.order = Order(len(rows), arguments.seed, lengths, batch)
        self.parts: dict[str, Tensor] = {}
        self.vectors: Tensor | None = None
        self.batches = 0

    def _get_train_sampler(self, train_dataset: Dataset[Any] | None = None) -> Order:
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
        score = 0.0
        if self.dev is not None and is_first():
            score = self.dev.score(self.model, self.training.precision, self.training.dev_similarity)
        metrics = {DEV: of_first(score)}
        self.log(dict(metrics))
        self.control: TrainerControl = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics
