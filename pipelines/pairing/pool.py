"""Tasks through worker processes, results in the order of the tasks."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from typing import Any, TypeVar

from augment.device import usable_cores
from augment.errors import TwinviewsError

AHEAD = 2
"""Tasks a worker that are under way or wait for it, which bounds what is in memory."""
T = TypeVar("T")
R = TypeVar("R")
_held: dict[str, Any] = {}


def in_order(build: Callable[[], Callable[[T], R]], tasks: Iterable[T], workers: int) -> Iterator[R]:
    """What a function makes of each task, in the order of the tasks.

    Args:
        build: Gives the function; each worker calls it once.
        tasks: What to do; the results do not depend on who does it.
        workers: The most processes; a single task is done in this one.

    Raises:
        TwinviewsError: A worker died (for want of memory, mostly).
    """
    left = iter(tasks)
    first = list(islice(left, 2))
    if len(first) < 2:
        yield from map(build(), first)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start, (build, workers))
    waiting: deque[Future[R]] = deque()
    try:
        for task in chain(first, left):
            waiting.append(_submit(pool, task))
            if len(waiting) == workers * AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise TwinviewsError(
            "a worker died (out of memory?): run the same command again with fewer --workers"
        ) from None
    except BaseException:
        # Ctrl-C or a failed task: what runs is stopped.
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, task: Any) -> Future[Any]:  # noqa: ANN401 - whatever a task is
    # Workers start with this signal blocked: Ctrl-C, which a terminal sends to all, is for this process to hear.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_do, task)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _start(build: Callable[[], Callable[[Any], Any]], workers: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A worker whose parent was killed would otherwise wait for work for ever.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() // workers)))
    _held["function"] = build()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(task: Any) -> Any:  # noqa: ANN401 - whatever a task is
    return _held["function"](task)
