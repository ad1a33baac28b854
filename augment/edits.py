"""Words with their offsets, and edits applied to the original string: what is not edited stays byte-identical."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from augment.view import Edit

_LETTER = r"(?:[^\W_][\u0300-\u036f]*)"
_TOKEN = re.compile(
    rf"""
    (?P<dotted>(?:[^\W\d_]\.){{2,}})                             # U.S., e.g.
    | (?P<number>[$€£¥]?\d+(?:[.,:/]\d+)*(?:%|st|nd|rd|th\b)?)(?!{_LETTER})  # 3.5%, $1,000, 10:30, 4th
    | (?P<word>{_LETTER}+(?:['’‘.&@/_\-\u2010\u2011]{_LETTER}+)*)  # don't, well-known, AT&T, example.org
    | (?P<other>\S)                                              # punctuation, emoji
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """One token of a text: `text[start:end] == token.text`; kind is "word", "number", "dotted" or "other"."""

    start: int
    end: int
    text: str
    kind: str


def tokens(text: str) -> list[Token]:
    """Split into words, numbers, dotted abbreviations and single other characters, with character offsets.

    Contractions and hyphenated words stay whole. White space belongs to no token.
    """
    return [Token(m.start(), m.end(), m.group(), m.lastgroup or "other") for m in _TOKEN.finditer(text)]


def words(text: str) -> list[Token]:
    """The tokens of `text` that are words, numbers or abbreviations: no punctuation, no emoji."""
    return [token for token in tokens(text) if token.kind != "other"]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Replace `text[start:end]` by `new` for every edit; without edits, the text itself.

    Args:
        text: The original string; all offsets are in its characters.
        edits: In any order.

    Raises:
        ValueError: An edit lies outside the text, its `old` is not what stands there, or two edits overlap.
    """
    ordered = sorted(edits, reverse=True)
    following = len(text)
    for edit in ordered:
        if not 0 <= edit.start <= edit.end <= len(text) or text[edit.start : edit.end] != edit.old:
            raise ValueError(f"{edit} does not fit: the text there is {text[max(edit.start, 0) : edit.end]!r}")
        if edit.end > following:
            raise ValueError(f"{edit} overlaps the edit at {following}")
        following = edit.start
    for edit in ordered:
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def matching_case(word: str, new: str) -> str:
    """Return `new` in the case of `word`: all capitals, a capital first, or as it is."""
    if len(word) > 1 and word.isupper():
        return new.upper()
    if word[:1].isupper():
        return new[:1].upper() + new[1:]
    return new
