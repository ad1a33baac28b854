"""Words with their offsets, and edits applied to the original string: what is not edited stays byte-identical."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from augment.view import Edit

_IN_WORDS = "'’‘.&@/_\\-\u2010\u2011\u00ad\u00b7\u05f3\u05f4\u200c\u200d\u2060"
"""What joins letters to one word: apostrophes, dots, hyphens; the Catalan dot, Hebrew and Persian joiners."""
_TOKEN = r"""
    (?P<emoji>[0-9#*]\ufe0f?\u20e3 | [\U0001f1e6-\U0001f1ff]{{2}})      # keycaps, flags
    | (?P<dotted>(?:[^\W\d_]\.){{2,}}(?:[^\W\d_](?!{letter}))?)         # U.S., e.g., U.S.A
    | (?P<number>[$€£¥]?\d+(?:[.,:/]\d+)*(?:%|st|nd|rd|th\b)?)(?!{letter})  # 3.5%, $1,000, 10:30, 4th
    | (?P<word>{letter}+(?:[{joiners}]{letter}+)*)                      # don't, well-known, AT&T, example.org
    | (?P<other>\S{extended}*(?:\u200d\S{extended}*)*)                  # punctuation, whole emoji
    """
_EXTENDERS = "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef"
"""Skin tones, the letters of regional flags, and rare variation selectors: part of the character before them."""


def _compiled(marks: str) -> re.Pattern[str]:
    """The pattern of tokens, where a letter may carry any of `marks` (the inside of a character class)."""
    letter = f"(?:[^\\W_][{marks}]*)" if marks else r"[^\W_]"
    return re.compile(_TOKEN.format(letter=letter, joiners=_IN_WORDS, extended=f"[{marks}{_EXTENDERS}]"), re.VERBOSE)


_PLAIN = _compiled("")
_KINDS = {None: "other", "emoji": "other", "other": "other", "dotted": "dotted", "number": "number", "word": "word"}


@lru_cache(maxsize=1)
def _with_marks() -> re.Pattern[str]:
    """The pattern for texts with accents, vowel signs or points of their own: these belong to their letters."""
    return _compiled(_all_marks())


@lru_cache(maxsize=1)
def _may_have_marks() -> re.Pattern[str]:
    """What to look for before the slower pattern is taken: marks, and all that lies beyond the first plane."""
    return re.compile(f"[{_all_marks(0x10000)}\U00010000-\U0010ffff]")


def _all_marks(end: int = 0x1F000) -> str:
    """The combining marks of all scripts below `end`, as the inside of a character class."""
    return "".join(chr(code) for code in range(0x300, end) if unicodedata.category(chr(code)).startswith("M"))


class Token(NamedTuple):
    """One token of a text: `text[start:end] == token.text`; kind is "word", "number", "dotted" or "other"."""

    start: int
    end: int
    text: str
    kind: str


def tokens(text: str) -> list[Token]:
    """Split into words, numbers, dotted abbreviations and single other characters, with character offsets.

    Contractions and hyphenated words stay whole, and so do letters with their marks and emoji of several code points.
    White space belongs to no token.
    """
    pattern = _PLAIN if text.isascii() or not _may_have_marks().search(text) else _with_marks()
    return [Token(m.start(), m.end(), m.group(), _KINDS[m.lastgroup]) for m in pattern.finditer(text)]


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
