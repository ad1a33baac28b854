"""Training an objective with `transformers.Trainer`: batches, precision, checkpoints, and what is logged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, Sampler
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, get_last_checkpoint

from pipelines.console import TwinviewsError, note, progress
from trainers.examples import row_seed
from trainers.grouping import LengthGrouped
from trainers.objective import Objective, spread
from trainers.ragged import Ragged
from trainers.settings import Training

CHECKPOINTS = "checkpoints"
LOG = "log.jsonl"
COLLAPSED = 0.05
"""Below this spread the mean cosine between sentences is above 0.997."""


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
    """How a training went: optimiser steps, seconds of this run, the last logged values."""

    steps: int
    seconds: float
    last: Mapping[str, float]


class ObjectiveTrainer(Trainer):  # type: ignore[misc] # transformers is untyped here
    """Trainer that stops at a loss that is no number and logs the objective's own parts."""

    def __init__(self, lengths: Sequence[int] | None, **options: Any) -> None:  # noqa: ANN401 - Trainer's own
        super().__init__(**options)
        self.lengths = lengths
        self.parts: dict[str, Tensor] = {}
        self.vectors: Tensor | None = None
        self.batches = 0

    def _get_train_sampler(self, train_dataset: Rows | None = None) -> Sampler[int] | None:
        if self.lengths is None:
            sampler: Sampler[int] | None = super()._get_train_sampler(train_dataset)
            return sampler
        return LengthGrouped(self.lengths, self.args.per_device_train_batch_size, self.args.seed)

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:  # noqa: ANN401 - Trainer's own
        """Return the objective's loss; sums its other parts up until they are logged."""
        outputs = model(**inputs)
        loss = outputs["loss"]
        if not torch.isfinite(loss):
            raise TwinviewsError(
                f"the loss became {loss.item()} after {self.state.global_step} steps: "
                f"lower --lr ({self.args.learning_rate:g}), set --clip 1, or use --precision fp32"
            )
        self.batches += 1
        self.vectors = outputs.pop("vectors", None)
        for name, part in outputs.items():
            if name != "loss":
                self.parts[name] = self.parts.get(name, torch.zeros_like(part)) + part.detach()
        return (loss, outputs) if return_outputs else loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log the means of the parts with what Trainer logs."""
        if "loss" in logs:
            logs.update({name: (total / self.batches).item() for name, total in self.parts.items()})
            self.parts, self.batches = {}, 0
            if self.vectors is not None:
                logs["spread"] = spread(self.vectors).item()
        super().log(logs, start_time)


class Course(TrainerCallback):  # type: ignore[misc] # transformers is untyped here
    """What happens along the way: epochs to the rows, the objective's step, the bar, the log, the warning."""

    def __init__(self, rows: Rows, log: Path, advance: Callable[[int], None]) -> None:
        self.rows = rows
        self.log = log
        self.advance = advance
        self.warned = False

    def on_epoch_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Tell the rows which epoch it is, also in the middle of one."""
        self.rows.epoch = int(state.epoch or 0)

    def on_optimizer_step(
        self, args: Any, state: TrainerState, control: TrainerControl, *, model: Objective, **_: Any  # noqa: ANN401
    ) -> None:  # fmt: skip
        """Let the objective follow the optimiser's step, once a step however many batches it took."""
        model.after_step(state.global_step + 1, state.max_steps)

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Move the bar; log whatever is saved, so that the means of a resumed run's log begin where they should."""
        self.advance(1)
        control.should_log = control.should_log or control.should_save

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:  # noqa: ANN401
        """Write the whole history, so that a resumed run's log has no gap and no double lines; warn of collapse."""
        history = [entry for entry in state.log_history if "loss" in entry]
        lines = [json.dumps(entry, sort_keys=True) + "\n" for entry in history]
        self.log.write_text("".join(lines), encoding="utf-8")
        if history and history[-1].get("spread", 1.0) < COLLAPSED and not self.warned:
            self.warned = True
            note(
                f"warning: the encoder collapses: spread {history[-1]['spread']:.3f} at step {state.global_step} "
                "(0 = all sentences have one direction); lower --lr or start from another encoder"
            )


def fit(objective: Objective, rows: Rows, training: Training, out: Path, seed: int) -> Fitted:
    """Train `objective` in place, resuming from the newest checkpoint under `out` if there is one.

    A run that was interrupted and resumed ends with exactly the parameters of one that was not.

    Args:
        objective: On the CPU, freshly built; its target, buffers and so on are part of the checkpoints.
        rows: What `objective.columns` gave; at least `training.batch_size` of them.
        training: Optimiser, schedule, batches.
        out: The run's directory; `log.jsonl` and `checkpoints/` go there.
        seed: Decides the order of the rows, dropout and what is drawn per row.

    Raises:
        TwinviewsError: The loss is no longer finite.
    """
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = newest_checkpoint(out)
    total = training.steps(len(rows))
    arguments = training_arguments(training, out / CHECKPOINTS, seed, total)
    with progress("training", total, unit="steps", done=step_of(checkpoint)) as advance:
        trainer = ObjectiveTrainer(
            rows.lengths() if training.group_by_length else None,
            model=objective,
            args=arguments,
            train_dataset=rows,
            data_collator=objective.collate,
            callbacks=[Course(rows, out / LOG, advance)],
            optimizers=(make_optimizer(objective, training), None),
        )
        # It prints raw dictionaries to stdout.
        trainer.remove_callback(PrinterCallback)
        outcome = trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    history = [entry for entry in trainer.state.log_history if "loss" in entry]
    return Fitted(outcome.global_step, outcome.metrics["train_runtime"], history[-1] if history else {})


def make_optimizer(objective: Objective, training: Training) -> torch.optim.AdamW:
    """Return AdamW over what has a gradient; without `decay_all`, biases and norms are not decayed."""
    parameters = [parameter for parameter in objective.parameters() if parameter.requires_grad]
    decayed = [parameter for parameter in parameters if training.decay_all or parameter.dim() > 1]
    spared = [parameter for parameter in parameters if not training.decay_all and parameter.dim() <= 1]
    groups = [
        {"params": decayed, "weight_decay": training.weight_decay},
        {"params": spared, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]], lr=training.lr, eps=training.eps, fused=True
    )


def training_arguments(training: Training, folder: Path, seed: int, total: int) -> TrainingArguments:
    """Return Trainer's arguments: everything silent, logged some fifty times, checkpoints only in longer runs."""
    cuda = torch.cuda.is_available()
    return TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=training.epochs,
        per_device_train_batch_size=training.batch_size,
        gradient_accumulation_steps=training.accumulate,
        learning_rate=training.lr,
        lr_scheduler_type="constant_with_warmup" if training.schedule == "constant" else "linear",
        warmup_steps=training.warmup if training.warmup else 0,
        max_grad_norm=training.clip,
        bf16=use_bf16(training.precision),
        use_cpu=not cuda,
        seed=seed,
        data_seed=seed,
        dataloader_drop_last=True,
        dataloader_pin_memory=cuda,
        remove_unused_columns=False,
        logging_steps=max(1, min(total // 50, training.save_every)),
        logging_first_step=True,
        logging_nan_inf_filter=False,
        save_strategy="steps" if total > training.save_every else "no",
        save_steps=training.save_every,
        save_total_limit=1,
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        log_level_replica="error",
    )


def use_bf16(precision: str) -> bool:
    """Say whether to autocast to bf16: as asked, or (auto) where the processor multiplies in it."""
    if precision != "auto":
        return precision == "bf16"
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    able = torch.cpu.get_capabilities()
    return bool(able.get("amx_bf16") or able.get("avx512_bf16"))


def newest_checkpoint(out: Path) -> Path | None:
    """Return the newest complete checkpoint under a run's directory; incomplete ones (a crash) are removed."""
    folder = out / CHECKPOINTS
    if not folder.is_dir():
        return None
    for path in folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*"):
        # Trainer writes its state last.
        if not (path / "trainer_state.json").is_file():
            shutil.rmtree(path)
    newest = get_last_checkpoint(str(folder))
    return Path(newest) if newest else None


def step_of(checkpoint: Path | None) -> int:
    """Return the optimiser step of a checkpoint, 0 for none."""
    return int(checkpoint.name.rsplit("-", 1)[1]) if checkpoint else 0
