"""Words with their offsets, and edits of the original string: what is not edited stays byte-identical."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

import regex

from augment.view import Edit

_JOINERS = "'’‘.&@/_\\-\u2010\u2011\u00ad\u00b7\u05f3\u05f4\u200c\u200d\u2060"
"""What joins letters to one word: apostrophes, dots, hyphens; the Catalan dot, Hebrew and Persian joiners."""
_TOKEN = r"""
    (?P<emoji>[0-9#*]\ufe0f?\u20e3 | [\U0001f1e6-\U0001f1ff]{{2}})      # keycaps, flags
    | (?P<dotted>(?:{alphabetic}\.){{2,}}(?:{alphabetic}(?!{letter}))?) # U.S., e.g., U.S.A
    | (?P<number>[$€£¥]?\d+(?:[.,:/]\d+)*(?:%|st|nd|rd|th\b)?)(?!{letter})  # 3.5%, $1,000, 10:30, 4th
    | (?P<word>{letter}+(?:[{joiners}]{letter}+)*)                      # don't, well-known, AT&T, example.org
    | (?P<other>{visible}{extender}*(?:\u200d{visible}{extender}*)*)     # punctuation, whole emoji
    """
_ASCII = re.compile(
    _TOKEN.format(alphabetic=r"[^\W\d_]", letter=r"[^\W_]", joiners=_JOINERS, visible=r"\S", extender=r"[^\s\S]"),
    re.VERBOSE,
)
# Letters keep their accents, vowel signs and points; emoji their skin tones, the letters of regional flags and rare
# variation selectors.
_UNICODE = regex.compile(
    _TOKEN.format(
        alphabetic=r"[\p{L}\p{Nl}\p{No}]",
        letter=r"(?:[\p{L}\p{N}]\p{M}*)",
        joiners=_JOINERS,
        visible=r"[^\s\x1c-\x1f]",
        extender=r"[\p{M}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef]",
    ),
    regex.VERBOSE,
)
_KINDS = {"emoji": "other", "other": "other", "dotted": "dotted", "number": "number", "word": "word"}


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
    pattern = _ASCII if text.isascii() else _UNICODE
    found = pattern.finditer(text)
    return [Token(each.start(), each.end(), each.group(), _KINDS[each.lastgroup or ""]) for each in found]


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


def find_edits(text: str, view: str) -> tuple[Edit, ...]:
    """The edits, in whole tokens and the white space between them, that turn `text` into `view`; none if equal."""
    before, after = _spaced_tokens(text), _spaced_tokens(view)
    starts = [0]
    for piece in before:
        starts.append(starts[-1] + len(piece))
    edits = []
    # Punctuation is "junk": a comma alone is no place where two texts meet.
    matcher = SequenceMatcher(lambda piece: not any(map(str.isalnum, piece)), before, after, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            continue
        while i < j and k < m and before[j - 1] == after[m - 1]:  # the full stop after a changed word
            j, m = j - 1, m - 1
        edits.append(_trimmed(starts[i], text[starts[i] : starts[j]], "".join(after[k:m])))
    return tuple(edits)


def matching_case(word: str, new: str) -> str:
    """Return `new` in the case of `word`: all capitals, a capital first, or as it is."""
    if len(word) > 1 and word.isupper():
        return new.upper()
    if word[:1].isupper():
        return new[:1].upper() + new[1:]
    return new


def _spaced_tokens(text: str) -> list[str]:
    """Tokens, each with the white space before it, so that a space alone never counts as what both texts share."""
    pieces, end = [], 0
    for token in tokens(text):
        pieces.append(text[end : token.end])
        end = token.end
    return [*pieces, text[end:]] if end < len(text) else pieces


def _trimmed(start: int, old: str, new: str) -> Edit:
    """An edit without the white space that both sides begin with."""
    spaces = 0
    while spaces < min(len(old), len(new)) and old[spaces] == new[spaces] and old[spaces].isspace():
        spaces += 1
    return Edit(start + spaces, start + len(old), old[spaces:], new[spaces:])
