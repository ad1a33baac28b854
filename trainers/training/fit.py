"""Training an objective with `transformers.Trainer`: from its rows to the weights that are kept."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from transformers import TrainingArguments

from pipelines.console import InputError, note, progress
from trainers.data.rows import Rows
from trainers.objective import Objective, Row
from trainers.processes import is_first, process_rank, processes, summed
from trainers.settings import Training
from trainers.training.checkpoints import (
    CHECKPOINTS,
    WEIGHTS,
    check_checkpoint,
    history_of,
    newest_checkpoint,
    step_of,
)
from trainers.training.checks import ROWS, check
from trainers.training.dev import DevSet
from trainers.training.precision import check_compiler, resolve_precision
from trainers.training.reporting import PROJECT, reporting
from trainers.training.selection import Scores, Selection
from trainers.training.trainer import ObjectiveTrainer, Progress, entries

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
        InputError: A precision, compiler or log that this machine does not have, or a checkpoint of another version.
    """
    folder = out / CHECKPOINTS
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = newest_checkpoint(out)
    check_checkpoint(checkpoint, objective)
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
    arguments.ddp_find_unused_parameters = _has_unused(objective, rows, training, total)
    _switch_on(objective, training)
    if checkpoint is None:
        torch.manual_seed(seed)  # in all processes the same
        objective.before_first_step(cast("list[Row]", rows), training)
    trainer = ObjectiveTrainer(objective, rows, training, arguments, dev)
    bar = progress("training", total, unit="steps", done=step_of(checkpoint))
    with bar as advance, reporting(training.report_to, out) as reporters:
        along = Progress(trainer, out / LOG, advance)
        for callback in filter(None, (along, selection, *reporters)):
            trainer.add_callback(callback)
        outcome = trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    along.raise_if_stopped(folder)
    done, seconds = outcome.global_step, outcome.metrics["train_runtime"]
    return _fitted(objective, selection, done, seconds, trainer.state.log_history)


def _fitted(
    objective: Objective, selection: Selection | None, steps: int, seconds: float, history: list[dict[str, float]]
) -> Fitted:
    best = selection.restore(objective, history) if selection is not None else None
    last = [line for line in entries(history) if "loss" in line][-1]
    return Fitted(steps, seconds, last, Scores.of(history), steps if best is None else best)


def _has_unused(objective: Objective, rows: Rows, training: Training, total: int) -> bool:
    """Check the objective on a few rows, and return whether a parameter gets no gradient in any process."""
    count = max(2, min(training.batch_size, ROWS) // processes())
    # Spread over the data, which may be sorted, and other rows in every process.
    step = max(1, len(rows) // (count * processes()))
    chosen = [(process_rank() + turn * processes()) * step % len(rows) for turn in range(count)]
    findings = check(objective, [rows[row] for row in chosen], total)
    for line in findings.warnings:
        if is_first():
            note(line)
    device = next(objective.parameters()).device
    return summed(torch.tensor(len(findings.unused), device=device)).item() > 0


def _switch_on(objective: Objective, training: Training) -> None:
    """Switch on what changes how the encoder is computed, not what."""
    if training.compile:
        check_compiler()
        logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
        for module in objective.modules():
            if isinstance(module, Transformer):
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
