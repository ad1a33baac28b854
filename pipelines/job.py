"""One view of one sentence dataset: its plan, and the rows that follow from it and nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from augment.errors import TwinviewsError
from augment.plugins import blamed
from augment.view import ENTRY_POINT_GROUP, View, Viewed, ViewSpec, make_view, row_seed
from pipelines.folder import Dataset, view_schema
from pipelines.kept import KeptRows
from pipelines.plan import Input, Plan, cut_rows
from pipelines.shards import Receipt, Shards, commit_shard

SHARD_ROWS = 1_024


@dataclass(frozen=True)
class Job:
    """One view of one sentence dataset: the plan, where rows come from and go to, and how it runs.

    Attributes:
        plan: Everything that decides the rows.
        source: The sentences.
        out: The view's folder.
        device: As in `Running`.
        batch_tokens: As in `Running`.
        through: For a staged view, the dataset of the view that comes first, row for row beside the sentences.
        kept: Folders with rows of the same view and seed, from which those of known sentences are taken.
    """

    plan: Plan
    source: Shards
    out: Path
    device: str = "auto"
    batch_tokens: int | None = None
    through: Shards | None = None
    kept: tuple[Path, ...] = ()

    @cached_property
    def _kept_rows(self) -> KeptRows:
        return KeptRows(self.kept)

    def make_view(self, device: str | None = None) -> View:
        """The plan's view on a device."""
        spec = ViewSpec(self.plan.name, self.plan.params)
        return make_view(spec, device=device or self.device, batch_tokens=self.batch_tokens)

    def commit(self, indices: Sequence[int], view: View) -> list[Receipt]:
        """Make the shards of a window together, and commit them one by one."""
        import pyarrow as pa

        ranges = [self.plan.shards[index] for index in indices]
        rows = pa.concat_tables([self.source.read(*each) for each in ranges])
        between = pa.concat_tables([self.through.read(*each) for each in ranges]) if self.through else None
        made = process_rows(self.plan, rows, view, between, self._kept_rows if self.kept else None)
        receipts = []
        for index, (start, stop) in zip(indices, ranges, strict=True):
            with blamed(ENTRY_POINT_GROUP, self.plan.name):  # for a Viewed that holds something of another type
                table = pa.Table.from_pylist(list(islice(made, stop - start)), schema=view_schema())
            receipts.append(commit_shard(self.out, index, table))
        return receipts


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
        seed=seed if getattr(view, "draws", True) else None,
        limit=limit,
        shard_size=shard_size,
        inputs=(Input(name=str(source.path), sha256=source.digest, rows=source.rows),),
        shards=cut_rows(rows, shard_size),
    )


def process_rows(
    plan: Plan,
    rows: Any,  # noqa: ANN401 - a pyarrow table
    view: View,
    between: Any = None,  # noqa: ANN401 - a pyarrow table
    kept: KeptRows | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of a view, in order: each is a function of the plan and the sentence alone.

    Args:
        plan: Its seed and signature decide what is drawn.
        rows: Some rows of the input, with `id` and `text`.
        view: Built from the plan.
        between: For a staged view, the rows that the view before it made of the same sentences.
        kept: Rows that the same plan made before; they save time and change nothing.

    Raises:
        TwinviewsError: The view broke its contract (other number of rows, no text with status "ok", ...).
    """
    ids: list[str] = rows.column("id").to_pylist()
    texts: list[str] = rows.column("text").to_pylist()
    made = dict(kept.find(ids, texts)) if kept is not None else {}
    missing = [place for place in range(len(ids)) if place not in made]
    seeds = [row_seed(plan.seed or 0, ids[place], plan.signature or "") for place in missing]
    pivots = _read_views(ids, between, missing)
    with blamed(ENTRY_POINT_GROUP, plan.name):
        viewed = _viewed(view, [texts[place] for place in missing], seeds, pivots)
        if not isinstance(viewed, Sequence) or not all(isinstance(one, Viewed) for one in viewed):
            raise TwinviewsError(f"view {plan.name!r} gave something else than a list of Viewed: fix the view")
        if len(viewed) != len(missing):
            said = f"{len(viewed)} rows for {len(missing)} sentences"
            raise TwinviewsError(f"view {plan.name!r} gave {said}: fix the view")
    fresh = iter(viewed)
    for place in range(len(ids)):
        yield made[place] if place in made else _row(plan, ids[place], texts[place], next(fresh))


def _viewed(
    view: View, texts: Sequence[str], seeds: Sequence[int], between: Sequence[Viewed] | None
) -> Sequence[Viewed]:
    if not texts:
        return []
    if between is not None:
        completed: Sequence[Viewed] = view.complete(texts, seeds, between)  # type: ignore[attr-defined]
        return completed
    return view(texts, seeds)


def _read_views(ids: Sequence[str], table: Any, places: Sequence[int]) -> list[Viewed] | None:  # noqa: ANN401 - pyarrow
    """What the view before made of the sentences at `places`; None if there is no such view."""
    import pyarrow as pa

    if table is None:
        return None
    if table.column("id").to_pylist() != list(ids):
        raise TwinviewsError("the pivots lie beside other sentences: remove data/pivots and run again")
    columns = ("view", "status", "reason", "pivot")
    rows = table.select(columns).take(pa.array(places, pa.int64())).to_pylist()
    return [Viewed(*(row[column] for column in columns)) for row in rows]


def _row(plan: Plan, identity: str, text: str, viewed: Viewed) -> dict[str, Any]:
    if (viewed.text is None) != (viewed.status in {"failed", "rejected"}):
        raise TwinviewsError(
            f"view {plan.name!r} gave status {viewed.status!r} and {viewed.text!r} for {text!r}: fix the view"
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
