"""One view of sentences on disk, from top to bottom: plan, window, make, commit, finish."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from augment.errors import TwinviewsError
from augment.translate.model_names import AUTO, STARTER
from augment.view import View, ViewSpec, view_attribute, view_label
from pipelines.base.console import note, progress
from pipelines.base.files import locked_folder, write_if_changed
from pipelines.base.recipe import recipe_text
from pipelines.options import ViewOptions
from pipelines.storage.card import dataset_card
from pipelines.storage.dataset import (
    PLAN_FILE,
    Dataset,
    Input,
    Plan,
    claim_folder,
    clear_dataset,
    finalise,
    read_plan,
    remove_leftovers,
)
from pipelines.storage.shards import RECEIPTS, Receipt, count_receipts, valid_receipt, view_schema
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
    plan = (
        read_plan(folder)
        if spec.params.get("models") == AUTO and spec.params.get("revision") is None
        else None
    )
    languages = ("source", view_attribute(spec.name, "folder_option"))
    if (
        plan is None
        or plan.name != spec.name
        or any(plan.params.get(key) != spec.params.get(key) for key in languages)
    ):
        return spec
    return replace(spec, params={**spec.params, **{key: plan.params[key] for key in ("models", "revision")}})


def plan_run(view: View, source: Dataset, options: ViewOptions, out: Path | None = None) -> ViewRun:
    """Plan a view of sentences into `out` or its default folder."""
    rows, size = source.first(options.limit), options.shard_size
    seed, limit = options.seed if view.uses_seed else None, rows if rows < source.rows else None
    inputs = (Input(name=str(source.path), sha256=source.digest, rows=source.rows),)
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
        dataset = claim_folder(run.out, run.plan, overwrite=run.options.overwrite)
        if dataset is not None:
            return dataset, 0
        if run.options.overwrite and run.out.exists():
            clear_dataset(run.out)
        try:
            write_if_changed(run.out / PLAN_FILE, run.plan.to_json())
            rows = _make_missing(run, advance)
            remove_leftovers(run.out)  # of workers that were lost
            return _finish(run), rows
        except BaseException:
            remove_leftovers(run.out)  # of workers that were stopped while they wrote
            if not (run.out / RECEIPTS).exists():
                clear_dataset(run.out, plan_too=True)  # it failed before the first shard: nothing to resume
            raise


def _make_missing(run: ViewRun, advance: Callable[[int], None]) -> int:
    """Make and commit the shards that have no valid receipt, a window at a time; return the number of their rows."""
    options, intact = run.options, _intact_receipts(run)
    intact_rows = sum(receipt.rows for receipt in intact.values())
    advance(intact_rows)
    missing = deque(index for index in range(len(run.plan.shards)) if index not in intact)
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
        for receipts, window_seconds in results:
            window_shards = min(int(len(receipts) * WINDOW_SECONDS / max(window_seconds, 1e-3)), max_shards)
            advance(sum(receipt.rows for receipt in receipts))
    return run.plan.rows - intact_rows


def _intact_receipts(run: ViewRun) -> dict[int, Receipt]:
    receipts = (
        valid_receipt(run.out, index, stop - start) for index, (start, stop) in enumerate(run.plan.shards)
    )
    return {index: receipt for index, receipt in enumerate(receipts) if receipt is not None}


def _finish(run: ViewRun) -> Dataset:
    """Turn the shards into a dataset, provided that neither they nor the sentences have changed."""
    plan, source = run.plan, run.source
    receipts = [*_intact_receipts(run).values()]
    if len(receipts) < len(plan.shards):
        raise TwinviewsError(f"shards of {run.out} changed while it was written: run the same command again")
    # Reading a shard of the sentences checks its hash.
    columns = [table.schema.names for table in source.tables()]
    options = {"sources": run.options.sources or None, **plan.params}
    recipe = recipe_text(plan.name, options, seed=plan.seed, limit=plan.limit, shard_size=plan.shard_size)
    counts = count_receipts(receipts)
    schema = view_schema(columns[0])
    return finalise(run.out, plan, receipts, schema, counts, recipe=recipe, card=dataset_card(plan, counts))
