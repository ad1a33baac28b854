"""Views on disk that pairs are made of: chosen by their names, planned, made where they are missing, and read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from augment.errors import InputError
from augment.view import ViewResult, ViewSpec, labelled_view, make_view, view_label
from pipelines.base.console import counted, note
from pipelines.base.files import resolve_path
from pipelines.options import PairsOptions
from pipelines.pairs.pair import ORIGINAL, Sentence
from pipelines.pairs.policies import VIEW_COUNTS
from pipelines.pairs.row_pairs import Numbers
from pipelines.storage.dataset import Dataset, Plan, finished_dataset, read_plan
from pipelines.views import run as runs
from pipelines.views.windows import ViewRun

if TYPE_CHECKING:
    import datasets


class ChosenView(NamedTuple):
    """A view to pair, and its plan, None if it is still to be planned."""

    spec: ViewSpec
    plan: Plan | None

    def twin(self, views: Iterable["ChosenView"]) -> Plan | None:
        """Its own plan, or the first one of the same view, with other options."""
        plans = (view.plan for view in views if view.plan is not None and view.spec.name == self.spec.name)
        return self.plan or next(plans, None)


def choose_views(names: Sequence[str]) -> dict[Path, ChosenView]:
    """The views of these names, by their folders; raises InputError unless each is there or can be made.

    A missing one has the options of its twin, the first view of the same name that is there.
    """
    views: dict[Path, ChosenView] = {}
    for name in names:
        folder, view = _choose_view(name)
        if folder.name in (ORIGINAL, *(other.name for other in views)):
            raise InputError(
                f"view {name}: another side is named {folder.name!r}: give another view, or rename one"
            )
        views[folder] = view
    for folder, view in views.items():
        if view.plan is None:
            twin = view.twin(views.values())
            params = {} if twin is None else {**twin.params}
            params.pop("revision", None)  # it is of the twin's own weights
            spec = replace(view.spec, params={**params, **view.spec.params})
            made = make_view(spec).spec.params
            if "models" in made:
                spec = replace(spec, params={**spec.params, "models": made["models"]})
            views[folder] = ChosenView(spec, None)
    return views


def _choose_view(name: str) -> tuple[Path, ChosenView]:
    """A view by its path, the name of its folder in `data/views/` (`backtranslate-fr`), or its own name."""
    folder = resolve_path(name) if read_plan(resolve_path(name)) is not None else runs.VIEWS_FOLDER / name
    plan = read_plan(folder)
    if plan is None:
        spec = labelled_view(name)
        folder = runs.VIEWS_FOLDER / view_label(spec)
        plan = read_plan(folder)
        if plan is None:
            return folder, ChosenView(spec, None)
    if plan.kind != "view":
        raise InputError(
            f"--view {name}: {folder} holds {plan.kind}, not a view: see `augment inspect {folder}`"
        )
    return folder, ChosenView(plan.spec, plan)


def plan_views(
    chosen: Mapping[Path, ChosenView], source: Dataset, options: PairsOptions, policy: str
) -> dict[str, Dataset | ViewRun]:
    """Every view by its name, finished or planned; raises InputError for one that does not fit the sentences."""
    planned: dict[str, Dataset | ViewRun] = {}
    for folder, view in chosen.items():
        if view.plan is not None:
            _check_rows(folder, view.plan, source, options)
        finished = finished_dataset(folder)
        planned[folder.name] = finished or _plan_view(folder, view, chosen, source, options)
    seeds = {view.plan.seed for view in planned.values()}
    if policy in VIEW_COUNTS and seeds and options.seed not in {None, *seeds}:
        made = " and ".join("no seed" if seed is None else f"seed {seed}" for seed in seeds)
        raise InputError(
            f"--seed {options.seed}: the views have {made}, and nothing else is drawn: leave it out"
        )
    return planned


def _check_rows(folder: Path, plan: Plan, source: Dataset, options: PairsOptions) -> None:
    if plan.inputs[0].sha256 != source.digest:
        problem = f"was made from other sentences ({plan.inputs[0].name}) than {source.path}"
        raise InputError(f"{folder} {problem}: give those as SOURCE, or make the view again with --overwrite")
    rows = source.first(options.limit)
    if plan.rows < rows:
        problem = f"was made for the first {plan.rows:,} of {rows:,} sentences"
        raise InputError(f"{folder} {problem}: give --limit {plan.rows}, or make it again with --overwrite")


def _plan_view(
    folder: Path, view: ChosenView, chosen: Mapping[Path, ChosenView], source: Dataset, options: PairsOptions
) -> ViewRun:
    """A view to make, or to finish, like its twin."""
    settings = options.view_options
    if twin := view.twin(chosen.values()):
        like_twin = {"seed": twin.seed or 0, "limit": twin.limit, "shard_size": twin.shard_size}
        settings = settings.model_copy(update=like_twin)
    if view.plan is None:
        seed = settings.seed if options.seed is None else options.seed
        limit = options.limit or settings.limit
        settings = settings.model_copy(update={"seed": seed, "limit": limit})
    built = make_view(view.spec, device=settings.device, batch_tokens=settings.batch_tokens)
    return runs.plan_run(built, source, settings, folder)


def finish_views(planned: Mapping[str, Dataset | ViewRun]) -> dict[str, Dataset]:
    """The views, of which those that were only planned are made; raises TwinviewsError if one failed."""
    views: dict[str, Dataset] = {}
    for name, view in planned.items():
        if isinstance(view, ViewRun):
            note(f"making the missing view {name} ({counted(view.plan.rows, 'sentence')}) in {view.out}/")
            runs.note_starter(view.plan.spec)
            view, _ = runs.make_run(view)
        views[name] = view
    return views


@dataclass(frozen=True)
class ViewedSentences:
    """Sentences on disk with their views, by the numbers of their rows."""

    sentences: Dataset
    views: Mapping[str, Dataset]

    def read(self, start: int, stop: int) -> list[Sentence]:
        """The sentences from row `start` to `stop`; opens only the shards that hold them."""
        views = {
            name: _results(view.read(start, min(stop, view.rows))) if start < view.rows else []
            for name, view in self.views.items()
        }
        return _sentences(self.sentences.read(start, stop), views)

    def take(self, numbers: Numbers) -> list[Sentence]:
        """The sentences of these rows, in this order."""
        views = dict[str, list[ViewResult | None]]()
        for name, view in self.views.items():
            is_there = numbers < view.rows
            results = iter(_results(self._rows(name, numbers[is_there])))
            views[name] = [next(results) if flag else None for flag in is_there.tolist()]
        return _sentences(self._rows(ORIGINAL, numbers), views)

    def _rows(self, name: str, numbers: Numbers) -> pa.Table:
        table = self._tables[name]
        rows: pa.Table = table[numbers] if len(numbers) else table[:0]
        return rows

    @cached_property
    def _tables(self) -> dict[str, "datasets.Dataset"]:
        """All rows, mapped into memory; `Table.take` of Arrow would copy whole columns."""
        from datasets import Dataset as ArrowDataset

        tables = {ORIGINAL: self.sentences, **self.views}
        return {
            name: ArrowDataset(dataset.read(0, dataset.rows), fingerprint=name).with_format("arrow")
            for name, dataset in tables.items()
        }


def _results(table: pa.Table) -> list[ViewResult]:
    columns = (table[name].to_pylist() for name in ("view", "status", "reason", "alternatives"))
    return [
        ViewResult(text, status, reason, alternatives=tuple(alternatives or ()))
        for text, status, reason, alternatives in zip(*columns, strict=True)
    ]


def _sentences(table: pa.Table, views: Mapping[str, Sequence[ViewResult | None]]) -> list[Sentence]:
    nothing = [None] * len(table)
    columns: list[Any] = [
        table[name].to_pylist() if name in table.schema.names else nothing
        for name in ("id", "text", "label", "pair")
    ]
    results = [[*column, *nothing[len(column) :]] for column in views.values()]
    rows = zip(*results, strict=True) if results else (() for _ in nothing)
    return [
        Sentence(id, text, dict(zip(views, row, strict=True)), label, second)
        for id, text, label, second, row in zip(*columns, rows, strict=True)
    ]
