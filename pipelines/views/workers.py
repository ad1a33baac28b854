"""This machine: spawned workers, each with its own view and, where there are several, device."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any

from augment.device import device_kind, usable_cores
from augment.errors import TwinviewsError
from augment.view import WEIGHTS_PARAMS
from pipelines.views.window import AHEAD, Made, Window
from pipelines.views.work import ViewRun, make_windows


def run_workers(run: ViewRun, windows: Iterable[Window], workers: int) -> Generator[Made]:
    """Make and commit windows in so many processes, and yield each when it is committed.

    Raises:
        TwinviewsError: A view failed, or a worker died (for want of memory, mostly).
    """
    context = multiprocessing.get_context("spawn")
    source = iter(windows)
    processes, connections = [], []
    try:
        for number in range(workers):
            ours, theirs = context.Pipe()
            processes.append(context.Process(target=_work, args=(theirs, run.for_worker(), number, workers)))
            # The workers begin with the mask: Ctrl-C, which the terminal sends to all, is for this process to hear.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                processes[-1].start()
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            theirs.close()
            connections.append(ours)
            for _ in range(AHEAD):
                _feed(ours, source)
        while connections:
            for ready in wait(connections):
                made: Any = ready.recv()  # type: ignore[union-attr, call-arg]
                if isinstance(made, BaseException):
                    raise made
                if made is None:
                    connections.remove(ready)  # type: ignore[arg-type]
                    continue
                _feed(ready, source)  # type: ignore[arg-type]
                yield made
    except (EOFError, ConnectionError):
        raise TwinviewsError(
            f"a worker died with shards of {run.out} unfinished (out of memory?): "
            "run the same command again with fewer --workers"
        ) from None
    finally:
        # After Ctrl-C or a failed shard what runs is stopped, and what is committed stays.
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _feed(connection: Connection, source: Iterator[Window]) -> None:
    with suppress(BrokenPipeError):  # it knows already that there are no more, or has died, which is found out later
        connection.send(next(source, None))


def _work(connection: Connection, run: ViewRun, number: int, workers: int) -> None:
    """Make the windows that come, until None comes; what goes back is each one made, an error, or None at the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A worker whose parent was killed would otherwise wait for work for ever, or write beside the next run.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, usable_cores() // workers)))
    with suppress(BrokenPipeError):
        try:
            # Asking for the GPUs means importing torch, which a view without weights has no use for.
            has_weights = any(run.plan.params.get(key) is not None for key in WEIGHTS_PARAMS)
            device = _device(run.runtime.device, number) if has_weights else run.runtime.device
            run = replace(run, runtime=replace(run.runtime, device=device))
            for made in make_windows(run, iter(connection.recv, None)):
                connection.send(made)
            connection.send(None)
        except Exception as error:
            connection.send(error)


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
