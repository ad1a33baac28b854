"""One view of sentences on disk, from top to bottom: plan, window, make, commit, finish."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from augment.errors import TwinviewsError
from augment.record import Record
from augment.translate.model_names import AUTO, STARTER
from augment.view import View, ViewSpec, view_class, view_label
from pipelines.base.console import note, progress
from pipelines.base.files import locked_folder
from pipelines.base.recipe import recipe_text
from pipelines.options import ViewOptions
from pipelines.storage.card import dataset_card
from pipelines.storage.dataset import (
    Dataset,
    Input,
    Plan,
    begin,
    claim_dataset,
    clear_dataset,
    finish,
    open_dataset,
    read_plan,
    remove_leftovers,
)
from pipelines.storage.shards import count_rows, record_number, shard_files, whole_shard
from pipelines.views.windows import ViewRun, Window, make_windows, run_cluster, worker
from pipelines.views.workers import AHEAD, run_workers

VIEWS_FOLDER = Path("data/views")
WINDOW_SECONDS = 20.0
"""The time that a window should take; a killed run loses about as much work."""
MAX_WINDOW_ROWS = 65_536


def note_starter(spec: ViewSpec) -> None:
    """Say in one line that a view uses the bundled starter encoder, and which flag takes a real one."""
    if spec.params.get("encoder") == STARTER and spec.params.get("revision") is not None:
        note(
            f"{spec.name}: the bundled encoder (small, for trying out); "
            f"`augment {spec.name} --encoder bert-base-uncased` takes a real one"
        )


def as_begun(spec: ViewSpec, folder: Path) -> ViewSpec:
    """The view with the translation models that the run in `folder` began with, unless it names its own."""
    if spec.params.get("models") != AUTO or spec.params.get("revision") is not None:
        return spec
    plan, languages = read_plan(folder), ("source", view_class(spec.name).folder_option or "")
    if plan is None or plan.name != spec.name:
        return spec
    if any(plan.params.get(key) != spec.params.get(key) for key in languages):
        return spec
    return replace(spec, params={**spec.params, **{key: plan.params[key] for key in ("models", "revision")}})


def plan_run(view: View, source: Dataset, options: ViewOptions, out: Path | None = None) -> ViewRun:
    """Plan a view of sentences into `out` or its default folder."""
    rows, size = source.first(options.limit), options.shard_size
    seed, limit = options.seed if view.uses_seed else None, rows if rows < source.rows else None
    inputs = (Input(name=str(source.path), sha256=source.digest),)
    shards = tuple((start, min(start + size, rows)) for start in range(0, rows, size))
    spec = view.spec
    plan = Plan(
        kind="view",
        name=spec.name,
        params=dict(spec.params),
        signature=spec.signature(),
        seed=seed,
        limit=limit,
        shard_size=size,
        inputs=inputs,
        shards=shards,
    )
    return ViewRun(plan, source, out or VIEWS_FOLDER / view_label(spec), options, view)


def make_run(run: ViewRun) -> tuple[Dataset, int]:
    """Make the missing shards; return the dataset, and the number of rows made now.

    Raises InputError for a folder of another recipe or process, TwinviewsError if a view failed. Finished
    shards stay.
    """
    with progress(run.out.name, run.plan.rows) as advance, locked_folder(run.out):
        overwrite = run.options.overwrite
        status = claim_dataset(run.out, run.plan, overwrite=overwrite)
        remove_leftovers(run.out)
        if status == "finished" and not overwrite:
            return open_dataset(run.out), 0
        if overwrite:
            clear_dataset(run.out)
        try:
            begin(run.out, run.plan)
            rows = _make_missing(run, advance)
            remove_leftovers(run.out)  # of workers that were lost
            return _finish(run), rows
        except BaseException:
            remove_leftovers(run.out)  # of workers that were stopped while they wrote
            if not any(record_number(entry.name) is not None for entry in run.out.glob("*")):
                clear_dataset(run.out, record_too=True)  # it failed before the first shard: nothing to resume
            raise


def _make_missing(run: ViewRun, advance: Callable[[int], None]) -> int:
    """Make and commit the shards that are not whole, a window at a time; return the number of their rows."""
    options, whole = run.options, _whole_shards(run)
    whole_rows = _rows(whole.values())
    advance(whole_rows)
    missing = deque(index for index in range(len(run.plan.shards)) if index not in whole)
    if not missing:
        return 0
    workers = min(options.workers, len(missing))
    in_process = options.engine == "local" and workers == 1
    shares, window_shards, max_shards = (
        1 if in_process else workers * AHEAD,
        1,
        MAX_WINDOW_ROWS // run.plan.shard_size,
    )

    def windows() -> Iterator[Window]:
        while missing:
            yield [missing.popleft() for _ in range(max(1, min(window_shards, len(missing) // shares)))]

    if in_process:
        results = make_windows(run, windows())
    elif options.engine == "local":
        results = run_workers(partial(worker, run.for_worker()), windows(), workers, ordered=False)
    else:
        results = run_cluster(run, windows(), workers, options.address)
    with closing(results):
        for shards, window_seconds in results:
            window_shards = min(int(len(shards) * WINDOW_SECONDS / max(window_seconds, 1e-3)), max_shards)
            advance(_rows(shards))
    return run.plan.rows - whole_rows


def _rows(shards: Iterable[Record]) -> int:
    return sum(file.rows or 0 for file in shard_files(shards).values())


def _whole_shards(run: ViewRun) -> dict[int, Record]:
    records = (
        whole_shard(run.out, index, stop - start) for index, (start, stop) in enumerate(run.plan.shards)
    )
    return {index: record for index, record in enumerate(records) if record is not None}


def _finish(run: ViewRun) -> Dataset:
    """Turn the shards into a dataset, provided that neither they nor the sentences have changed."""
    plan, source = run.plan, run.source
    shards = [*_whole_shards(run).values()]
    if len(shards) < len(plan.shards):
        raise TwinviewsError(f"shards of {run.out} changed while it was written: run the same command again")
    for _ in source.tables():
        pass  # reading a shard of the sentences checks its hash
    options = {"sources": run.options.sources or None, **plan.params}
    recipe = recipe_text(plan.name, options, seed=plan.seed, limit=plan.limit, shard_size=plan.shard_size)
    counts = count_rows(shards)
    return finish(run.out, plan, shards, counts, recipe=recipe, card=dataset_card(plan, counts))
