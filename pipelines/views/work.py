"""A window of shards at work: its rows are sorted and batched together; reading, making and writing overlap."""

import gc
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from augment.device import SECONDS, Stage, device_kind, timed
from augment.edits import LabelledSpan, carry_spans
from augment.errors import TwinviewsError
from augment.plugins import blamed
from augment.view import ENTRY_POINT_GROUP, WEIGHTS_PARAMS, Runtime, View, Viewed, ViewSpec, make_view, row_seed
from pipelines.folder import SPANS, Dataset, view_schema
from pipelines.plan import Plan
from pipelines.shards import Receipt, commit_shards

WINDOW_SECONDS = 20.0
"""How long a window takes, which is about what a kill loses."""
MOST_ROWS = 65_536
AHEAD = 3
"""Windows that a worker holds at a time: it reads one, makes one and writes one."""
Window: TypeAlias = list[int]
"""Numbers of shards whose rows a view sorts and batches together."""
ALLOCATIONS = 100_000
"""New objects between two runs of Python's garbage collector. Rows form no cycles, and with the default threshold the
collector takes as long as making them."""


class Made(NamedTuple):
    """A committed window: its receipts, the seconds since it was begun, and the seconds by stage since the last one."""

    receipts: Sequence[Receipt]
    seconds: float
    stages: Mapping[Stage, float]


class Sentences(NamedTuple):
    """The sentences of a window with their seeds, and their spans if the input has any."""

    window: Window
    ids: list[str]
    texts: list[str]
    seeds: list[int]
    spans: list[Any] | None


class Windows:
    """Cuts the missing shards into windows; the first is one shard, the next ones take about `WINDOW_SECONDS` each.

    `learn` sets the pace by the last window. No window is larger than a worker's share of the remaining shards.
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
        shards = int(len(made.receipts) * WINDOW_SECONDS / max(made.seconds, 1e-3))
        self._shards = min(max(1, shards), self._most)


@dataclass(frozen=True)
class ViewRun:
    """A view of sentences to be made in a folder.

    Attributes:
        plan: Everything that decides the rows.
        source: The sentences.
        out: The view's folder.
        runtime: The device and the size of a batch.
        view: The view on that device; None if another process is to build it.
        names: The sources, as given.
    """

    plan: Plan
    source: Dataset
    out: Path
    runtime: Runtime = field(default_factory=Runtime)
    view: View | None = None
    names: Sequence[str] = ()

    @property
    def has_weights(self) -> bool:
        """Whether a GPU is of use; looking for one means importing torch."""
        return any(self.plan.params.get(key) is not None for key in WEIGHTS_PARAMS)

    def for_worker(self) -> "ViewRun":
        """The same for another process: absolute paths, and no view."""
        source = replace(self.source, path=self.source.path.absolute())
        return replace(self, view=None, source=source, out=self.out.absolute())

    def built(self) -> "ViewRun":
        """The same with its view on the device."""
        spec = ViewSpec(self.plan.name, self.plan.params)
        return self if self.view is not None else replace(self, view=build_view(spec, self.runtime))


def build_view(spec: ViewSpec, runtime: Runtime | None = None) -> View:
    """The view on a device, as `augment.view.make_view` builds it."""
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
    """Make and commit windows; while one is made, the next is read and the previous one is written.

    At most one window waits on either side, which bounds memory. The view runs in this thread, where Ctrl-C arrives; an
    error of any stage is raised here after the other stages have ended.
    """
    run, source, spent = run.built(), iter(windows), dict(SECONDS)
    reader, writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    behind: Future[Made] | None = None
    thresholds = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS)
    try:
        ahead = reader.submit(_read, run, source)
        while (sentences := ahead.result()) is not None:
            ahead = reader.submit(_read, run, source)
            started = time.monotonic()
            viewed = _make(run, sentences)
            if behind is not None:
                yield behind.result()
            behind = writer.submit(_write, run, sentences, viewed, started, spent)
        if behind is not None:
            yield behind.result()
    finally:
        gc.set_threshold(*thresholds)
        reader.shutdown(wait=False, cancel_futures=True)  # it may be waiting for windows, and changes nothing
        writer.shutdown()


def _read(run: ViewRun, windows: Iterator[Window]) -> Sentences | None:
    """The sentences of the next window, tokenised for the view; None after the last one."""
    import pyarrow as pa

    window = next(windows, None)
    if window is None:
        return None
    with timed("read"):
        table = pa.concat_tables([run.source.read(*run.plan.shards[index]) for index in window])
        ids, texts, *spans = (table[name].to_pylist() for name in ("id", "text", SPANS) if name in table.schema.names)
        seeds = [row_seed(run.plan.seed or 0, identity, run.plan.signature or "") for identity in ids]
    tokenise = getattr(run.view, "tokenise", None)
    if tokenise is not None:
        with timed("tokenise"):
            tokenise(texts)
    return Sentences(window, ids, texts, seeds, spans[0] if spans else None)


def _make(run: ViewRun, sentences: Sentences) -> Sequence[Viewed]:
    """What the view makes of sentences; raises TwinviewsError unless that is a `Viewed` that makes sense for each."""
    name, texts = run.plan.name, sentences.texts
    view: Any = run.view
    known, started = SECONDS["model"], time.perf_counter()
    with blamed(ENTRY_POINT_GROUP, name):
        viewed: Sequence[Viewed] = view(texts, sentences.seeds)
        if not isinstance(viewed, Sequence) or {*map(type, viewed)} - {Viewed} or len(viewed) != len(texts):
            raise TwinviewsError(f"view {name!r} did not return a list of {len(texts)} Viewed: fix the view")
    if SECONDS["model"] == known:  # a view that does not time its model is all model
        SECONDS["model"] += time.perf_counter() - started
    for text, one in zip(texts, viewed, strict=True):
        if (one.text is None) != (one.status in ("failed", "rejected")):
            said = f"status {one.status!r} and {one.text!r} for {text!r}"
            raise TwinviewsError(f"view {name!r} gave {said}: fix the view")
    return viewed


def _write(
    run: ViewRun, sentences: Sentences, viewed: Sequence[Viewed], started: float, spent: dict[Stage, float]
) -> Made:
    """Commit the shards of a window that was begun at `started`; raises TwinviewsError for values of a wrong type.

    `spent` holds the seconds by stage when the last window was committed, and is brought up to date.
    """
    import pyarrow as pa

    with timed("write"):
        _, ids, texts, _, spans = sentences
        tables, first = {}, 0
        for index in sentences.window:
            start, stop = run.plan.shards[index]
            rows = slice(first, first + stop - start)
            first = rows.stop
            with blamed(ENTRY_POINT_GROUP, run.plan.name):
                columns = [ids[rows], texts[rows], *zip(*viewed[rows], strict=True)]
                if spans is not None:
                    columns += zip(*map(_carried, texts[rows], spans[rows], viewed[rows]), strict=True)
                tables[index] = pa.Table.from_arrays(columns, schema=view_schema([SPANS] if spans is not None else []))
        receipts = commit_shards(run.out, tables)
    now = dict(SECONDS)  # a copy, as other threads add to it
    stages = {stage: seconds - spent.get(stage, 0) for stage, seconds in now.items()}
    spent.update(now)
    return Made(receipts, time.monotonic() - started, stages)


def _carried(text: str, spans: Sequence[Mapping[str, Any]] | None, one: Viewed) -> tuple[list[LabelledSpan], int]:
    """The spans of a view, and how many were lost: all of them if the view rewrites the whole text."""
    if one.text is None or (one.text != text and not one.edits):
        return [], len(spans or ())
    return carry_spans([LabelledSpan(**span) for span in spans or ()], one.edits)
