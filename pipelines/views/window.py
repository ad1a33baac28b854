"""How much is sorted and batched together, and what happens at a time: reading, making and writing overlap."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeAlias

from augment.seconds import SECONDS, Stage, timed
from augment.view import Viewed
from pipelines.shards import Receipt
from pipelines.views.rows import Sentences

SECONDS_EACH = 20.0
"""What a window takes: about what a kill loses."""
MOST_ROWS = 65_536
GROWTH = 8
"""How many times longer than the last one a window is at most."""
AHEAD = 3
"""Windows that a worker has at a time: one is read, one is made, one is written."""
Window: TypeAlias = list[int]
"""Numbers of shards whose rows a view sorts and batches together."""


@dataclass(frozen=True)
class Made:
    """A window that is committed.

    Attributes:
        receipts: Of its shards.
        seconds: From the one before it to this one; what making another one takes.
        stages: Seconds by stage that its process spent since the window before.
    """

    receipts: Sequence[Receipt]
    seconds: float
    stages: Mapping[Stage, float]


class Windows:
    """Cuts the shards that are to be made into windows.

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
class Stages:
    """What is done with a window: `read` it, `make` its rows, `write` them; the model is in `make`."""

    read: Callable[[Window], Sentences]
    make: Callable[[Sentences], Sequence[Viewed]]
    write: Callable[[Window, Sentences, Sequence[Viewed]], list[Receipt]]


def make_windows(stages: Stages, windows: Iterable[Window]) -> Generator[Made]:
    """Make and commit windows; while one is made the next one is read and the one before it is written.

    At most one waits on either side, so memory does not grow. The model runs in this thread, where Ctrl-C arrives; an
    error of any stage is raised here, when the others have ended.
    """
    source = iter(windows)
    reader, writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    behind: Future[tuple[list[Receipt], float]] | None = None
    spent = dict(SECONDS)
    try:
        ahead = reader.submit(_read, stages, source)
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
            ahead = reader.submit(_read, stages, source)
            viewed = _make(stages, sentences)
            if behind is not None:
                yield _made(behind, spent)
            behind = writer.submit(_write, stages, window, sentences, viewed, started)
        if behind is not None:
            yield _made(behind, spent)
    finally:
        reader.shutdown(wait=False, cancel_futures=True)  # it may be waiting for windows, and changes nothing
        writer.shutdown()


def _read(stages: Stages, source: Iterator[Window]) -> tuple[Window, Sentences | None]:
    window = next(source, None)
    return (window, stages.read(window)) if window is not None else ([], None)


def _make(stages: Stages, sentences: Sentences) -> Sequence[Viewed]:
    known = SECONDS["model"]
    started = time.perf_counter()
    viewed = stages.make(sentences)
    if SECONDS["model"] == known:  # a view that does not say what it waits for
        SECONDS["model"] += time.perf_counter() - started
    return viewed


def _write(
    stages: Stages, window: Window, sentences: Sentences, viewed: Sequence[Viewed], started: float
) -> tuple[list[Receipt], float]:
    with timed("write"):
        receipts = stages.write(window, sentences, viewed)
    return receipts, time.monotonic() - started


def _made(written: Future[tuple[list[Receipt], float]], spent: dict[Stage, float]) -> Made:
    """What was written, with the seconds that were spent since `spent`, which is set to now."""
    receipts, seconds = written.result()
    now = dict(SECONDS)
    stages = {stage: total - spent.get(stage, 0) for stage, total in now.items()}
    spent.update(now)
    return Made(receipts, seconds, stages)
