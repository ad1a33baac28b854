"""One view of one sentence dataset: its plan, and the shards that follow from it and nothing else."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import TwinviewsError
from augment.view import View, Viewed, ViewSpec, make_view, row_seed
from pipelines.folder import Dataset, view_schema
from pipelines.plan import Input, Plan, cut_rows
from pipelines.shards import Receipt, commit_shard, read_range

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
        "alternatives": list(viewed.alternatives),
    }
