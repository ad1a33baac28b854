"""A Ray cluster: each worker is an actor that loads the models once; Ray restarts a lost one on another machine."""

import logging
import socket
from collections.abc import Generator, Iterable
from itertools import islice
from typing import Any

from augment.errors import InputError, MissingExtraError, TwinviewsError
from pipelines.views.work import AHEAD, Made, ViewRun, Window, make_windows

CONNECT_SECONDS = 10.0


def run_cluster(run: ViewRun, windows: Iterable[Window], workers: int, address: str | None) -> Generator[Made]:
    """Make windows on a cluster, and yield each when it is committed; a lost worker's window is made again.

    All machines must see the folders by the same absolute paths or addresses. Raises InputError if there is no cluster
    at `address`, TwinviewsError if a view fails.
    """
    ray = _connect(address)
    try:
        # Every worker gets a GPU to itself if there are any and the view has weights.
        gpus = int(ray.cluster_resources().get("GPU", 0)) if run.has_weights and run.runtime.device != "cpu" else 0
        remote = ray.remote(num_gpus=min(gpus, 1), max_restarts=-1, max_task_retries=-1)(Worker)
        actors = [remote.remote(run.for_worker()) for _ in range(min(workers, gpus or workers))]
        source = iter(windows)
        asked = {actor.make.remote(window): actor for actor, window in zip(actors * AHEAD, source, strict=False)}
        while asked:
            (done,), _ = ray.wait(list(asked), num_returns=1)
            actor = asked.pop(done)
            yield ray.get(done)
            asked |= {actor.make.remote(window): actor for window in islice(source, 1)}
    except ray.exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, TwinviewsError) else TwinviewsError(str(error.cause)) from None
    except ray.exceptions.RayError as error:
        raise TwinviewsError(f"the Ray cluster failed ({str(error).splitlines()[0]}): see `ray status`") from None
    finally:
        ray.shutdown()


def _connect(address: str | None) -> Any:  # noqa: ANN401 - a module
    try:
        import ray
    except ImportError:
        raise MissingExtraError("--engine ray", "ray") from None
    try:
        host, separator, port = (address or "").rpartition(":")
        if separator and port.isdigit() and "/" not in host:  # where nothing listens, Ray itself waits for minutes
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"--address {address}: no Ray cluster answers there ({reason}): see `ray status`") from None
    return ray


class Worker:
    """An actor."""

    def __init__(self, run: ViewRun) -> None:
        self._run = run

    def make(self, window: Window) -> Made:
        """Make and commit a window; the first one loads the models, so that the caller sees what fails there."""
        self._run = self._run.built()
        (made,) = make_windows(self._run, [window])
        return made
