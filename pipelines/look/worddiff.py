"""What became of a text, word by word: from the edits that a view recorded, or by comparing the two."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

import regex

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
    """How `old` became `new`: by the recorded edits where they lead there, otherwise word by word.

    The pieces that are the same or removed make `old`, those that are the same or added make `new`; of long texts the
    first LONGEST characters.
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
        spaces = next((at for at, both in enumerate(zip(gone, come, strict=False)) if not _is_space(*both)), 0)
        yield from (Piece("same", gone[:spaces]), Piece("removed", gone[spaces:]), Piece("added", come[spaces:]))


def _is_space(one: str, two: str) -> bool:
    return one == two and one.isspace()


def _merged(parts: Iterable[Piece]) -> list[Piece]:
    """Without empty pieces, and with neighbours of one kind made one."""
    full = (piece for piece in parts if piece.text)
    return [
        Piece(change, "".join(piece.text for piece in group)) for change, group in groupby(full, lambda each: each[0])
    ]
