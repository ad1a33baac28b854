"""Sentences to a view dataset: plan, shards that are not there yet, and the folder made whole."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from augment.errors import TwinviewsError
from augment.view import View
from pipelines.card import view_card
from pipelines.claim import claim, remove_dataset, remove_leftovers
from pipelines.engines.local import run_shards
from pipelines.files import write_whole
from pipelines.folder import (
    CARD_FILE,
    RECIPE_FILE,
    Dataset,
    count_receipts,
    finalise,
    finished_dataset,
    view_schema,
)
from pipelines.job import Job
from pipelines.lock import locked_folder
from pipelines.plan import PLAN_FILE, Plan, read_plan
from pipelines.shards import RECEIPTS, Receipt, check_file, valid_receipt


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run: the dataset, rows made now (the others were there), the seconds that took, and what came first.

    Attributes:
        dataset: What is there now.
        made: Rows of it that were made in this run.
        seconds: What that took, the runs in `through` not counted.
        through: The run of the view that this one is made through, where it was needed.
    """

    dataset: Dataset
    made: int
    seconds: float
    through: "Result | None" = None

    @property
    def rows_per_second(self) -> float | None:
        """Rows made a second, models' loading and what came first included; None if none was made."""
        return self.made / self.total_seconds if self.made else None

    @property
    def total_seconds(self) -> float:
        """Seconds of this run and of those that it is made through."""
        return self.seconds + (self.through.total_seconds if self.through else 0)


def run_view(
    job: Job,
    view: View,
    recipe: str,
    *,
    workers: int = 1,
    overwrite: bool = False,
    advance: Callable[[int], None] = lambda rows: None,
) -> Result:
    """Make the shards that are not there yet and finish the dataset; nothing is done to one that is finished.

    Args:
        job: What to make.
        view: The view that `job.plan` was made from.
        recipe: Text of the resolved recipe.
        workers: Processes.
        overwrite: Start afresh in a folder that we wrote before.
        advance: Called with the number of rows of every shard that is there.

    Raises:
        InputError: The folder belongs to another recipe or to somebody else, or is being written.
        TwinviewsError: A view or a worker failed; finished shards stay.
    """
    started = time.monotonic()
    with locked_folder(job.out):
        standing = claim(job.out, job.plan, overwrite=overwrite)
        remove_leftovers(job.out)
        if standing is not None and (finished := finished_dataset(job.out, standing)) is not None:
            advance(finished.rows)
            return Result(finished, 0, time.monotonic() - started)
        try:
            return _make(job, standing, view, recipe, workers, advance, started)
        except BaseException:
            remove_leftovers(job.out)  # of workers that were stopped while they wrote
            if not (job.out / RECEIPTS).exists() and read_plan(job.out) is not None:
                remove_dataset(job.out)  # it failed before the first shard: nothing to go on with
            raise


def _make(
    job: Job,
    standing: Plan | None,
    view: View,
    recipe: str,
    workers: int,
    advance: Callable[[int], None],
    started: float,
) -> Result:
    if standing is None:
        write_whole(job.out / PLAN_FILE, job.plan.to_json())
    plan = standing or job.plan
    receipts = _intact(job.out, plan)
    advance(sum(receipt.rows for receipt in receipts.values()))
    missing = [index for index in range(len(plan.shards)) if index not in receipts]
    made = 0
    for receipt in run_shards(job, missing, view, workers):
        made += receipt.rows
        advance(receipt.rows)
    return Result(_finish(job, plan, recipe), made, time.monotonic() - started)


def _intact(out: Path, plan: Plan) -> Mapping[int, Receipt]:
    found = ((index, valid_receipt(out, index, stop - start)) for index, (start, stop) in enumerate(plan.shards))
    return {index: receipt for index, receipt in found if receipt is not None}


def _finish(job: Job, plan: Plan, recipe: str) -> Dataset:
    receipts: Sequence[Receipt] = [receipt for _, receipt in sorted(_intact(job.out, plan).items())]
    if len(receipts) < len(plan.shards):
        raise TwinviewsError(f"shards of {job.out} changed while it was written: run the same command again")
    for receipt in job.source.receipts:  # it would be finished, and of sentences that are no longer there
        check_file(job.source.folder / receipt.file, receipt.sha256)
    beside = {RECIPE_FILE: recipe, CARD_FILE: view_card(plan, count_receipts(receipts))}
    return finalise(job.out, plan, receipts, view_schema(), beside)
