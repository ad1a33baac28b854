"""One view of sentences on disk, from top to bottom: plan, window, make, commit, finish."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from augment.device import Stage
from augment.errors import TwinviewsError
from augment.view import Runtime, View, ViewSpec, view_attribute
from pipelines.card import view_card
from pipelines.claim import clear_dataset, remove_leftovers, standing_dataset
from pipelines.console import note, progress
from pipelines.files import write_whole
from pipelines.folder import CARD_FILE, RECIPE_FILE, Dataset, count_receipts, finalise, view_schema
from pipelines.ingest import DATA
from pipelines.lock import locked_folder
from pipelines.plan import PLAN_FILE, Input, Plan
from pipelines.recipe import recipe_text
from pipelines.shards import RECEIPTS, Receipt, read_table, valid_receipt
from pipelines.views.cluster import run_cluster
from pipelines.views.work import AHEAD, ViewRun, Windows, make_windows, worker
from pipelines.workers import run_workers

VIEWS = DATA / "views"
SHARD_ROWS = 1_024
STARTER = "starter"
REAL_WEIGHTS = {"models": "--models opus-mt", "encoder": "--encoder bert-base-uncased"}
EngineName = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Execution:
    """Where and how a view is made; nothing here affects its rows."""

    runtime: Runtime = field(default_factory=Runtime)
    workers: int = 1
    engine: EngineName = "local"
    address: str | None = None
    overwrite: bool = False
    profile: bool = False


class Result(NamedTuple):
    """The dataset after a run, how many of its rows this run made, and in how many seconds."""

    dataset: Dataset
    made: int
    seconds: float


def note_starter(spec: ViewSpec) -> None:
    """Say in one line that a view uses a bundled starter model, and which flag takes a real one."""
    for key, flag in REAL_WEIGHTS.items():
        if spec.params.get(key) == STARTER and spec.params.get("revision") is not None:
            note(f"{spec.name}: the bundled starter models (small, for trying out); `{flag}` takes real ones")


def view_label(spec: ViewSpec) -> str:
    """The name of a view's default folder: `backtranslate-de`."""
    value = spec.params.get(view_attribute(spec.name, "named_by", ""))
    return (spec.name if value is None else f"{spec.name}-{value}").replace("/", "-")


def plan_run(
    view: View,
    source: Dataset,
    runtime: Runtime,
    *,
    seed: int = 0,
    limit: int | None = None,
    shard_size: int = SHARD_ROWS,
    out: Path | None = None,
    names: Sequence[str] = (),
) -> ViewRun:
    """Plan a view of sentences (of the first `limit`) into `out` or its default folder."""
    rows = source.rows if limit is None else min(limit, source.rows)
    plan = Plan(
        kind="view",
        name=view.spec.name,
        params=dict(view.spec.params),
        signature=view.spec.signature(),
        seed=seed if getattr(view, "draws", True) else None,
        limit=rows if rows < source.rows else None,
        shard_size=shard_size,
        inputs=(Input(name=str(source.path), sha256=source.digest, rows=source.rows),),
        shards=tuple((start, min(start + shard_size, rows)) for start in range(0, rows, shard_size)),
    )
    return ViewRun(plan, source, out or VIEWS / view_label(view.spec), runtime, view, names)


def preview_run(run: ViewRun, *, overwrite: bool = False) -> dict[str, Any]:
    """What `make_run` would do; raises InputError if the folder belongs to another recipe."""
    plan = run.plan
    # A dry run only counts new sentences; without their hash there is no plan to compare.
    is_comparable = bool(run.source.receipts) and not overwrite
    if is_comparable:
        standing_dataset(run.out, plan)
    weights = {key: plan.params.get(key) for key in (*REAL_WEIGHTS, "revision")}
    return {
        "out": str(run.out),
        "signature": plan.signature,
        "sentences": plan.inputs[0].rows,
        "rows": plan.rows,
        "shards": len(plan.shards),
        "shards_there": len(_intact(run.out, plan)) if is_comparable else 0,
        **{key: value for key, value in weights.items() if value is not None},
    }


def make_run(run: ViewRun, execution: Execution) -> Result:
    """Make the missing shards and finish the dataset; a finished one is left alone, unless it is to be overwritten.

    Raises:
        InputError: The folder belongs to another recipe or to somebody else, or another process is writing it.
        TwinviewsError: A view or a worker failed; finished shards stay.
    """
    started, made = time.monotonic(), 0
    with progress(run.out.name, run.plan.rows) as advance, locked_folder(run.out):
        dataset = standing_dataset(run.out, run.plan, overwrite=execution.overwrite)
        remove_leftovers(run.out)
        if dataset is None:
            if execution.overwrite and run.out.exists():
                clear_dataset(run.out)
            try:
                write_whole(run.out / PLAN_FILE, run.plan.to_json())
                made = _make(run, execution, advance)
                dataset = _finish(run)
            except BaseException:
                remove_leftovers(run.out)  # of workers that were stopped while they wrote
                if not (run.out / RECEIPTS).exists():
                    clear_dataset(run.out, plan_too=True)  # it failed before the first shard: nothing to resume
                raise
        return Result(dataset, made, time.monotonic() - started)


def _make(run: ViewRun, execution: Execution, advance: Callable[[int], None]) -> int:
    """Make and commit the shards that have no valid receipt, a window at a time; return the number of their rows."""
    there = _intact(run.out, run.plan)
    advance(sum(receipt.rows for receipt in there.values()))
    missing = [index for index in range(len(run.plan.shards)) if index not in there]
    if not missing:
        return 0
    workers, made, stages, started = min(execution.workers, len(missing)), 0, Counter[Stage](), time.monotonic()
    is_here = execution.engine == "local" and workers == 1
    windows = Windows(missing, run.plan.shard_size, 1 if is_here else workers * AHEAD)
    if is_here:
        running = make_windows(run, windows)
    elif execution.engine == "local":
        running = run_workers(partial(worker, run.for_worker()), windows, workers, ahead=AHEAD, ordered=False)
    else:
        running = run_cluster(run, windows, workers, execution.address)
    with closing(running):
        for window in running:
            windows.learn(window)
            stages.update(window.stages)
            rows = sum(receipt.rows for receipt in window.receipts)
            made += rows
            advance(rows)
    if execution.profile:
        seconds = (time.monotonic() - started) * workers
        waiting = max(0.0, seconds - stages["model"])
        parts = ", ".join(f"{stage} {stages[stage]:.2f}" for stage in get_args(Stage))
        note(f"{run.out}: {seconds:.2f} s: {parts}, waiting {waiting:.2f} ({waiting / seconds:.1%} of the time)")
    return made


def _intact(out: Path, plan: Plan) -> Mapping[int, Receipt]:
    found = ((index, valid_receipt(out, index, stop - start)) for index, (start, stop) in enumerate(plan.shards))
    return {index: receipt for index, receipt in found if receipt is not None}


def _finish(run: ViewRun) -> Dataset:
    """Turn the shards into a dataset, provided that neither they nor the sentences have changed."""
    plan, source = run.plan, run.source
    remove_leftovers(run.out)  # of workers that were lost
    receipts = [receipt for _, receipt in sorted(_intact(run.out, plan).items())]
    if len(receipts) < len(plan.shards):
        raise TwinviewsError(f"shards of {run.out} changed while it was written: run the same command again")
    columns: list[str] = []
    for receipt in source.receipts:
        columns = read_table(source.path / receipt.file, receipt.sha256).schema.names
    options = {"sources": list(run.names) or None, **plan.params}
    recipe = recipe_text(plan.name, options, seed=plan.seed, limit=plan.limit, shard_size=plan.shard_size)
    beside = {RECIPE_FILE: recipe, CARD_FILE: view_card(plan, count_receipts(receipts))}
    return finalise(run.out, plan, receipts, view_schema(columns), beside)
