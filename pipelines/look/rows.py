"""Rows and numbers as text for a reader, with what a view changed in a text marked word by word."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

import regex

from pipelines.look.statistics import Statistics
from pipelines.pairs import NEGATIVE, PAIR_COLUMNS
from pipelines.similarity import UNSPACED

Change: TypeAlias = Literal["same", "removed", "added"]

LONGEST = 1_000
"""Characters of a text that are compared and shown."""
WORD = regex.compile(rf"\s*+(?:(?:(?!{UNSPACED.pattern})[\p{{L}}\p{{N}}_]\p{{M}}*[\u200c\u200d'’‘\-‐‑]?)+|\X)|\s+")
"""A word with its accents and apostrophes, or one sign (an emoji with all its parts, a letter of an unspaced script),
and the white space before it."""


class Piece(NamedTuple):
    """A stretch of text that is in both texts ("same"), in the old one only, or in the new one only."""

    change: Change
    text: str


def pieces(old: str, new: str, edits: Sequence[Mapping[str, Any]] = ()) -> list[Piece]:
    """How `old` became `new`: by the recorded edits if they lead there, otherwise word by word.

    Same and removed pieces make `old`, same and added pieces `new`. Only the first LONGEST characters are compared.
    """
    hidden = max(len(old), len(new)) - LONGEST
    if hidden > 0:
        shown = _merged(_compared(old[:LONGEST], new[:LONGEST]))
        return [*shown, Piece("same", f" … {hidden:,} more characters")]
    recorded = list(_recorded(old, edits))
    leads_there = "".join(piece.text for piece in recorded if piece.change != "removed") == new
    return _merged(recorded if edits and leads_there else _compared(old, new))


def wdiff(parts: Iterable[Piece]) -> str:
    """Pieces as wdiff writes them: `a [-big-]{+large+} dog`."""
    marks = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
    return "".join(f"{marks[piece.change][0]}{piece.text}{marks[piece.change][1]}" for piece in parts)


def _recorded(text: str, edits: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
    at = 0
    for edit in sorted(edits, key=lambda each: (each["start"], each["end"])):
        start, end = edit["start"], edit["end"]
        yield from (Piece("same", text[at:start]), Piece("removed", text[start:end]), Piece("added", edit["new"]))
        at = end
    yield Piece("same", text[at:])


def _compared(old: str, new: str) -> Iterator[Piece]:
    before, after = WORD.findall(old), WORD.findall(new)
    for what, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = "".join(before[i:j]), "".join(after[k:m])
        if what == "equal":
            yield Piece("same", gone)
            continue
        both = enumerate(zip(gone, come, strict=False))
        spaces = next((at for at, (one, two) in both if one != two or not one.isspace()), 0)
        yield from (Piece("same", gone[:spaces]), Piece("removed", gone[spaces:]), Piece("added", come[spaces:]))


def _merged(parts: Iterable[Piece]) -> list[Piece]:
    """Without empty pieces, and with neighbours of one kind made one."""
    groups = groupby((piece for piece in parts if piece.text), lambda piece: piece.change)
    return [Piece(change, "".join(piece.text for piece in group)) for change, group in groups]


def figure(value: float) -> str:
    """A number in three digits or three decimals, from a hundred on without decimals; a dash for NaN."""
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
    """Which rows the statistics are of, and the signatures of chrF and BLEU."""
    signatures = f"; chrF {found.chrf_signature}" if found.chrf_signature else ""
    signatures += f"; self-BLEU {found.self_bleu[1]}" if found.self_bleu else ""
    if found.sampled == found.rows:
        return f"statistics over all {found.rows:,} rows{signatures}"
    return f"statistics over {found.sampled:,} of {found.rows:,} rows, drawn with seed {found.seed}{signatures}"


def heading(kind: str, row: Mapping[str, Any]) -> str:
    """A row's id, and its status, scores and labels."""
    parts = [str(row["id"])]
    if kind == "view":
        parts.append(f"{row['status']} ({row['reason']})" if row["reason"] else str(row["status"]))
    for name, value in row.items() if kind == "pairs" else ():
        if name not in (*PAIR_COLUMNS, NEGATIVE) and value is not None:
            parts.append(f"{name} {figure(value) if isinstance(value, float) else value}")
    return "  ".join(parts)


def lines(kind: str, row: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Piece]]]:
    """The texts of a row by their names, views as they differ from the sentence."""
    text = row["text"] or ""
    plain = {"view": ("pivot",), "sentences": ("label", "pair")}.get(kind, ())
    for name in ("text", *plain):
        if row.get(name) is not None:
            yield name, pieces(row[name], row[name])
    if kind == "view" and row["view"] is not None:
        yield "view", pieces(text, row["view"], row["edits"] or ())
    for side in ("view_a", "view_b"):
        if row.get(side) is not None:
            yield row[f"{side}_name"] or side, pieces(text, row[side])
    if kind == "pairs" and row.get(NEGATIVE) is not None:
        yield NEGATIVE, pieces(row[NEGATIVE], row[NEGATIVE])
