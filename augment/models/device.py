"""Devices, engines and precisions, of which only the latter two may change a view's text; batches."""

import logging
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import groupby
from typing import TYPE_CHECKING

from augment.errors import InputError

if TYPE_CHECKING:
    import torch

LENGTH_STEP = 16
COMPUTE_TYPES = {"int8": "int8_float32", "fp32": "float32", "bf16": "bfloat16"}
"""The precisions of CTranslate2 and its names for them, the fastest first."""


def resolve_device(name: str) -> "torch.device":
    """The device of that name; "auto" is CUDA if available. Raises InputError if this machine lacks it."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|mps|cuda(:[0-9]{1,2})?", name):
        raise InputError(f"device {name!r}: not a device; use auto, cpu, cuda or cuda:N")
    device = torch.device(name)
    counts = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if (device.index or 0) >= counts[device.type]:
        raise InputError(f"device {name!r}: this machine has {counts[device.type]} such devices; use cpu")
    return device


def device_kind(name: str) -> str:
    """The type ("cpu", "cuda", "mps") of the device that `name` stands for.

    Raises InputError like `resolve_device`.
    """
    # Importing torch takes seconds, and CTranslate2 does not need it.
    if name == "cpu" or (name == "auto" and version("torch").endswith("+cpu")):
        return "cpu"
    return resolve_device(name).type


def resolve_engine(engine: str, precision: str, device: str, *, sampled: bool) -> tuple[str, str]:
    """The engine and the precision to use: as given, or the fastest for "auto".

    That is CTranslate2 for greedy and beam search on a CPU, in int8 by default, and transformers for
    everything else: in bf16 on CUDA (fp16 where it lacks that) and on a CPU with bf16 arithmetic (AMX,
    AVX512-BF16), where it is twice as fast, else in fp32. In fp64, rounding is too small to change a text.
    Raises InputError for impossible pairs.
    """
    kind = device_kind(device)
    if engine != "transformers" and not sampled and kind == "cpu":
        import ctranslate2

        compute_types = ctranslate2.get_supported_compute_types("cpu")
        supported = [name for name, compute_type in COMPUTE_TYPES.items() if compute_type in compute_types]
        if precision in ("auto", *supported):
            return "ctranslate2", supported[0] if precision == "auto" else precision
    if engine == "ctranslate2":
        case = f"precision {precision!r} on {device!r}{' with sampling' * sampled}"
        raise InputError(
            f"translator 'ctranslate2': greedy and beams in int8 or fp32 on a CPU, not {case}; use auto"
        )
    if precision == "int8" or (precision, kind) in (("fp16", "cpu"), ("fp64", "mps")):
        raise InputError(
            f"precision {precision!r}: transformers has none on this device ({kind}); use auto or fp32"
        )
    if precision != "auto":
        return "transformers", precision
    slower = "fp16" if kind == "cuda" else "fp32"
    return "transformers", "bf16" if has_fast_bf16(kind) else slower


def has_fast_bf16(kind: str) -> bool:
    """Whether a kind of device computes in bf16 itself."""
    import torch

    if kind == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return any(torch.cpu.get_capabilities().get(name) for name in ("amx_bf16", "avx512_bf16"))


def usable_cores() -> int:
    """The number of threads to compute with: OMP_NUM_THREADS if set, else the cores that this process may use."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdecimal() and int(threads):
        return int(threads)
    # Not on macOS or Windows.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def padded(length: int, limit: int, step: int = LENGTH_STEP) -> int:
    """The tokens that a row is padded to, by its own length: a batch of one width rounds as each of its rows alone."""
    return min(-(-length // step) * step, limit)


def pack(widths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Row numbers in batches of one padded width, the widest first.

    At most `budget` tokens, or a single row.
    """
    ordered = sorted(range(len(widths)), key=lambda row: (-widths[row], row))
    for width, rows in groupby(ordered, key=widths.__getitem__):
        equal = list(rows)
        size = max(1, budget // width)
        yield from (equal[start : start + size] for start in range(0, len(equal), size))


@contextmanager
def quiet_transformers() -> Iterator[list[str]]:
    """Silence warnings, most of which are expected, and progress bars; yields what the libraries warned of."""
    from transformers.utils import logging as transformers_logging

    loggers = [
        logging.getLogger(name) for name in ("transformers", "sentence_transformers", "huggingface_hub")
    ]
    settings = [(logger.handlers, logger.propagate) for logger in loggers]
    bars = transformers_logging.is_progress_bar_enabled()
    listener, warned = logging.Handler(logging.WARNING), list[str]()
    listener.emit = lambda record: warned.append(record.getMessage())  # type: ignore[method-assign]
    for logger in loggers:
        logger.handlers, logger.propagate = [listener], False
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield warned
    finally:
        for logger, setting in zip(loggers, settings, strict=True):
            logger.handlers, logger.propagate = setting
        if bars:
            transformers_logging.enable_progress_bar()
