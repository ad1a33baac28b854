"""What a training needs of the machine: a number format, recomputed activations, a place for its log."""

from importlib.util import find_spec
from typing import Any

import torch

from pipelines.console import InputError
from trainers.settings import Training

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
    """Return the context in which an encoder runs on `device`."""
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
