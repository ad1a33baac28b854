"""This machine: in this process, or in spawned workers, each with its own view and, where there are several, device."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from augment.device import device_kind, usable_cores
from augment.errors import TwinviewsError
from augment.view import WEIGHTS_PARAMS, View
from pipelines.job import Job
from pipelines.shards import Receipt

SECONDS = 20.0
"""What a window takes, the most that a kill loses."""
MOST_ROWS = 65_536
GROWTH = 8
"""How many times longer than the last one a window is at most."""
# What a worker keeps from window to window: models are loaded once.
_held: dict[str, Any] = {}


class Windows:
    """Cuts the shards that are to be made into windows: a view sorts and batches the rows of one together.

    The first is one shard. The next ones are as many as were made in `SECONDS`, at the pace of the last, so that a
    slow model loses no more when it is killed, and no window is longer than each worker's share of what is left.
    """

    def __init__(self, indices: Sequence[int], shard_size: int, workers: int) -> None:
        self._left = list(indices)
        self._most = max(1, MOST_ROWS // shard_size)
        self._workers = workers
        self._shards = 1

    def __iter__(self) -> Iterator[list[int]]:
        while self._left:
            count = min(self._shards, max(1, len(self._left) // self._workers))
            window, self._left = self._left[:count], self._left[count:]
            yield window

    def learn(self, shards: int, seconds: float) -> None:
        """Set the size of the next windows by what the last one took."""
        self._shards = min(max(1, int(shards * SECONDS / max(seconds, 1e-3))), shards * GROWTH, self._most)


def run_shards(job: Job, indices: Sequence[int], view: View, workers: int) -> Iterator[Receipt]:
    """Make and commit the shards `indices`, yielding each one's receipt when its window is committed.

    Args:
        job: What to make, from where and to where.
        indices: Shards that are still to be made.
        view: Used when everything runs in this process; workers build their own.
        workers: Processes; 1 means this one.

    Raises:
        TwinviewsError: A view failed, or a worker died (for want of memory, mostly).
    """
    workers = min(workers, len(indices))
    windows = Windows(indices, job.plan.shard_size, workers)
    if workers > 1:
        yield from _run_workers(job, windows, workers)
        return
    for window in windows:
        started = time.monotonic()
        yield from job.commit(window, view)
        windows.learn(len(window), time.monotonic() - started)


def _run_workers(job: Job, windows: Windows, workers: int) -> Iterator[Receipt]:
    context = multiprocessing.get_context("spawn")
    numbers = context.Queue()
    for number in range(workers):
        numbers.put(number)
    pool = ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(job, numbers, workers))
    waiting: set[Future[tuple[list[Receipt], float]]] = set()
    try:
        for window in windows:
            # The workers begin with the mask: Ctrl-C, which the terminal sends to all, is for this process to hear.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                waiting.add(pool.submit(_commit, window))
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            if len(waiting) == workers:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for receipts, seconds in (each.result() for each in done):
                    windows.learn(len(receipts), seconds)
                    yield from receipts
        for last in as_completed(waiting):
            yield from last.result()[0]
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


def _commit(window: list[int]) -> tuple[list[Receipt], float]:
    """Make a window in a worker; its receipts, and the seconds that it took."""
    started = time.monotonic()
    receipts: list[Receipt] = _held["job"].commit(window, _held["view"])
    return receipts, time.monotonic() - started
