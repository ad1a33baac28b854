"""Training in several processes: each sees the vectors of the whole batch, and gradients are those of one process."""

import atexit
import os
import re
import warnings
from typing import Any

import torch
import xxhash
from torch import Tensor, distributed

from pipelines.base.console import InputError

DEPRECATED = ("`broadcast_buffers` is deprecated", "torch.distributed.nn.functional.all_gather is deprecated")
"""How the warnings begin that accelerate and torch give for calls in accelerate, and for one that old torch
needs."""


def join_processes() -> None:
    """Meet the other processes, if `torchrun` or `accelerate launch` started several."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or processes() > 1:
        return
    from accelerate import PartialState

    for message in DEPRECATED:
        warnings.filterwarnings("ignore", re.escape(message), FutureWarning)
    atexit.register(PartialState(cpu=not torch.cuda.is_available()).destroy_process_group)


def processes() -> int:
    """Return the number of processes that train together."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def process_rank() -> int:
    """Return this process's number, from 0."""
    return distributed.get_rank() if processes() > 1 else 0


def is_first() -> bool:
    """Whether this process writes the files."""
    return process_rank() == 0


def of_first(value: Any) -> Any:  # noqa: ANN401 - whatever can be sent
    """Wait for all processes, and return the first one's `value` in each."""
    if processes() == 1:
        return value
    from accelerate.utils import broadcast_object_list, wait_for_everyone

    wait_for_everyone()  # a process may leave a broadcast before the others have come
    return broadcast_object_list([value])[0]


def summed(tensor: Tensor) -> Tensor:
    """Return the sum over all processes of a tensor that needs no gradient."""
    if processes() == 1:
        return tensor
    from accelerate.utils import reduce

    return reduce(tensor.detach(), "sum")  # type: ignore[no-any-return] # accelerate is untyped


def process_seed(seed: int) -> int:
    """Return the seed of this process's dropout: the run's own in the first one."""
    return seed if is_first() else xxhash.xxh64_intdigest(f"{seed}|process|{process_rank()}".encode()) >> 1


def divided_batch(size: int, rows: int, count: int) -> int:
    """The global batch size for this many rows; raises InputError if `count` processes cannot divide it."""
    batch_size = size if size <= rows else rows // count * count
    if batch_size == 0 or batch_size % count:
        raise InputError(
            f"--batch-size {size} of {rows} rows cannot be divided among {count} processes: "
            f"take a multiple of {count}, or start fewer"
        )
    return batch_size


def gather(rows: Tensor) -> Tensor:
    """The rows (n, ...) of all processes, (processes * n, ...); their gradients are those of one process."""
    if processes() == 1:
        return rows
    from torch.distributed.nn.functional import all_gather  # some builds of torch lack it

    return torch.cat(all_gather(rows))  # type: ignore[no-untyped-call]


def gather_pairs(vectors: Tensor, sides: int = 2) -> Tensor:
    """Gather (sides * n, d) vectors, rows i and n + i a pair, such that all first sides still come first."""
    return vectors if processes() == 1 else torch.cat([gather(side) for side in vectors.chunk(sides)])
