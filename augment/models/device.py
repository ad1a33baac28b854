"""Devices, batches of rows, and times of stages; none of these may change a view's text."""

import logging
import os
import re
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from augment.errors import InputError

if TYPE_CHECKING:
    import torch

LENGTH_STEP = 16
Stage: TypeAlias = Literal["read", "tokenise", "model", "detokenise", "write"]
SECONDS: defaultdict[Stage, float] = defaultdict(float)
"""Seconds that this process has spent on each stage, for `--profile`; one thread at a time adds to a stage."""


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
    """The type ("cpu", "cuda", "mps") of the device that `name` stands for; raises InputError like `resolve_device`."""
    # Importing torch takes seconds, and CTranslate2 does not need it.
    if name == "cpu" or (name == "auto" and version("torch").endswith("+cpu")):
        return "cpu"
    return resolve_device(name).type


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
    """Row numbers in batches of one padded width, the widest first; at most `budget` tokens, or a single row."""
    ordered = sorted(range(len(widths)), key=lambda row: (-widths[row], row))
    for width, rows in groupby(ordered, key=widths.__getitem__):
        equal = list(rows)
        size = max(1, budget // width)
        yield from (equal[start : start + size] for start in range(0, len(equal), size))


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' warnings and progress bars."""
    from transformers.utils import logging as transformers_logging

    verbosity = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(logging.ERROR)
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


@contextmanager
def timed(stage: Stage) -> Iterator[None]:
    """Add the seconds that the block takes to a stage."""
    started = time.perf_counter()
    try:
        yield
    finally:
        SECONDS[stage] += time.perf_counter() - started
