"""A row of a dataset as labelled lines, with what a view changed set off."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pipelines.look.figures import figure
from pipelines.look.worddiff import Piece, clipped, pieces
from pipelines.pairs import PAIR_COLUMNS

Row: TypeAlias = Mapping[str, Any]


class Line(NamedTuple):
    """A text of a row: what it is, and its pieces."""

    label: str
    pieces: Sequence[Piece]


def heading(kind: str, row: Row) -> str:
    """What a row is known by: its id, and what became of it, its scores and its labels."""
    parts = [str(row["id"])]
    if kind == "view":
        parts.append(f"{row['status']} ({row['reason']})" if row["reason"] else str(row["status"]))
    if kind == "pairs":
        extra = {name: value for name, value in row.items() if name not in PAIR_COLUMNS and value is not None}
        parts += [f"{name} {figure(value) if isinstance(value, float) else value}" for name, value in extra.items()]
    return "  ".join(parts)


def lines(kind: str, row: Row, most: int | None = None) -> Iterator[Line]:
    """The texts of a row, views as they differ from the sentence.

    Args:
        kind: Of the dataset.
        row: The row.
        most: Characters of a text that are enough; None for all.
    """
    for label, parts in _texts(kind, row):
        yield Line(label, parts if most is None else clipped(parts, most))


def _texts(kind: str, row: Row) -> Iterator[tuple[str, list[Piece]]]:
    text = row["text"] or ""
    yield "text", [Piece("same", text)]
    if kind == "view":
        if row["pivot"] is not None:
            yield "pivot", [Piece("same", row["pivot"])]
        if row["view"] is not None:
            yield "view", pieces(text, row["view"], row["edits"] or ())
        for number, other in enumerate(row.get("alternatives") or (), start=2):
            yield f"view {number}", pieces(text, other)
    elif kind == "pairs":
        for side in ("view_a", "view_b"):
            if row[side] is not None:
                yield row[f"{side}_name"] or side, pieces(text, row[side])
    else:
        for key in ("label", "pair"):
            if row.get(key) is not None:
                yield key, [Piece("same", row[key])]
