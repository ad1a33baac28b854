"""Rows and numbers as they are written for a reader: what a row is known by, and its texts with what a view changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.look.statistics import Statistics
from pipelines.look.worddiff import Piece, pieces
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS


def figure(value: float) -> str:
    """A number in three digits or three decimals, from a hundred on without decimals; a dash for none."""
    if value != value:
        return "–"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}" if 0.001 <= abs(value) < 0.1 else f"{value:.3g}"


def percent(value: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * value:.1f}"


def flat(counts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Nested counts as lines: `reasons: too-long`."""
    lines: list[tuple[str, Any]] = []
    for key, value in counts.items():
        nested = isinstance(value, Mapping)
        lines += [(f"{key}: {name}", number) for name, number in value.items()] if nested else [(key, value)]
    return lines


def sampling(found: Statistics) -> str:
    """Which rows the statistics are of, and by which chrF and BLEU."""
    signatures = f"; chrF {found.chrf_signature}" if found.chrf_signature else ""
    signatures += f"; self-BLEU {found.self_bleu[1]}" if found.self_bleu else ""
    if found.sampled == found.rows:
        return f"statistics over all {found.rows:,} rows{signatures}"
    return f"statistics over {found.sampled:,} of {found.rows:,} rows, drawn with seed {found.seed}{signatures}"


def heading(kind: str, row: Mapping[str, Any]) -> str:
    """What a row is known by: its id, and what became of it, its scores and its labels."""
    parts = [str(row["id"])]
    if kind == "view":
        parts.append(f"{row['status']} ({row['reason']})" if row["reason"] else str(row["status"]))
    if kind == "pairs":
        further = {name: value for name, value in row.items() if name not in (*PAIR_COLUMNS, NEGATIVE)}
        for name, value in further.items():
            if value is not None:
                parts.append(f"{name} {figure(value) if isinstance(value, float) else value}")
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
