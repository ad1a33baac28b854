"""Views on disk that pairs are made of: chosen by their names, planned, made where they are missing, and read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from augment.errors import InputError
from augment.view import ViewResult, ViewSpec, labelled_view, make_view, view_label
from pipelines.base.console import counted, note
from pipelines.base.files import resolve_path
from pipelines.options import PairsOptions
from pipelines.pairs.pair import BLOCK_ROWS, ORIGINAL, Sentence
from pipelines.storage.dataset import Dataset, Plan, finished_dataset, read_plan
from pipelines.views import run as runs
from pipelines.views.windows import ViewRun


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
    chosen: Mapping[Path, ChosenView], source: Dataset, options: PairsOptions
) -> dict[str, Dataset | ViewRun]:
    """Every view by its name, finished or planned.

    Raises InputError for one that does not fit the sentences.
    """
    planned: dict[str, Dataset | ViewRun] = {}
    for folder, view in chosen.items():
        if view.plan is not None:
            _check_rows(folder, view.plan, source, options)
        finished = finished_dataset(folder)
        planned[folder.name] = finished or _plan_view(folder, view, chosen, source, options)
    seeds = {view.plan.seed for view in planned.values()}
    if seeds and options.seed not in {None, *seeds}:
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
    built = make_view(view.spec, **asdict(settings.runtime))
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


def viewed_sentences(sentences: Dataset, views: Mapping[str, Dataset], rows: int) -> Iterator[list[Sentence]]:
    """The first `rows` sentences with their views, in blocks; opens only the shards that hold a block."""
    for start in range(0, rows, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, rows)
        table = sentences.read(start, stop)
        results = {name: _results(view.read(start, stop)) for name, view in views.items()}
        columns: list[Any] = [
            table[name].to_pylist() if name in table.schema.names else [None] * len(table)
            for name in ("id", "text", "label")
        ]
        yield [
            Sentence(id, text, {name: column[row] for name, column in results.items()}, label)
            for row, (id, text, label) in enumerate(zip(*columns, strict=True))
        ]


def _results(table: pa.Table) -> list[ViewResult]:
    columns = (table[name].to_pylist() for name in ("view", "status", "reason", "alternatives"))
    return [
        ViewResult(text, status, reason, alternatives=tuple(alternatives or ()))
        for text, status, reason, alternatives in zip(*columns, strict=True)
    ]
