"""This machine: in this process, or in spawned workers, each with its own view and, where there are several, device."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from augment.device import device_kind, usable_cores
from augment.errors import TwinviewsError
from augment.view import WEIGHTS_PARAMS, View
from pipelines.job import Job
from pipelines.shards import Receipt

# What a worker keeps from shard to shard: models are loaded once.
_held: dict[str, Any] = {}


def run_shards(job: Job, indices: Sequence[int], view: View, workers: int) -> Iterator[Receipt]:
    """Make and commit the shards `indices`, yielding each one's receipt as it is committed.

    Args:
        job: What to make, from where and to where.
        indices: Shards that are still to be made.
        view: Used when everything runs in this process; workers build their own.
        workers: Processes; 1 means this one.

    Raises:
        TwinviewsError: A view failed, or a worker died (for want of memory, mostly).
    """
    if min(workers, len(indices)) <= 1:
        for index in indices:
            yield job.commit(index, view)
        return
    yield from _run_workers(job, indices, min(workers, len(indices)))


def _run_workers(job: Job, indices: Sequence[int], workers: int) -> Iterator[Receipt]:
    context = multiprocessing.get_context("spawn")
    numbers = context.Queue()
    for number in range(workers):
        numbers.put(number)
    pool = ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(job, numbers, workers))
    try:
        for done in as_completed([pool.submit(_commit, index) for index in indices]):
            yield done.result()
    except BrokenProcessPool:
        raise TwinviewsError(
            f"a worker died with shards of {job.out} unfinished (out of memory?): "
            "run the same command again with fewer --workers"
        ) from None
    except BaseException:
        # Ctrl-C or a failed shard: what runs is stopped, what is committed stays.
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_worker(job: Job, numbers: Any, workers: int) -> None:  # noqa: ANN401 - a multiprocessing queue
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A worker whose parent was killed would otherwise wait for work for ever, or write beside the next run.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    number = numbers.get()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() // workers)))
    _held["job"] = job
    # Asking for the GPUs means importing torch, which a view without weights has no use for.
    has_weights = any(job.plan.params.get(key) is not None for key in WEIGHTS_PARAMS)
    _held["view"] = job.make_view(_device(job.device, number) if has_weights else job.device)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _device(device: str, number: int) -> str:
    """The device of worker `number`: the GPUs in turn, if there are several and none was named."""
    if device not in {"auto", "cuda"} or device_kind(device) == "cpu":
        return device
    import torch

    count = torch.cuda.device_count()
    return f"cuda:{number % count}" if count > 1 else device


def _commit(index: int) -> Receipt:
    receipt: Receipt = _held["job"].commit(index, _held["view"])
    return receipt
