"""A window of shards at work: its rows are sorted and batched together; reading, making and writing overlap."""

import gc
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from augment.device import device_kind
from augment.seconds import SECONDS, Stage, timed
from augment.view import WEIGHTS_PARAMS, Runtime, View, Viewed, ViewSpec, make_view
from pipelines.folder import Dataset
from pipelines.plan import Plan
from pipelines.shards import Receipt, commit_shards
from pipelines.views.rows import Sentences, read_sentences, view_rows, view_sentences

SECONDS_EACH = 20.0
"""What a window takes: about what a kill loses."""
MOST_ROWS = 65_536
GROWTH = 8
"""How many times longer than the last one a window is at most."""
AHEAD = 3
"""Windows that a worker has at a time: one is read, one is made, one is written."""
Window: TypeAlias = list[int]
"""Numbers of shards whose rows a view sorts and batches together."""
ALLOCATIONS = 100_000
"""New objects after which Python looks for reference cycles: rows, which come by the thousand, form none, and looking
through them every few hundred took as long as making them."""


class Made(NamedTuple):
    """A window that is committed: receipts, seconds since it was begun, seconds by stage since the one before it."""

    receipts: Sequence[Receipt]
    seconds: float
    stages: Mapping[Stage, float]


class Windows:
    """Cuts the shards that are to be made into windows; `learn` says what the last one took.

    The first is one shard. The next ones are as many as were made in `SECONDS_EACH`, at the pace of the last, so that a
    slow model loses no more when it is killed, and no window is longer than a fair share of what is left.
    """

    def __init__(self, indices: Sequence[int], shard_size: int, shares: int) -> None:
        self._left = list(indices)
        self._most = max(1, MOST_ROWS // shard_size)
        self._shares = shares
        self._shards = 1

    def __iter__(self) -> Iterator[Window]:
        while self._left:
            count = min(self._shards, max(1, len(self._left) // self._shares))
            window, self._left = self._left[:count], self._left[count:]
            yield window

    def learn(self, made: Made) -> None:
        """Set the size of the next windows by what the last one took."""
        shards = len(made.receipts)
        self._shards = min(max(1, int(shards * SECONDS_EACH / max(made.seconds, 1e-3))), shards * GROWTH, self._most)


@dataclass(frozen=True)
class ViewRun:
    """A view of sentences that is to be made in a folder.

    Attributes:
        plan: Everything that decides the rows.
        source: The sentences.
        out: The view's folder.
        runtime: The device and the size of a batch.
        view: The view on that device; None where another process is to build it.
        names: The sources, as given.
        through: For a staged view, the run of the view that comes first, or what that made.
    """

    plan: Plan
    source: Dataset
    out: Path
    runtime: Runtime = field(default_factory=Runtime)
    view: View | None = None
    names: Sequence[str] = ()
    through: "ViewRun | Dataset | None" = None

    @property
    def has_weights(self) -> bool:
        """Whether a GPU is of use; to look for one means to import torch."""
        return any(self.plan.params.get(key) is not None for key in WEIGHTS_PARAMS)

    def for_worker(self) -> "ViewRun":
        """The same without what no other process or machine can use."""
        through = self.through
        if isinstance(through, Dataset):
            through = replace(through, path=through.path.absolute())
        source = replace(self.source, path=self.source.path.absolute())
        return replace(self, view=None, source=source, through=through, out=self.out.absolute())


def build_view(spec: ViewSpec, runtime: Runtime | None = None) -> View:
    """The view on a device; cheap, weights are loaded on first use.

    Raises:
        InputError: An unknown view, a wrong parameter, or models that are not there.
    """
    runtime = runtime or Runtime()
    return make_view(spec, device=runtime.device, batch_tokens=runtime.batch_tokens)


def worker(run: ViewRun, number: int) -> Callable[[Iterable[Window]], Generator[Made]]:
    """What worker `number` does with windows: `make_windows`, on one of the GPUs if there are several."""
    device = run.runtime.device
    if run.has_weights and device in {"auto", "cuda"} and device_kind(device) != "cpu":
        import torch

        count = torch.cuda.device_count()
        device = f"cuda:{number % count}" if count > 1 else device
    return partial(make_windows, replace(run, runtime=replace(run.runtime, device=device)))


def make_windows(run: ViewRun, windows: Iterable[Window]) -> Generator[Made]:
    """Make and commit windows; while one is made the next one is read and the one before it is written.

    At most one waits on either side, so memory does not grow. The model runs in this thread, where Ctrl-C arrives; an
    error of any stage is raised here, when the others have ended.

    Args:
        run: What to make.
        windows: Asked for when the one before is begun; the next one may take its time to come.
    """
    view = run.view or build_view(ViewSpec(run.plan.name, run.plan.params), run.runtime)
    source = iter(windows)
    reader, writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    behind: Future[tuple[list[Receipt], float]] | None = None
    spent = dict(SECONDS)
    thresholds = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS)
    try:
        ahead = reader.submit(_read, run, view, source)
        while True:
            if behind is not None:
                either: set[Future[Any]] = {ahead, behind}
                wait(either, return_when=FIRST_COMPLETED)
                if not ahead.done():  # nothing may come for long
                    yield _made(behind, spent)
                    behind = None
            started = time.monotonic()
            window, sentences = ahead.result()
            if sentences is None:
                break
            ahead = reader.submit(_read, run, view, source)
            viewed = _make(run, view, sentences)
            if behind is not None:
                yield _made(behind, spent)
            behind = writer.submit(_write, run, window, sentences, viewed, started)
        if behind is not None:
            yield _made(behind, spent)
    finally:
        gc.set_threshold(*thresholds)
        reader.shutdown(wait=False, cancel_futures=True)  # it may be waiting for windows, and changes nothing
        writer.shutdown()


def _read(run: ViewRun, view: View, windows: Iterator[Window]) -> tuple[Window, Sentences | None]:
    """The next window and its sentences, tokenised for the view; None for these if there is none."""
    import pyarrow as pa

    window = next(windows, [])
    if not window:
        return window, None

    def rows(dataset: Dataset) -> Any:  # noqa: ANN401 - a pyarrow table
        return pa.concat_tables([dataset.read(*run.plan.shards[index]) for index in window])

    with timed("read"):
        between = rows(run.through) if isinstance(run.through, Dataset) else None
        sentences = read_sentences(run.plan, rows(run.source), between)
    if hasattr(view, "tokenise"):
        with timed("tokenise"):
            view.tokenise(sentences.texts, sentences.between)
    return window, sentences


def _make(run: ViewRun, view: View, sentences: Sentences) -> Sequence[Viewed]:
    """What the view makes of sentences."""
    known = SECONDS["model"]
    started = time.perf_counter()
    viewed = view_sentences(run.plan, view, sentences)
    if SECONDS["model"] == known:  # a view that does not say what it waits for
        SECONDS["model"] += time.perf_counter() - started
    return viewed


def _write(
    run: ViewRun, window: Window, sentences: Sentences, viewed: Sequence[Viewed], started: float
) -> tuple[list[Receipt], float]:
    """Commit the shards of a window; their receipts, and the seconds since it was begun."""
    with timed("write"):
        tables, place = {}, 0
        for index in window:
            start, stop = run.plan.shards[index]
            tables[index] = view_rows(run.plan, sentences, viewed, slice(place, place + stop - start))
            place += stop - start
        receipts = commit_shards(run.out, tables)
    return receipts, time.monotonic() - started


def _made(written: Future[tuple[list[Receipt], float]], spent: dict[Any, float]) -> Made:
    """What was written, with the seconds that were spent since `spent`, which is set to now."""
    receipts, seconds = written.result()
    now = dict(SECONDS)  # a copy, as other threads add to it
    stages = {stage: total - spent.get(stage, 0) for stage, total in now.items()}
    spent.update(now)
    return Made(receipts, seconds, stages)
