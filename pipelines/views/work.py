"""A window at work: reading, making and writing overlap."""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from augment.seconds import SECONDS, Stage, timed
from augment.view import Runtime, View, Viewed, ViewSpec, make_view
from pipelines.folder import Dataset
from pipelines.plan import Plan
from pipelines.recipe import recipe_text
from pipelines.shards import Receipt, commit_shards
from pipelines.views.rows import Sentences, read_sentences, view_rows, view_sentences
from pipelines.views.stored import StoredRows
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
        stored: Folders with rows of the same view and seed, from which those of known sentences are taken.
    """

    plan: Plan
    source: Dataset
    out: Path
    runtime: Runtime = field(default_factory=Runtime)
    view: View | None = None
    names: Sequence[str] = ()
    through: "ViewRun | Dataset | None" = None
    stored: tuple[Path, ...] = ()

    def for_worker(self) -> "ViewRun":
        """The same without what no other process or machine can use."""

        def absolute(dataset: Dataset) -> Dataset:
            return replace(dataset, path=dataset.path.absolute())

        return replace(
            self,
            view=None,
            source=absolute(self.source),
            through=absolute(self.through) if isinstance(self.through, Dataset) else None,
            stored=tuple(folder.absolute() for folder in self.stored),
            out=self.out.absolute(),
        )

    @property
    def recipe(self) -> str:
        """The resolved recipe, for `--config`."""
        plan = self.plan
        options = {"sources": list(self.names) or None, **plan.params}
        return recipe_text(plan.name, options, seed=plan.seed, limit=plan.limit, shard_size=plan.shard_size)

    @cached_property
    def _stored_rows(self) -> StoredRows | None:
        return StoredRows(self.stored) if self.stored else None

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
            sentences = read_sentences(self.plan, rows(self.source), between, self._stored_rows)
        if hasattr(view, "tokenise"):
            with timed("tokenise"):
                view.tokenise(sentences.texts, sentences.between)
        return window, sentences

    def write(self, window: Window, sentences: Sentences, viewed: Sequence[Viewed]) -> list[Receipt]:
        """Commit the shards of a window."""
        table, tables, start = view_rows(self.plan, sentences, viewed), {}, 0
        for index in window:
            first, last = self.plan.shards[index]
            # A slice would carry marks of what lies around it into the file's bytes.
            tables[index] = table.take(list(range(start, start + last - first)))
            start += last - first
        return commit_shards(self.out, tables)


def build_view(spec: ViewSpec, runtime: Runtime | None = None) -> View:
    """The view on a device; cheap, weights are loaded on first use.

    Raises:
        InputError: An unknown view, a wrong parameter, or models that are not there.
    """
    runtime = runtime or Runtime()
    return make_view(spec, device=runtime.device, batch_tokens=runtime.batch_tokens)


def make_windows(run: ViewRun, windows: Iterable[Window], view: View | None = None) -> Generator[Made]:
    """Make and commit windows; while one is made the next one is read and the one before it is written.

    At most one waits on either side, so memory does not grow. The model runs in this thread, where Ctrl-C arrives; an
    error of any stage is raised here, when the others have ended.

    Args:
        run: What to make.
        windows: Asked for when the one before is begun; the next one may take its time to come.
        view: Of the run, on a device of this process; made from the plan if None.
    """
    view = view or build_view(ViewSpec(run.plan.name, run.plan.params), run.runtime)
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
            viewed = _make(run, view, sentences)
            if behind is not None:
                yield _made(behind, spent)
            behind = writer.submit(_write, run, window, sentences, viewed, started)
        if behind is not None:
            yield _made(behind, spent)
    finally:
        reader.shutdown(wait=False, cancel_futures=True)  # it may be waiting for windows, and changes nothing
        writer.shutdown()


def _make(run: ViewRun, view: View, sentences: Sentences) -> Sequence[Viewed]:
    known = SECONDS["model"]
    started = time.perf_counter()
    viewed = view_sentences(run.plan, view, sentences)
    if SECONDS["model"] == known:  # a view that does not say what it waits for
        SECONDS["model"] += time.perf_counter() - started
    return viewed


def _write(
    run: ViewRun, window: Window, sentences: Sentences, viewed: Sequence[Viewed], started: float
) -> tuple[list[Receipt], float]:
    with timed("write"):
        receipts = run.write(window, sentences, viewed)
    return receipts, time.monotonic() - started


def _made(written: Future[tuple[list[Receipt], float]], spent: dict[Stage, float]) -> Made:
    """What was written, with the seconds that were spent since `spent`, which is set to now."""
    receipts, seconds = written.result()
    now = dict(SECONDS)
    stages = {stage: total - spent.get(stage, 0) for stage, total in now.items()}
    spent.update(now)
    return Made(receipts, seconds, stages)
