"""What a worker needs to make some rows of a view: where they come from, where they go, and the plan."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from augment.seconds import timed
from augment.view import Runtime, View, Viewed, ViewSpec, make_view
from pipelines.folder import Dataset
from pipelines.plan import Plan
from pipelines.recipe import recipe_text
from pipelines.shards import Receipt, commit_shards
from pipelines.views.rows import Sentences, read_sentences, view_rows, view_sentences
from pipelines.views.stored import StoredRows
from pipelines.views.window import Stages, Window


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

    def stages(self, runtime: Runtime | None = None) -> Stages:
        """What is done with a window, on a device of this process."""
        view = self.view or build_view(ViewSpec(self.plan.name, self.plan.params), runtime or self.runtime)
        return Stages(
            lambda window: self._read(window, view),
            lambda sentences: view_sentences(self.plan, view, sentences),
            self._write,
        )

    def _read(self, window: Window, view: View) -> Sentences:
        import pyarrow as pa

        def rows(dataset: Dataset) -> Any:  # noqa: ANN401 - a pyarrow table
            return pa.concat_tables([dataset.read(*self.plan.shards[index]) for index in window])

        with timed("read"):
            between = rows(self.through) if isinstance(self.through, Dataset) else None
            sentences = read_sentences(self.plan, rows(self.source), between, self._stored_rows)
        if hasattr(view, "tokenise"):
            with timed("tokenise"):
                view.tokenise(sentences.texts, sentences.between)
        return sentences

    def _write(self, window: Window, sentences: Sentences, viewed: Sequence[Viewed]) -> list[Receipt]:
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
