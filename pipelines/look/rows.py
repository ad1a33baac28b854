"""Rows to look at: which ones, what each is known by, and its texts with what a view changed set off."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from pipelines.look.figures import figure
from pipelines.look.opened import Opened
from pipelines.look.worddiff import Piece, pieces
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS


def sample(opened: Opened, rows: int, seed: int | None = None) -> list[dict[str, Any]]:
    """At most so many rows of a dataset, in their order: spread evenly, or drawn at random by a seed."""
    found: list[dict[str, Any]] = opened.take(spread(opened.rows, rows, seed)).to_pylist()
    return found


def spread(total: int, most: int, seed: int | None = None) -> list[int]:
    """Places of at most so many of `total` rows, in order: spread evenly, or drawn at random by a seed."""
    number = min(most, total)
    if seed is not None:
        return sorted(Random(seed).sample(range(total), number))
    return [index * total // number for index in range(number)]


def heading(kind: str, row: Mapping[str, Any]) -> str:
    """What a row is known by: its id, and what became of it, its scores and its labels."""
    parts = [str(row["id"])]
    if kind == "view":
        parts.append(f"{row['status']} ({row['reason']})" if row["reason"] else str(row["status"]))
    if kind == "pairs":
        extra = {
            name: value for name, value in row.items() if name not in (*PAIR_COLUMNS, NEGATIVE) and value is not None
        }
        parts += [f"{name} {figure(value) if isinstance(value, float) else value}" for name, value in extra.items()]
    return "  ".join(parts)


def lines(kind: str, row: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Piece]]]:
    """The texts of a row by what they are, views as they differ from the sentence."""
    text = row["text"] or ""
    plain = {"view": ("pivot",), "sentences": ("label", "pair")}.get(kind, ())
    for name in ("text", *plain):
        if row.get(name) is not None:
            yield name, pieces(row[name], row[name])
    if kind == "view":
        if row["view"] is not None:
            yield "view", pieces(text, row["view"], row["edits"] or ())
        for number, other in enumerate(row.get("alternatives") or (), start=2):
            yield f"view {number}", pieces(text, other)
    for side in ("view_a", "view_b"):
        if row.get(side) is not None:
            yield row[f"{side}_name"] or side, pieces(text, row[side])
    if kind == "pairs" and row.get(NEGATIVE) is not None:
        yield NEGATIVE, pieces(row[NEGATIVE], row[NEGATIVE])
