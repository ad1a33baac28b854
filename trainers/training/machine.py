"""What a training needs of the machine: a number format, a compiler, a place that its log is sent to."""

import os
import shutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import torch
from transformers import TrainerCallback

from pipelines.console import InputError
from trainers.settings import Training

Precision = Literal["fp32", "bf16", "fp16"]
DTYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}
"""What is autocast to; None is no autocast."""
PROJECT = "twinviews"


def for_machine(training: Training) -> Training:
    """Return the settings with the precision taken; raises InputError for what this machine does not have."""
    name = training.report_to
    if name != "none" and find_spec(name) is None:
        raise InputError(f"--report-to {name} needs its package: pip install {name}")
    compilers = (os.environ.get("CXX") or "g++", "g++", "clang++", "c++", "cl")
    if training.compile and not torch.cuda.is_available() and not any(map(shutil.which, compilers)):
        raise InputError("--compile needs a C++ compiler: install g++, or leave it out")
    return training.model_copy(update={"precision": resolve_precision(training.precision)})


def resolve_precision(asked: str) -> Precision:
    """Return the format to autocast to; "auto" is bf16 where the processor multiplies in it, fp32 elsewhere.

    Raises:
        InputError: fp16 without a GPU, or bf16 on a GPU that cannot.
    """
    cuda = torch.cuda.is_available()
    able = cuda and bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if asked == "fp16":
        if not cuda:
            raise InputError("--precision fp16 needs a GPU: use bf16 or fp32")
        return "fp16"
    if asked == "bf16":
        if cuda and not able:
            raise InputError("--precision bf16 is not for this GPU, which cannot multiply in it: use fp16 or fp32")
        return "bf16"
    if asked == "fp32":
        return "fp32"
    capabilities = torch.cpu.get_capabilities()
    on_cpu = not cuda and (capabilities.get("amx_bf16") or capabilities.get("avx512_bf16"))
    return "bf16" if able or on_cpu else "fp32"


def autocast(device: torch.device, asked: str) -> torch.autocast:
    """Return the context in which an encoder is computed on `device`."""
    dtype = DTYPES[resolve_precision(asked)]
    return torch.autocast(device.type, dtype=dtype, enabled=dtype is not None)


def reporters(name: str, out: Path) -> list[TrainerCallback]:
    """Return what Trainer hands the log to; nothing for "none".

    TensorBoard's files go to `out/tensorboard`; the others take their settings from their own environment variables
    (WANDB_PROJECT, WANDB_MODE, TRACKIO_PROJECT), their project's name being `twinviews` where there are none.
    """
    from transformers import integrations

    if name == "tensorboard":
        from torch.utils.tensorboard import SummaryWriter

        return [integrations.TensorBoardCallback(SummaryWriter(str(out / "tensorboard")))]
    if name == "wandb":
        os.environ.setdefault("WANDB_PROJECT", PROJECT)
        import_module("wandb").finish()  # what an earlier training of this process left open
        return [integrations.WandbCallback()]
    return [integrations.TrackioCallback()] if name == "trackio" else []
