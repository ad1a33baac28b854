"""Training an objective with `transformers.Trainer`: rows, optimiser, precision, checkpoints, and the result."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from torch.utils.data import Dataset
from transformers import PrinterCallback, TrainerCallback, TrainingArguments

from pipelines.console import InputError, TwinviewsError, note, progress
from trainers.data.examples import row_seed
from trainers.data.grouping import LengthGrouped, Shuffled
from trainers.data.ragged import Ragged
from trainers.objective import Objective, Row
from trainers.processes import is_first, process_rank, processes, summed
from trainers.settings import Training
from trainers.training.checkpoints import CHECKPOINTS, WEIGHTS, history_of, newest_checkpoint, step_of
from trainers.training.checks import ROWS, Findings, check
from trainers.training.dev import DevSet
from trainers.training.precision import DTYPES, check_compiler, resolve_precision
from trainers.training.reporting import PROJECT, reporting
from trainers.training.selection import Scores, Selection
from trainers.training.trainer import Course, ObjectiveTrainer, entries

LOG = "log.jsonl"


class Rows(Dataset[dict[str, Any]]):
    """Columns as rows, each with its seed of the running epoch."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], seed: int) -> None:
        self.columns = columns
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def lengths(self) -> list[int]:
        """Return the number of tokens of every row, over all its columns of ids."""
        ids = [column.lengths for column in self.columns.values() if isinstance(column, Ragged)]
        return [sum(row) for row in zip(*(lengths.tolist() for lengths in ids), strict=True)]

    def __getitem__(self, row: int) -> dict[str, Any]:
        cells = {name: column[row] for name, column in self.columns.items()}
        return {**cells, "seed": row_seed(self.seed, row, self.epoch)}


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
        InputError: A precision, compiler or log that this machine does not have.
    """
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = newest_checkpoint(out)
    objective.before_training(out / CHECKPOINTS)
    total = training.steps(len(rows))
    selection = Selection(training, total, out / CHECKPOINTS) if dev is not None else None
    if checkpoint is not None and selection is not None and selection.exhausted(history_of(checkpoint)):
        # Killed after its last step: another one would be one too many.
        objective.load_state_dict(load_file(checkpoint / WEIGHTS))
        return _fitted(objective, selection, step_of(checkpoint), 0.0, history_of(checkpoint))
    arguments = training_arguments(training, out / CHECKPOINTS, seed, total)
    arguments.eval_on_start = dev is not None and checkpoint is None
    objective.to(arguments.device)
    _prepare(objective, rows, training, arguments, total)
    if checkpoint is None:
        torch.manual_seed(seed)  # in all processes the same
        objective.before_first_step(cast("Sequence[Row]", rows), training)
    order = _order(rows, training, seed)

    def set_epoch(epoch: int) -> None:
        rows.epoch = epoch
        order.set_epoch(epoch)

    bar = progress("training", total, unit="steps", done=step_of(checkpoint))
    with bar as advance, reporting(training.report_to, out) as reporters:
        course = Course(set_epoch, out / LOG, advance, stop_on_collapse=training.stop_on_collapse)
        callbacks = [course, *([selection] if selection is not None else []), *reporters]
        trainer = _trainer(objective, rows, order, training, arguments, dev, callbacks)
        outcome = trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if course.collapsed is not None and training.stop_on_collapse:
        raise TwinviewsError(
            f"{course.collapsed}: stopped; its checkpoint is in {out / CHECKPOINTS}. Lower --lr or start from another "
            "encoder"
        )
    history = trainer.state.log_history
    return _fitted(objective, selection, outcome.global_step, outcome.metrics["train_runtime"], history)


def _trainer(
    objective: Objective,
    rows: Rows,
    order: Shuffled,
    training: Training,
    arguments: TrainingArguments,
    dev: DevSet | None,
    callbacks: Sequence[TrainerCallback],
) -> ObjectiveTrainer:
    dtype = DTYPES[resolve_precision(training.precision)]

    def scorer() -> float:
        return dev.score(objective, dtype, training.dev_similarity) if dev is not None else 0.0

    trainer = ObjectiveTrainer(
        order,
        scorer,
        model=objective,
        args=arguments,
        train_dataset=rows,
        data_collator=objective.collate,
        callbacks=list(callbacks),
        optimizers=(make_optimizer(objective, training), None),
    )
    # It prints raw dictionaries to stdout.
    trainer.remove_callback(PrinterCallback)
    return trainer


def _fitted(
    objective: Objective, selection: Selection | None, steps: int, seconds: float, history: list[dict[str, float]]
) -> Fitted:
    best = selection.restore(objective, history) if selection is not None else None
    last = [line for line in entries(history) if "loss" in line][-1]
    return Fitted(steps, seconds, last, Scores.of(history), steps if best is None else best)


def _order(rows: Rows, training: Training, seed: int) -> Shuffled:
    if training.group_by_length:
        return LengthGrouped(rows.lengths(), training.batch_size, seed)
    return Shuffled(len(rows), seed)


def _prepare(objective: Objective, rows: Rows, training: Training, arguments: TrainingArguments, total: int) -> None:
    """Check the objective on a few rows; then switch on what changes how its encoder is computed, not what."""
    findings = _first_look(objective, rows, training.batch_size // processes(), total)
    for line in findings.warnings:
        if is_first():
            note(line)
    unused = summed(torch.tensor(len(findings.unused), device=arguments.device)).item() > 0
    arguments.ddp_find_unused_parameters = unused
    if training.compile:
        check_compiler()
        logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
    for module in objective.modules():
        if isinstance(module, Transformer) and training.compile:
            # In place: the names in the state dict stay what they are. Batches differ in width and number.
            module.model.compile(dynamic=True)
    if training.gradient_checkpointing:
        enable_checkpointing(objective.encoder)


def enable_checkpointing(encoder: SentenceTransformer) -> None:
    """Compute activations again in the backward pass: less memory, about a third more time.

    Raises:
        InputError: The architecture cannot.
    """
    model = encoder[0].model
    # Its older name goes away.
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    try:
        enable({"use_reentrant": False})
    except (ValueError, NotImplementedError):
        raise InputError(
            f"{type(model).__name__} has no gradient checkpointing: leave --gradient-checkpointing out"
        ) from None


def _first_look(objective: Objective, rows: Rows, batch: int, total: int) -> Findings:
    count = max(2, min(batch, ROWS // processes()))
    # Spread over the data, which may be sorted, and other rows in every process.
    step = max(1, len(rows) // (count * processes()))
    chosen = [(process_rank() + turn * processes()) * step % len(rows) for turn in range(count)]
    return check(objective, [rows[row] for row in chosen], total)


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
