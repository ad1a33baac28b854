"""Sentences to a view dataset: plan, shards that are not there yet, and the folder made whole."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import TwinviewsError
from augment.view import View, Viewed, ViewSpec, make_view, row_seed
from pipelines.card import view_card
from pipelines.engines.local import run_shards
from pipelines.files import locked, remove_temporaries, write_whole
from pipelines.folder import (
    CARD_FILE,
    RECIPE_FILE,
    Dataset,
    claim,
    count_receipts,
    finalise,
    finished_dataset,
    remove_dataset,
    view_schema,
)
from pipelines.plan import PLAN_FILE, Input, Plan, cut_rows, read_plan
from pipelines.shards import RECEIPTS, Receipt, commit_shard, read_range, valid_receipt

SHARD_ROWS = 1_024


@dataclass(frozen=True, slots=True)
class Job:
    """One view of one sentence dataset: the plan, where rows come from and go to, and how it runs."""

    plan: Plan
    source: Path
    receipts: tuple[Receipt, ...]
    out: Path
    device: str = "auto"
    batch_tokens: int | None = None

    def make_view(self, device: str | None = None) -> View:
        """The plan's view on a device."""
        spec = ViewSpec(self.plan.name, self.plan.params)
        return make_view(spec, device=device or self.device, batch_tokens=self.batch_tokens)

    def commit(self, index: int, view: View) -> Receipt:
        """Make one shard and commit it."""
        start, stop = self.plan.shards[index]
        rows = read_range(self.source, self.receipts, start, stop)
        return commit_shard(self.out, index, process_shard(self.plan, index, rows, view))


@dataclass(frozen=True, slots=True)
class Result:
    """A finished run: the dataset, rows made now (the others were there), and the seconds that took."""

    dataset: Dataset
    made: int
    seconds: float

    @property
    def rows_per_second(self) -> float | None:
        """Rows made a second, models' loading included; None if none was made."""
        return self.made / self.seconds if self.made else None


def plan_view(
    view: View, source: Dataset, *, seed: int, limit: int | None = None, shard_size: int = SHARD_ROWS
) -> Plan:
    """The plan of a view of a sentence dataset (of its first `limit` rows)."""
    rows = source.rows if limit is None else min(limit, source.rows)
    limit = rows if rows < source.rows else None
    return Plan(
        kind="view",
        name=view.spec.name,
        params=dict(view.spec.params),
        signature=view.spec.signature(),
        seed=seed,
        limit=limit,
        shard_size=shard_size,
        inputs=(Input(name=str(source.path), sha256=source.digest, rows=source.rows),),
        shards=cut_rows(rows, shard_size),
    )


def process_shard(plan: Plan, index: int, rows: Any, view: View) -> Any:  # noqa: ANN401 - pyarrow tables
    """The table of shard `index`: a function of the plan and the input's rows alone.

    Args:
        plan: Its `shards[index]` says which rows of the input these are.
        index: Number of the shard.
        rows: Those rows, with `id` and `text`.
        view: Built from the plan.

    Raises:
        TwinviewsError: The view broke its contract (other number of rows, no text with status "ok", ...).
    """
    import pyarrow as pa

    ids: list[str] = rows.column("id").to_pylist()
    texts: list[str] = rows.column("text").to_pylist()
    start, stop = plan.shards[index]
    signature = plan.signature or ""
    viewed = view(texts, [row_seed(plan.seed or 0, identity, signature) for identity in ids])
    if not len(viewed) == len(texts) == stop - start:
        raise TwinviewsError(f"view {plan.name!r} gave {len(viewed)} rows for {stop - start} sentences: mend the view")
    made = [_row(plan, *each) for each in zip(ids, texts, viewed, strict=True)]
    return pa.Table.from_pylist(made, schema=view_schema())


def _row(plan: Plan, identity: str, text: str, viewed: Viewed) -> dict[str, Any]:
    if (viewed.text is None) != (viewed.status in {"failed", "rejected"}):
        raise TwinviewsError(
            f"view {plan.name!r} gave status {viewed.status!r} and {viewed.text!r} for {text!r}: mend it"
        )
    return {
        "id": identity,
        "text": text,
        "view": viewed.text,
        "status": viewed.status,
        "reason": viewed.reason,
        "pivot": viewed.pivot,
        "edits": [edit._asdict() for edit in viewed.edits],
        "target_fraction": viewed.target_fraction,
        "achieved_fraction": viewed.achieved_fraction,
    }


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
    with locked(job.out):
        standing = claim(job.out, job.plan, overwrite=overwrite)
        if standing is not None and (finished := finished_dataset(job.out, standing)) is not None:
            advance(finished.rows)
            return Result(finished, 0, time.monotonic() - started)
        try:
            return _make(job, standing, view, recipe, workers, advance, started)
        except BaseException:
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
    job.out.mkdir(exist_ok=True)
    remove_temporaries(job.out)
    remove_temporaries(job.out / RECEIPTS)
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
    beside = {RECIPE_FILE: recipe, CARD_FILE: view_card(plan, count_receipts(receipts))}
    return finalise(job.out, plan, receipts, view_schema(), beside)
