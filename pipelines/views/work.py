"""A window of shards at work: its rows are sorted and batched together; reading, making and writing overlap."""

import gc
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from augment.device import device_kind
from augment.edits import LabelledSpan, carry_spans
from augment.errors import TwinviewsError
from augment.plugins import blamed
from augment.seconds import SECONDS, Stage, timed
from augment.view import ENTRY_POINT_GROUP, WEIGHTS_PARAMS, Runtime, View, Viewed, ViewSpec, make_view, row_seed
from pipelines.folder import SPANS, Dataset, view_schema
from pipelines.plan import Plan
from pipelines.shards import Receipt, commit_shards

SECONDS_EACH = 20.0
"""What a window takes: about what a kill loses."""
MOST_ROWS = 65_536
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


class Sentences(NamedTuple):
    """The sentences of a window with their seeds, spans if the input has any, and what a view before made of them."""

    window: Window
    ids: list[str]
    texts: list[str]
    seeds: list[int]
    spans: list[Any] | None
    between: list[Viewed] | None


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
        shards = int(len(made.receipts) * SECONDS_EACH / max(made.seconds, 1e-3))
        self._shards = min(max(1, shards), self._most)


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

    def built(self) -> "ViewRun":
        """The same with its view on the device."""
        spec = ViewSpec(self.plan.name, self.plan.params)
        return self if self.view is not None else replace(self, view=build_view(spec, self.runtime))


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
    """
    run = run.built()
    source, spent = iter(windows), dict(SECONDS)
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
    """The sentences of the next window, tokenised for the view; None if there is none."""
    import pyarrow as pa

    window = next(windows, None)
    if window is None:
        return None

    def columns(dataset: Dataset, *names: str) -> list[list[Any]]:
        table = pa.concat_tables([dataset.read(*run.plan.shards[index]) for index in window])
        return [table[name].to_pylist() for name in names if name in table.schema.names]

    with timed("read"):
        between = None
        if isinstance(run.through, Dataset):
            between = list(map(Viewed, *columns(run.through, "view", "status", "reason", "pivot")))
        ids, texts, *spans = columns(run.source, "id", "text", SPANS)
        seeds = [row_seed(run.plan.seed or 0, identity, run.plan.signature or "") for identity in ids]
    view: Any = run.view
    if hasattr(view, "tokenise"):
        with timed("tokenise"):
            view.tokenise(texts)
    return Sentences(window, ids, texts, seeds, spans[0] if spans else None, between)


def _make(run: ViewRun, sentences: Sentences) -> Sequence[Viewed]:
    """What the view makes of sentences.

    Raises:
        TwinviewsError: It gave something else than a `Viewed` for each.
    """
    name, texts = run.plan.name, sentences.texts
    view: Any = run.view
    known, started = SECONDS["model"], time.perf_counter()
    with blamed(ENTRY_POINT_GROUP, name):
        if sentences.between is not None:
            viewed: Sequence[Viewed] = view.complete(texts, sentences.seeds, sentences.between)
        else:
            viewed = view(texts, sentences.seeds)
        if not isinstance(viewed, Sequence) or {*map(type, viewed)} - {Viewed} or len(viewed) != len(texts):
            raise TwinviewsError(f"view {name!r} gave something else than {len(texts)} Viewed in a list: fix the view")
    if SECONDS["model"] == known:  # a view that does not say what it waits for
        SECONDS["model"] += time.perf_counter() - started
    return viewed


def _write(
    run: ViewRun, sentences: Sentences, viewed: Sequence[Viewed], started: float, spent: dict[Stage, float]
) -> Made:
    """Commit the shards of a window that was begun at `started`; `spent` is set to the seconds spent up to now."""
    with timed("write"):
        tables, place = {}, 0
        for index in sentences.window:
            start, stop = run.plan.shards[index]
            tables[index] = _rows(run.plan.name, sentences, viewed, slice(place, place + stop - start))
            place += stop - start
        receipts = commit_shards(run.out, tables)
    now = dict(SECONDS)  # a copy, as other threads add to it
    stages = {stage: total - spent.get(stage, 0) for stage, total in now.items()}
    spent.update(now)
    return Made(receipts, time.monotonic() - started, stages)


def _rows(name: str, sentences: Sentences, viewed: Sequence[Viewed], rows: slice) -> Any:  # noqa: ANN401
    """Some rows of the view `name`, one for each sentence, in order.

    Raises:
        TwinviewsError: A `Viewed` holds something of another type, or has a text where there can be none.
    """
    import pyarrow as pa

    ids, texts, made = sentences.ids[rows], sentences.texts[rows], viewed[rows]
    for text, one in zip(texts, made, strict=True):
        if (one.text is None) != (one.status in ("failed", "rejected")):
            said = f"status {one.status!r} and {one.text!r} for {text!r}"
            raise TwinviewsError(f"view {name!r} gave {said}: fix the view")
    with blamed(ENTRY_POINT_GROUP, name):
        columns = [ids, texts, *zip(*made, strict=True)]
        if sentences.spans is None:
            return pa.Table.from_arrays(columns, schema=view_schema())
        columns += zip(*map(_carried, texts, sentences.spans[rows], made), strict=True)
        return pa.Table.from_arrays(columns, schema=view_schema([SPANS]))


def _carried(text: str, spans: Sequence[Mapping[str, Any]] | None, one: Viewed) -> tuple[list[LabelledSpan], int]:
    """The spans of a view and how many were lost: all of them by a view that rewrites the whole text."""
    if one.text is None or (one.text != text and not one.edits):
        return [], len(spans or ())
    return carry_spans([LabelledSpan(**span) for span in spans or ()], one.edits)
