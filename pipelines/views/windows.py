"""Windows of shards, whose rows are sorted and batched together, made here or on a Ray cluster."""

import logging
import socket
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from augment.errors import InputError, MissingExtraError, TwinviewsError
from augment.models.device import device_kind
from augment.plugins import VIEWS
from augment.record import Record
from augment.view import View, ViewResult, check_params, checked_views, make_view, row_seed
from pipelines.options import ViewOptions
from pipelines.storage.dataset import Dataset, Plan
from pipelines.storage.shards import commit_shards, view_schema
from pipelines.views.workers import AHEAD

CONNECT_SECONDS = 10.0
RETRIES = 3
"""How often a window is made again on a cluster after its worker died; a window may be what kills its
workers."""
Window: TypeAlias = list[int]
"""Numbers of shards whose rows a view sorts and batches together."""
Rows: TypeAlias = tuple[Window, list[list[Any]], list[int]]
"""A window; its columns, ids and texts; and the seeds of its rows."""
Result: TypeAlias = tuple[list[Record], float]
"""The records of a committed window's shards, and the seconds that it took."""


@dataclass
class ViewRun:
    """A view of `source` to be made in the folder `out`.

    `view` is None until the process that makes it builds it.
    """

    plan: Plan
    source: Dataset
    out: Path
    options: ViewOptions
    view: View | None = None

    @property
    def runs_model(self) -> bool:
        """Whether the view can use a GPU."""
        return check_params(self.plan.name, self.plan.params).runs_model

    def for_worker(self) -> "ViewRun":
        """The same for another process: absolute paths, and no view."""
        source = self.source._replace(path=self.source.path.absolute())
        return replace(self, view=None, source=source, out=self.out.absolute())

    def make(self, window: Window) -> Result:
        """Make and commit a window in a Ray actor.

        The first one builds the view, so that the caller gets its error.
        """
        (result,) = make_windows(self, [window])
        return result


def worker(run: ViewRun, number: int) -> Callable[[Iterable[Window]], Generator[Result]]:
    """What worker `number` does with windows: `make_windows`, on one of the GPUs if there are several."""
    device = run.options.device
    if run.runs_model and device in {"auto", "cuda"} and device_kind(device) != "cpu":
        import torch

        count = torch.cuda.device_count()
        device = f"cuda:{number % count}" if count > 1 else device
    return partial(make_windows, replace(run, options=run.options.model_copy(update={"device": device})))


def make_windows(run: ViewRun, windows: Iterable[Window]) -> Generator[Result]:
    """Make and commit windows; while one is made, the next is read and the previous one is written.

    At most one window waits on either side, which bounds memory. The view runs in this thread, which receives
    Ctrl-C. An error of any stage is raised here after the other stages have ended.
    """
    if run.view is None:
        options = run.options
        run.view = make_view(run.plan.spec, **asdict(options.runtime))
        if (signature := run.view.spec.signature()) != run.plan.signature:
            raise InputError(
                f"a worker's view is {signature}, not {run.plan.signature}"
                ": give all machines the same models and versions"
            )
    remaining = iter(windows)
    reader, writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    written: Future[Result] | None = None
    try:
        following = reader.submit(_read, run, remaining)
        while (rows := following.result()) is not None:
            following = reader.submit(_read, run, remaining)
            start = time.monotonic()
            views = checked_views(run.view, rows[1][1], rows[2])
            if written is not None:
                yield written.result()
            written = writer.submit(_write, run, rows, views, start)
        if written is not None:
            yield written.result()
    finally:
        reader.shutdown(wait=False, cancel_futures=True)  # it may be waiting for windows, and writes nothing
        writer.shutdown()


def _read(run: ViewRun, windows: Iterator[Window]) -> Rows | None:
    """Read the next window; None after the last one."""
    window = next(windows, None)
    if window is None:
        return None
    table = pa.concat_tables([run.source.read(*run.plan.shards[index]) for index in window])
    columns = [table[name].to_pylist() for name in ("id", "text")]
    seed, key = run.plan.seed, run.plan.spec.seed_key()
    seeds = [0 if seed is None else row_seed(seed, identity, key) for identity in columns[0]]
    return window, columns, seeds


def _write(run: ViewRun, rows: Rows, views: Sequence[ViewResult], start: float) -> Result:
    """Commit the shards of a window that took the view from `start` on."""
    window, columns, _ = rows
    schema = view_schema()
    tables, stop = {}, 0
    for index in window:
        first, last = run.plan.shards[index]
        shard = slice(stop, stop := stop + last - first)
        ids, texts = (column[shard] for column in columns)
        with VIEWS.errors_of(run.plan.name):
            arrays = [ids, texts, *zip(*views[shard], strict=True)]
            tables[index] = pa.Table.from_arrays(arrays, schema=schema)
    shards = commit_shards(run.out, tables)
    return shards, time.monotonic() - start


def run_cluster(
    run: ViewRun, windows: Iterable[Window], workers: int, address: str | None
) -> Generator[Result]:
    """Make windows on a cluster, and yield each when it is committed; a lost worker's window is made again.

    All machines must see the folders by the same absolute paths or addresses. Raises InputError if there is no
    cluster at `address`, TwinviewsError if a view fails, or a window has lost its worker once more than
    `RETRIES` times.
    """
    ray = _connect(address)
    try:
        # Every worker gets a GPU to itself if there are any and the view has weights.
        gpus = (
            int(ray.cluster_resources().get("GPU", 0)) if run.runs_model and run.options.device != "cpu" else 0
        )
        remote = ray.remote(num_gpus=min(gpus, 1), max_restarts=-1, max_task_retries=RETRIES)(ViewRun)
        actors = [remote.remote(**vars(run.for_worker())) for _ in range(min(workers, gpus or workers))]
        remaining = iter(windows)
        tasks = zip(actors * AHEAD, remaining, strict=False)
        results = {actor.make.remote(window): actor for actor, window in tasks}
        while results:
            (result,), _ = ray.wait(list(results), num_returns=1)
            actor = results.pop(result)
            yield ray.get(result)
            results |= {actor.make.remote(window): actor for window in islice(remaining, 1)}
    except ray.exceptions.RayTaskError as error:
        raise (
            error.cause if isinstance(error.cause, TwinviewsError) else TwinviewsError(str(error.cause))
        ) from None
    except ray.exceptions.RayError as error:
        reason = str(error).splitlines()[0]
        raise TwinviewsError(f"the Ray cluster failed ({reason}): see `ray status`") from None
    finally:
        ray.shutdown()


def _connect(address: str | None) -> Any:  # noqa: ANN401 - a module
    try:
        import ray
    except ImportError:
        raise MissingExtraError("--engine ray", "ray") from None
    try:
        host, separator, port = (address or "").rpartition(":")
        # where nothing listens, Ray itself waits for minutes
        if separator and port.isdigit() and "/" not in host:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"--address {address}: no Ray cluster answers there ({reason}): see `ray status`"
        ) from None
    return ray
