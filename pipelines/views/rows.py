"""The rows of a view: each follows from the plan and its sentence, and from nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from augment.errors import TwinviewsError
from augment.plugins import blamed
from augment.view import ENTRY_POINT_GROUP, View, Viewed, row_seed
from pipelines.folder import view_schema
from pipelines.plan import Plan
from pipelines.views.stored import StoredRows

VIEWED = ("view", "status", "reason", "pivot")


@dataclass(frozen=True)
class Sentences:
    """Sentences that are to be viewed together.

    Attributes:
        table: All rows of the input, with `id` and `text`.
        places: Those that are to be made; the others were made before.
        texts, seeds: Of these.
        between: For a staged view, what the view before it made of these.
        stored: The rows of the others, in order; None if there are none.
    """

    table: Any
    places: Sequence[int]
    texts: Sequence[str]
    seeds: Sequence[int]
    between: Sequence[Viewed] | None = None
    stored: Any = None


def read_sentences(
    plan: Plan,
    table: Any,  # noqa: ANN401 - a pyarrow table
    between: Any = None,  # noqa: ANN401 - a pyarrow table
    stored: StoredRows | None = None,
) -> Sentences:
    """Sentences, their seeds, and what is known of them.

    Args:
        plan: Its seed and signature decide what is drawn.
        table: Some rows of the input, with `id` and `text`.
        between: For a staged view, the rows that the view before it made of the same sentences.
        stored: Rows that the same view made before; they save time and change nothing.
    """
    found, known = stored.find(table) if stored is not None else ([], None)
    places = sorted({*range(table.num_rows)}.difference(found)) if found else range(table.num_rows)
    wanted = _take(table, places) if found else table
    ids, texts = (wanted.column(name).to_pylist() for name in ("id", "text"))
    viewed = None
    if between is not None:
        if not between.column("id").equals(table.column("id")):
            raise TwinviewsError("the pivots lie beside other sentences: remove data/pivots and run again")
        between = _take(between, places) if found else between
        columns = (between.column(name).to_pylist() for name in VIEWED)
        viewed = [Viewed(*row) for row in zip(*columns, strict=True)]
    seeds = [row_seed(plan.seed or 0, identity, plan.signature or "") for identity in ids]
    return Sentences(table, places, texts, seeds, viewed, known)


def _take(table: Any, places: Sequence[int]) -> Any:  # noqa: ANN401 - pyarrow tables
    import pyarrow as pa

    return table.take(pa.array(places, pa.int64()))


def view_sentences(plan: Plan, view: View, sentences: Sentences) -> Sequence[Viewed]:
    """What the view makes of sentences.

    Raises:
        TwinviewsError: It gave something else than a `Viewed` for each.
    """
    if not sentences.texts:
        return []
    with blamed(ENTRY_POINT_GROUP, plan.name):
        if sentences.between is not None:
            viewed: Sequence[Viewed] = view.complete(  # type: ignore[attr-defined]
                sentences.texts, sentences.seeds, sentences.between
            )
        else:
            viewed = view(sentences.texts, sentences.seeds)
        if not isinstance(viewed, Sequence) or not all(isinstance(one, Viewed) for one in viewed):
            raise TwinviewsError(f"view {plan.name!r} gave something else than a list of Viewed: fix the view")
        if len(viewed) != len(sentences.texts):
            said = f"{len(viewed)} rows for {len(sentences.texts)} sentences"
            raise TwinviewsError(f"view {plan.name!r} gave {said}: fix the view")
        return viewed


def view_rows(plan: Plan, sentences: Sentences, viewed: Sequence[Viewed]) -> Any:  # noqa: ANN401 - a pyarrow table
    """The rows of a view, one for each sentence, in order.

    Raises:
        TwinviewsError: A `Viewed` holds something of another type, or has a text where there can be none.
    """
    import numpy as np
    import pyarrow as pa

    for text, one in zip(sentences.texts, viewed, strict=True):
        if (one.text is None) != (one.status in {"failed", "rejected"}):
            raise TwinviewsError(
                f"view {plan.name!r} gave status {one.status!r} and {one.text!r} for {text!r}: fix the view"
            )
    values = {
        "view": [one.text for one in viewed],
        "status": [one.status for one in viewed],
        "reason": [one.reason for one in viewed],
        "pivot": [one.pivot for one in viewed],
        "edits": [one.edits for one in viewed],
        "target_fraction": [one.target_fraction for one in viewed],
        "achieved_fraction": [one.achieved_fraction for one in viewed],
        "alternatives": [one.alternatives for one in viewed],
    }
    schema, table = view_schema(), sentences.table.select(["id", "text"])
    if sentences.stored is not None:
        table = _take(table, sentences.places)
    with blamed(ENTRY_POINT_GROUP, plan.name):
        for name, column in values.items():
            table = table.append_column(schema.field(name), pa.array(column, schema.field(name).type))
    if sentences.stored is None:
        return table
    order = np.full(sentences.table.num_rows, -1)
    order[list(sentences.places)] = np.arange(len(viewed))
    order[order < 0] = np.arange(len(viewed), len(order))
    return pa.concat_tables([table, sentences.stored]).take(order)
