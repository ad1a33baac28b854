"""In which number format a training multiplies: as asked, or as the processor can."""

from __future__ import annotations

import os
import shutil
from typing import Literal

import torch

from pipelines.console import InputError

Precision = Literal["fp32", "bf16", "fp16"]
DTYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}
"""What is autocast to; None is no autocast."""


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


def check_compiler() -> None:
    """Refuse `--compile` where torch.compile could not build anything.

    Raises:
        InputError: A CPU without a C++ compiler.
    """
    if torch.cuda.is_available() or os.environ.get("CXX"):
        return
    if not any(map(shutil.which, ("g++", "clang++", "c++", "cl"))):
        raise InputError("--compile needs a C++ compiler: install g++, or leave it out")
