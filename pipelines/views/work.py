"""A window at work: reading, making and writing overlap."""

import gc
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from augment.device import device_kind
from augment.seconds import SECONDS, Stage, timed
from augment.view import WEIGHTS_PARAMS, Runtime, View, Viewed, ViewSpec, make_view
from pipelines.folder import Dataset
from pipelines.plan import Plan
from pipelines.shards import Receipt, commit_shards
from pipelines.views.rows import Sentences, read_sentences, view_rows, view_sentences
from pipelines.views.window import Made, Window


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
        source, through = (
            replace(each, path=each.path.absolute()) if isinstance(each, Dataset) else None
            for each in (self.source, self.through)
        )
        return replace(self, view=None, source=source or self.source, through=through, out=self.out.absolute())

    def read_next(self, windows: Iterator[Window], view: View) -> tuple[Window, Sentences | None]:
        """The next window and its sentences, tokenised for the view; None for these if there is none."""
        import pyarrow as pa

        window = next(windows, [])
        if not window:
            return window, None

        def rows(dataset: Dataset) -> Any:  # noqa: ANN401 - a pyarrow table
            return pa.concat_tables([dataset.read(*self.plan.shards[index]) for index in window])

        with timed("read"):
            between = rows(self.through) if isinstance(self.through, Dataset) else None
            sentences = read_sentences(self.plan, rows(self.source), between)
        if hasattr(view, "tokenise"):
            with timed("tokenise"):
                view.tokenise(sentences.texts, sentences.between)
        return window, sentences

    def make(self, view: View, sentences: Sentences) -> Sequence[Viewed]:
        """What the view makes of sentences."""
        known = SECONDS["model"]
        started = time.perf_counter()
        viewed = view_sentences(self.plan, view, sentences)
        if SECONDS["model"] == known:  # a view that does not say what it waits for
            SECONDS["model"] += time.perf_counter() - started
        return viewed

    def write(
        self, window: Window, sentences: Sentences, viewed: Sequence[Viewed], started: float
    ) -> tuple[list[Receipt], float]:
        """Commit the shards of a window; their receipts, and the seconds since it was begun."""
        with timed("write"):
            tables, start = {}, 0
            for index in window:
                first, last = self.plan.shards[index]
                rows = slice(start, start + last - first)
                tables[index] = view_rows(self.plan, sentences, viewed, rows)
                start = rows.stop
            receipts = commit_shards(self.out, tables)
        return receipts, time.monotonic() - started


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
    gc.freeze()  # what was imported stays, and need not be looked through again every few hundred rows
    view = run.view or build_view(ViewSpec(run.plan.name, run.plan.params), run.runtime)
    source = iter(windows)
    reader, writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    behind: Future[tuple[list[Receipt], float]] | None = None
    spent = dict(SECONDS)
    try:
        ahead = reader.submit(run.read_next, source, view)
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
            ahead = reader.submit(run.read_next, source, view)
            viewed = run.make(view, sentences)
            if behind is not None:
                yield _made(behind, spent)
            behind = writer.submit(run.write, window, sentences, viewed, started)
        if behind is not None:
            yield _made(behind, spent)
    finally:
        reader.shutdown(wait=False, cancel_futures=True)  # it may be waiting for windows, and changes nothing
        writer.shutdown()


def _made(written: Future[tuple[list[Receipt], float]], spent: dict[Stage, float]) -> Made:
    """What was written, with the seconds that were spent since `spent`, which is set to now."""
    receipts, seconds = written.result()
    now = dict(SECONDS)
    stages = {stage: total - spent.get(stage, 0) for stage, total in now.items()}
    spent.update(now)
    return Made(receipts, seconds, stages)
