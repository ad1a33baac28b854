"""What became of a text, word by word: from the edits that a view recorded, or by comparing the two."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

import regex

Change: TypeAlias = Literal["same", "removed", "added"]

UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
"""Characters of scripts without spaces between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese)."""
WORD = regex.compile(
    r"(?P<space>\s*+)(?P<word>{letter}+(?:['’‘\-‐‑]{letter}+)*|(?!\s)\X|\Z)".format(
        letter=rf"(?:(?!{UNSPACED.pattern})[\p{{L}}\p{{N}}_]\p{{M}}*[\u200c\u200d]*\p{{M}}*)"
    )
)
"""A word with its accents and apostrophes, or one sign (an emoji with all its parts, a letter of an unspaced script),
and the white space before it; the last one is empty and has the white space at the end."""
MOST_COMPARISONS = 1_000_000
"""Pairs of equal words beyond which two texts are not compared in full: it would take minutes."""
AROUND = 120
"""Characters of an unchanged stretch that stay on either side where a long text is clipped."""


class Piece(NamedTuple):
    """A stretch of text that is in both texts ("same"), in the old one only, or in the new one only."""

    change: Change
    text: str


class Word(NamedTuple):
    """A word, a punctuation mark, an emoji, or a character of an unspaced script, and the white space before it."""

    space: str
    text: str


def pieces(old: str, new: str, edits: Sequence[Mapping[str, Any]] = ()) -> list[Piece]:
    """How `old` became `new`: by the recorded edits where they lead there, otherwise word by word.

    The pieces that are the same or removed make `old`, those that are the same or added make `new`.

    Args:
        old: The sentence.
        new: Its view.
        edits: `start`, `end`, `old` and `new` each, offsets in characters of the sentence.
    """
    recorded = _recorded(old, edits)
    return recorded if recorded and _joined(recorded, "added") == new else word_pieces(old, new)


def word_pieces(old: str, new: str) -> list[Piece]:
    """The pieces of two texts compared word by word, in scripts without spaces character by character.

    In texts of many thousand words only what is the same at both ends is found.
    """
    return _merged(_compared(split(old), split(new)))


def wdiff(parts: Iterable[Piece]) -> str:
    """Pieces as wdiff writes them: `a [-big-]{+large+} dog`."""
    marks = {"same": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}
    return "".join(f"{marks[piece.change][0]}{piece.text}{marks[piece.change][1]}" for piece in parts)


def clipped(parts: Sequence[Piece], most: int) -> list[Piece]:
    """Pieces of a text of more than `most` characters cut to about that: first between the changes, then at the end."""
    if sum(len(piece.text) for piece in parts) <= most:
        return list(parts)
    short = [_shortened(piece) if len(parts) > 1 else piece for piece in parts]
    shown, left = [], most
    for piece in short:
        shown.append(piece._replace(text=piece.text[:left]))
        left -= len(piece.text)
        if left < 0:
            break
    hidden = sum(len(piece.text) for piece in short) - most
    return [*shown, Piece("same", f" … {hidden:,} more characters")] if hidden > 0 else shown


def _shortened(piece: Piece) -> Piece:
    hidden = len(piece.text) - 2 * AROUND
    if piece.change != "same" or hidden <= AROUND:
        return piece
    return Piece("same", f"{piece.text[:AROUND]} … {hidden:,} characters … {piece.text[-AROUND:]}")


def split(text: str) -> list[Word]:
    """A text as words; the last one is empty and has the white space at the end.

    Combining marks, emoji sequences and contractions stay whole.
    """
    return [Word(*found.group("space", "word")) for found in WORD.finditer(text)]


def _compared(before: Sequence[Word], after: Sequence[Word]) -> Iterator[Piece]:
    for what, i, j, k, m in _opcodes([word.text for word in before], [word.text for word in after]):
        if what == "equal":
            for one, two in zip(before[i:j], after[k:m], strict=True):
                yield from _replaced(one.space, two.space)
                yield Piece("same", one.text)
        else:
            gone, come = before[i:j], after[k:m]
            if gone and come and gone[0].space == come[0].space:
                yield Piece("same", gone[0].space)
                gone, come = [Word("", gone[0].text), *gone[1:]], [Word("", come[0].text), *come[1:]]
            yield from _replaced("".join(map("".join, gone)), "".join(map("".join, come)))


def _opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    shorter = min(len(old), len(new))
    first = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - first
    last = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    yield "equal", 0, first, 0, first
    before, after = old[first : len(old) - last], new[first : len(new) - last]
    ours, theirs = Counter(before), Counter(after)
    if sum(number * theirs[word] for word, number in ours.items()) > MOST_COMPARISONS:
        yield "replace", first, len(old) - last, first, len(new) - last
    else:
        for what, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            yield what, first + i, first + j, first + k, first + m
    yield "equal", len(old) - last, len(old), len(new) - last, len(new)


def _replaced(old: str, new: str) -> Iterator[Piece]:
    if old == new:
        yield Piece("same", old)
    else:
        yield from (Piece("removed", old), Piece("added", new))


def _recorded(text: str, edits: Sequence[Mapping[str, Any]]) -> list[Piece] | None:
    """The pieces that recorded edits make; None if they do not fit the text."""
    parts: list[Piece] = []
    at = 0
    for edit in sorted(edits, key=lambda each: (each["start"], each["end"])):
        if edit["start"] < at or text[edit["start"] : edit["end"]] != edit["old"]:
            return None
        parts += (Piece("same", text[at : edit["start"]]), *_replaced(edit["old"], edit["new"]))
        at = edit["end"]
    return _merged([*parts, Piece("same", text[at:])])


def _joined(parts: Iterable[Piece], side: Change) -> str:
    return "".join(piece.text for piece in parts if piece.change in ("same", side))


def _merged(parts: Iterable[Piece]) -> list[Piece]:
    """Without empty pieces, and with neighbours of one kind made one."""
    full = (piece for piece in parts if piece.text)
    return [
        Piece(change, "".join(piece.text for piece in group)) for change, group in groupby(full, lambda each: each[0])
    ]
