"""What a training needs of the machine: Trainer's arguments, a number format, a place for its log."""

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import TrainingArguments

from pipelines.console import InputError, note
from trainers.processes import is_first, processes
from trainers.settings import Training
from trainers.training.directory import CHECKPOINTS

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def for_machine(training: Training) -> Training:
    """Return the settings with the precision resolved; raises InputError for what this machine does not have."""
    name = training.report_to
    if name != "none" and find_spec(name) is None:
        raise InputError(f"--report-to {name} needs its package: pip install {name}")
    return training.model_copy(update={"precision": resolve_precision(training.precision)})


def resolve_precision(asked: str) -> str:
    """Return the format to autocast to; "auto" is bf16 where the processor multiplies in it, fp32 elsewhere.

    Raises InputError for fp16 without a GPU, and for bf16 on a GPU that does not support it.
    """
    if torch.cuda.is_available():
        able = torch.cuda.is_bf16_supported(including_emulation=False)
        if asked == "bf16" and not able:
            raise InputError("this GPU does not support --precision bf16: use fp16 or fp32")
    else:
        able = any(torch.cpu.get_capabilities().get(name) for name in ("amx_bf16", "avx512_bf16"))
        if asked == "fp16":
            raise InputError("--precision fp16 needs a GPU: use bf16 or fp32")
    return ("bf16" if able else "fp32") if asked == "auto" else asked


def autocast(device: torch.device, asked: str) -> torch.autocast:
    """Return the context in which an encoder is computed on `device`."""
    dtype = DTYPES.get(resolve_precision(asked))
    return torch.autocast(device.type, dtype=dtype, enabled=dtype is not None)


def enable_checkpointing(model: Any) -> None:  # noqa: ANN401 - transformers' model
    """Recompute activations in the backward pass; raises InputError if the architecture does not support it."""
    # The older name is deprecated.
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    try:
        enable({"use_reentrant": False})
    except (ValueError, NotImplementedError):
        raise InputError(f"{type(model).__name__} does not support --gradient-checkpointing: leave it out") from None


def training_arguments(training: Training, out: Path, seed: int, total: int) -> TrainingArguments:
    """Return Trainer's arguments: silent, logging about fifty times, with checkpoints in longer runs alone."""
    cuda, precision = torch.cuda.is_available(), resolve_precision(training.precision)
    arguments = TrainingArguments(
        output_dir=str(out / CHECKPOINTS),
        **_report_settings(training.report_to, out),
        num_train_epochs=training.epochs,
        per_device_train_batch_size=training.batch_size // processes(),
        gradient_accumulation_steps=training.accumulate,
        learning_rate=training.lr,
        lr_scheduler_type="constant_with_warmup" if training.schedule == "constant" else "linear",
        warmup_steps=training.warmup,
        max_grad_norm=training.clip,
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        use_cpu=not cuda,
        seed=seed,
        dataloader_drop_last=True,
        dataloader_pin_memory=cuda,
        accelerator_config={"non_blocking": cuda},
        remove_unused_columns=False,
        ddp_broadcast_buffers=False,  # all processes compute the same ones, such as queues of vectors
        logging_steps=max(1, min(total // 50, training.save_every)),
        logging_first_step=True,
        logging_nan_inf_filter=False,
        save_strategy="steps" if total > training.save_every else "no",
        save_steps=training.save_every,
        save_total_limit=2,  # the older one in case the newest is damaged
        disable_tqdm=True,
        log_level="error",
        log_level_replica="error",
    )
    if arguments.n_gpu > 1:
        # Trainer would split batches among the GPUs in threads, negatives and norms with them.
        note(f"training on one of {arguments.n_gpu} GPUs: torchrun --nproc-per-node {arguments.n_gpu} uses all")
        arguments._n_gpu = 1
    return arguments


def _report_settings(name: str, out: Path) -> dict[str, str]:
    """Return Trainer's arguments on where the log is sent, and set the variables that its integrations read."""
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(out / "tensorboard")
    os.environ.setdefault("WANDB_PROJECT", "twinviews")
    if name == "wandb" and is_first():
        import_module("wandb").finish()  # what an earlier training of this process left open
    return {"report_to": name, "run_name": out.as_posix()}
