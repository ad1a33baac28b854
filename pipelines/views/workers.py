"""Worker processes: each maps its tasks to results, and ends with the process that started it."""

import gc
import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

from augment.errors import TwinviewsError
from augment.models.device import usable_cores

T = TypeVar("T")
R = TypeVar("R")
AHEAD = 3
"""Tasks that a worker holds at a time, such as windows: it reads one, makes one and writes one."""
Work: TypeAlias = Callable[[Iterator[T]], Iterator[R]]
"""Maps tasks to one result each, in their order; it may look at the next task before it yields a result."""


def run_workers(
    build: Callable[[int], Work[T, R]], tasks: Iterable[T], workers: int, *, ordered: bool
) -> Generator[R]:
    """Do tasks in worker processes, and yield their results.

    `build` is called once in each worker with its number; it and the tasks are pickled. A worker holds at most
    `AHEAD` tasks, which bounds memory. If the results need not be `ordered` like the tasks, no worker waits
    for a slower one. Raises TwinviewsError if a worker died, mostly for lack of memory, and whatever a task
    raised.
    """
    processes: list[Any] = []
    busy: deque[Connection] = deque()  # a worker as often as it has tasks, in the order of the tasks
    remaining = iter(tasks)

    def send_task(worker: Connection) -> None:
        task = next(remaining, None)
        with suppress(ConnectionError):  # it died, which receiving its results will show
            worker.send(task)  # None ends its work
        if task is not None:
            busy.append(worker)

    try:
        for worker in [_start(build, number, workers, processes) for number in range(workers)] * AHEAD:
            send_task(worker)
        while busy:
            ready = busy if ordered else wait(dict.fromkeys(busy))
            worker = next(worker for worker in busy if worker in ready)
            busy.remove(worker)
            try:
                result = worker.recv()
            except (EOFError, ConnectionError):
                raise TwinviewsError(
                    "a worker died (out of memory?): run the command again with fewer --workers"
                ) from None
            if isinstance(result, BaseException):
                raise result
            send_task(worker)
            yield result
    finally:
        for process in processes:
            process.terminate()  # after Ctrl-C or a failed task, some are still working
        for process in processes:
            process.join()


def _start(build: Callable[[int], Work[T, R]], number: int, workers: int, processes: list[Any]) -> Connection:
    """Start a worker, add it to `processes`, and return the parent's end of the pipe to it."""
    context = multiprocessing.get_context("spawn")
    resource_tracker.ensure_running()  # before the mask is set, which starting it would lift
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, build, number, workers, gc.get_threshold()[0]))
    # Workers inherit the mask: the terminal sends Ctrl-C to all processes, but only this one handles it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
        processes.append(process)  # one that could not start cannot be ended either
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    theirs.close()
    return ours


def _work(
    connection: Connection, build: Callable[[int], Work[T, R]], number: int, workers: int, gc_rate: int
) -> None:
    gc.set_threshold(gc_rate)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() // workers)))
    tasks: SimpleQueue[Any] = SimpleQueue()
    receiver = threading.Thread(target=_receive, args=(connection, tasks), daemon=True)
    receiver.start()
    with suppress(BrokenPipeError):
        try:
            for result in build(number)(iter(tasks.get, None)):
                connection.send(result)
        except Exception as error:  # the parent raises it
            try:
                ForkingPickler.loads(ForkingPickler.dumps(error))
            except Exception:  # of any kind: pickling runs the code of the error's class
                error = RuntimeError("".join(traceback.format_exception(error)))
            connection.send(error)
    receiver.join()


def _receive(connection: Connection, tasks: "SimpleQueue[Any]") -> None:
    """Take in tasks, also while a result waits to be fetched; end the worker when its parent has died."""
    try:
        while True:
            tasks.put(connection.recv())
    finally:
        os._exit(1)
