"""Training in several processes: every process sees the vectors of the whole batch, with the gradients of one."""

import atexit
import os
import threading
import time
from typing import Any

import torch
import xxhash
from torch import Tensor, distributed

from pipelines.console import InputError


def join_processes() -> None:
    """Meet the other processes if `torchrun` or `accelerate launch` started several; nothing to do otherwise."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or processes() > 1:
        return
    from accelerate import PartialState

    threading.Thread(target=_end_without, args=[os.getppid()], daemon=True).start()
    atexit.register(PartialState(cpu=not torch.cuda.is_available()).destroy_process_group)


def _end_without(launcher: int) -> None:
    """End this process once its launcher is gone: one that is killed outright cannot tell those it started."""
    while os.getppid() == launcher:
        time.sleep(1)
    os._exit(1)


def processes() -> int:
    """Return how many processes train together; 1 outside `torchrun` and `accelerate launch`."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def process_rank() -> int:
    """Return this process's number, from 0; the first one writes the files and speaks."""
    return distributed.get_rank() if processes() > 1 else 0


def is_first() -> bool:
    """Whether this process is the one that writes the files and speaks."""
    return process_rank() == 0


def of_first(value: Any) -> Any:  # noqa: ANN401 - whatever can be sent
    """Return the first process's `value` in all of them, once all are here."""
    if processes() == 1:
        return value
    sent = [value]
    distributed.broadcast_object_list(sent)
    return sent[0]


def summed(tensor: Tensor) -> Tensor:
    """Return the sum over all processes of a tensor that needs no gradient."""
    if processes() == 1:
        return tensor
    whole = tensor.detach().clone()
    distributed.all_reduce(whole)
    return whole


def process_seed(seed: int) -> int:
    """Return the seed of this process's dropout: the run's own in the first, others elsewhere."""
    rank = process_rank()
    return seed if rank == 0 else xxhash.xxh64_intdigest(f"{seed}|process|{rank}".encode()) >> 1


def divided_batch(size: int, rows: int, count: int) -> int:
    """Return the global batch size that can be had; raises InputError if `count` processes cannot divide it."""
    taken = size if size <= rows else rows // count * count
    if taken == 0 or taken % count:
        said = f"--batch-size {size} of {rows} rows cannot be divided among {count} processes"
        raise InputError(f"{said}: take a multiple of {count}, or start fewer")
    return taken


def gather(rows: Tensor) -> Tensor:
    """Return the rows (n, ...) of all processes, (processes * n, ...); with one process, what was given.

    A row's gradient is the sum of what every process's loss makes of it. Data-parallel training averages the
    parameters' gradients: a loss that all processes compute alike, or of which each computes a part whose mean is the
    whole, then gives the gradients of one process with the whole batch. All processes must hold equally many rows.
    """
    if processes() == 1:
        return rows
    from torch.distributed.nn.functional import all_gather  # not in a torch that is built without torch.distributed

    return torch.cat(all_gather(rows))  # type: ignore[no-untyped-call]


def gather_pairs(vectors: Tensor, sides: int = 2) -> Tensor:
    """Gather (sides * n, d) vectors, row i and n + i a pair, so that in the whole, too, all first sides come first."""
    if processes() == 1:
        return vectors
    return torch.cat([gather(side) for side in vectors.chunk(sides)])
