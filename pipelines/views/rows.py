"""The rows of a view: each follows from the plan and its sentence, and from nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augment.errors import TwinviewsError
from augment.plugins import blamed
from augment.spans import LabelledSpan, carry_spans
from augment.view import ENTRY_POINT_GROUP, View, Viewed, row_seed
from pipelines.folder import SPANS, view_schema
from pipelines.plan import Plan

VIEWED = ("view", "status", "reason", "pivot")


@dataclass(frozen=True)
class Sentences:
    """Sentences that are to be viewed together.

    Attributes:
        table: Rows of the input, with `id` and `text`.
        texts, seeds: Of these.
        between: For a staged view, what the view before it made of these.
    """

    table: Any
    texts: Sequence[str]
    seeds: Sequence[int]
    between: Sequence[Viewed] | None = None


def read_sentences(
    plan: Plan,
    table: Any,  # noqa: ANN401 - a pyarrow table
    between: Any = None,  # noqa: ANN401 - a pyarrow table
) -> Sentences:
    """Sentences, their seeds, and what is known of them.

    Args:
        plan: Its seed and signature decide what is drawn.
        table: Some rows of the input, with `id` and `text`.
        between: For a staged view, the rows that the view before it made of the same sentences.
    """
    ids, texts = (table.column(name).to_pylist() for name in ("id", "text"))
    viewed = None
    if between is not None:
        if not between.column("id").equals(table.column("id")):
            raise TwinviewsError("the pivots lie beside other sentences: remove data/pivots and run again")
        columns = (between.column(name).to_pylist() for name in VIEWED)
        viewed = [Viewed(*row) for row in zip(*columns, strict=True)]
    seeds = [row_seed(plan.seed or 0, identity, plan.signature or "") for identity in ids]
    return Sentences(table, texts, seeds, viewed)


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
    import pyarrow as pa

    for text, one in zip(sentences.texts, viewed, strict=True):
        if (one.text is None) != (one.status in {"failed", "rejected"}):
            raise TwinviewsError(
                f"view {plan.name!r} gave status {one.status!r} and {one.text!r} for {text!r}: fix the view"
            )
    table = sentences.table.select(["id", "text"])
    with blamed(ENTRY_POINT_GROUP, plan.name):
        for field in list(view_schema())[2:]:
            column = [getattr(one, "text" if field.name == "view" else field.name) for one in viewed]
            table = table.append_column(field, pa.array(column, field.type))
    if SPANS in sentences.table.schema.names:
        rows = zip(sentences.texts, sentences.table[SPANS].to_pylist(), viewed, strict=True)
        columns = zip(*(_carried(text, spans or (), one) for text, spans, one in rows), strict=True)
        for field, values in zip(list(view_schema([SPANS]))[-2:], columns, strict=True):
            table = table.append_column(field, pa.array(values, field.type))
    return table


def _carried(text: str, spans: Sequence[Mapping[str, Any]], one: Viewed) -> tuple[list[LabelledSpan], int]:
    """The spans of a view and how many were lost: all of them by a view that rewrites the whole text."""
    if one.text is None or (one.text != text and not one.edits):
        return [], len(spans)
    return carry_spans([LabelledSpan(**span) for span in spans], one.edits)
