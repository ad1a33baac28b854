"""Worker processes: each maps the tasks that it is given to results, and ends with the process that began it."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

from augment.device import usable_cores
from augment.errors import TwinviewsError

T = TypeVar("T")
R = TypeVar("R")
Work: TypeAlias = Callable[[Iterator[T]], Iterator[R]]
"""Maps tasks to one result each, in their order."""


def run_workers(
    build: Callable[[int], Work[T, R]], tasks: Iterable[T], workers: int, *, ahead: int = 2, ordered: bool = True
) -> Generator[R]:
    """Do tasks in worker processes.

    Args:
        build: Called once in each worker with its number; both this and the tasks are sent there.
        tasks: What to do; a single one is done in this process. One is asked for when a result is handed on.
        workers: How many processes.
        ahead: Tasks that a worker has at a time, which bounds what is in memory.
        ordered: Hand results on in the order of their tasks, and not as they come.

    Raises:
        TwinviewsError: A worker died (for want of memory, mostly).
        Exception: What a task raised.
    """
    source = iter(tasks)
    first = list(islice(source, 2))
    if len(first) < 2:
        yield from build(0)(iter(first))
        return
    processes: list[Any] = []
    try:
        pipes = [_start(build, number, workers, processes) for number in range(workers)]
        yield from _results(pipes, chain(first, source), ahead, ordered)
    except (EOFError, ConnectionError):
        raise TwinviewsError(
            "a worker died (out of memory?): run the same command again with fewer --workers"
        ) from None
    finally:
        # After Ctrl-C or a failed task what runs is stopped.
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _results(workers: Sequence[Connection], tasks: Iterator[T], ahead: int, ordered: bool) -> Generator[Any]:
    """Hand out tasks, one more for every result that is handed on."""
    asked: deque[Connection] = deque()  # in the order of the tasks
    came: dict[Connection, deque[Any]] = {worker: deque() for worker in workers}

    def ask(worker: Connection) -> None:
        for task in islice(tasks, 1):
            asked.append(worker)
            worker.send(task)

    for worker in [*workers] * ahead:
        ask(worker)
    while asked:
        ready: list[Any] = wait(workers)
        for each in ready:
            result = each.recv()
            if isinstance(result, BaseException):
                raise result
            came[each].append(result)
        while done := [worker for worker in islice(asked, 1 if ordered else None) if came[worker]]:
            asked.remove(done[0])
            ask(done[0])
            yield came[done[0]].popleft()


def _start(build: Callable[[int], Work[T, R]], number: int, workers: int, processes: list[Any]) -> Connection:
    """Start a worker; our end of the pipe to it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    processes.append(context.Process(target=_work, args=(theirs, build, number, workers)))
    # The workers begin with the mask: Ctrl-C, which the terminal sends to all, is for this process to hear.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        processes[-1].start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    theirs.close()
    return ours


def _work(connection: Connection, build: Callable[[int], Work[T, R]], number: int, workers: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() // workers)))
    tasks: SimpleQueue[T] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    with suppress(BrokenPipeError):
        try:
            for result in build(number)(iter(tasks.get, None)):
                connection.send(result)
        except Exception as error:  # the process that asked raises it
            connection.send(error)


def _receive(connection: Connection, tasks: "SimpleQueue[Any]") -> None:
    """Take in tasks, also while a result waits to be fetched; end the worker when its parent is gone."""
    try:
        while True:
            tasks.put(connection.recv())
    finally:
        os._exit(1)
