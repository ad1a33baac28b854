"""The rows of a view: each follows from the plan and its sentence, and from nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from augment.edits import LabelledSpan, carry_spans
from augment.errors import TwinviewsError
from augment.plugins import blamed
from augment.view import ENTRY_POINT_GROUP, View, Viewed, row_seed
from pipelines.folder import SPANS, view_schema
from pipelines.plan import Plan


class Sentences(NamedTuple):
    """Sentences that are viewed together.

    Attributes:
        ids, texts, seeds: Of each.
        between: For a staged view, what the view before it made of them.
        spans: Their labelled spans, where the input has such a column.
    """

    ids: list[str]
    texts: list[str]
    seeds: list[int]
    between: list[Viewed] | None = None
    spans: list[Any] | None = None


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
        columns = (between.column(name).to_pylist() for name in ("view", "status", "reason", "pivot"))
        viewed = [Viewed(*row) for row in zip(*columns, strict=True)]
    seeds = [row_seed(plan.seed or 0, identity, plan.signature or "") for identity in ids]
    spans = table.column(SPANS).to_pylist() if SPANS in table.schema.names else None
    return Sentences(ids, texts, seeds, viewed, spans)


def view_sentences(plan: Plan, view: View, sentences: Sentences) -> Sequence[Viewed]:
    """What the view makes of sentences.

    Raises:
        TwinviewsError: It gave something else than a `Viewed` for each.
    """
    with blamed(ENTRY_POINT_GROUP, plan.name):
        if sentences.between is not None:
            viewed: Sequence[Viewed] = view.complete(sentences.texts, sentences.seeds, sentences.between)  # type: ignore[attr-defined]
        else:
            viewed = view(sentences.texts, sentences.seeds)
        if not isinstance(viewed, Sequence) or {*map(type, viewed)} - {Viewed}:
            raise TwinviewsError(f"view {plan.name!r} gave something else than a list of Viewed: fix the view")
        if len(viewed) != len(sentences.texts):
            said = f"{len(viewed)} rows for {len(sentences.texts)} sentences"
            raise TwinviewsError(f"view {plan.name!r} gave {said}: fix the view")
        return viewed


def view_rows(
    plan: Plan,
    sentences: Sentences,
    viewed: Sequence[Viewed],
    rows: slice = slice(None),
) -> Any:  # noqa: ANN401 - a pyarrow table
    """Some rows of a view, one for each sentence, in order.

    Raises:
        TwinviewsError: A `Viewed` holds something of another type, or has a text where there can be none.
    """
    import pyarrow as pa

    made = [*zip(*viewed[rows], strict=True)]
    for text, view, status in zip(sentences.texts[rows], *made[:2], strict=True):
        if (view is None) != (status in ("failed", "rejected")):
            raise TwinviewsError(f"view {plan.name!r} gave status {status!r} and {view!r} for {text!r}: fix the view")
    schema = view_schema()
    with blamed(ENTRY_POINT_GROUP, plan.name):
        columns = [sentences.ids[rows], sentences.texts[rows], *made]
        if sentences.spans is not None:
            schema = view_schema([SPANS])
            carried = zip(sentences.texts[rows], sentences.spans[rows], viewed[rows], strict=True)
            columns += zip(*(_carried(text, spans or (), one) for text, spans, one in carried), strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _carried(text: str, spans: Sequence[Mapping[str, Any]], one: Viewed) -> tuple[list[LabelledSpan], int]:
    """The spans of a view and how many were lost: all of them by a view that rewrites the whole text."""
    if one.text is None or (one.text != text and not one.edits):
        return [], len(spans)
    return carry_spans([LabelledSpan(**span) for span in spans], one.edits)
