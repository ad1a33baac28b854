"""Words with their offsets, and edits of the original string; unedited text stays byte-identical."""

from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import regex

from augment.types import Edit

_LETTER = r"(?:[\p{L}\p{N}]\p{M}*)"
"""A letter with its accents, vowel signs and points."""
_VISIBLE = r"[^\s\x1c-\x1f][\p{M}\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\U000e0100-\U000e01ef]*"
"""An emoji with its skin tone, the letters of regional flags and rare variation selectors."""
_JOINER = r"['’‘.&@/_\-\u2010\u2011\u00ad\u00b7\u05f3\u05f4\u200c\u200d\u2060]"
"""Characters inside words: apostrophes, dots, hyphens; the Catalan dot, Hebrew and Persian joiners."""
_TOKEN = regex.compile(
    rf"""
    (?P<other>[0-9#*]\ufe0f?\u20e3 | [\U0001f1e6-\U0001f1ff]{{2}})      # keycaps, flags
    | (?P<dotted>(?:[\p{{L}}\p{{Nl}}\p{{No}}]\.){{2,}}(?:[\p{{L}}\p{{Nl}}\p{{No}}](?!{_LETTER}))?)  # U.S., e.g., U.S.A
    | (?P<number>[$€£¥]?\d+(?:[.,:/]\d+)*(?:%|st|nd|rd|th\b)?)(?!{_LETTER})  # 3.5%, $1,000, 10:30, 4th
    | (?P<word>{_LETTER}+(?:{_JOINER}{_LETTER}+)*)                      # don't, well-known, AT&T, example.org
    | (?P<other>{_VISIBLE}(?:\u200d{_VISIBLE})*)                        # punctuation, whole emoji
    """,
    regex.VERBOSE,
)


class Token(NamedTuple):
    """One token of a text: `text[start:end] == token.text`; kind is "word", "number", "dotted" or "other"."""

    start: int
    end: int
    text: str
    kind: str

    def becomes(self, new: str) -> Edit:
        """The edit that puts another text in its place."""
        return Edit(self.start, self.end, self.text, new)


def tokens(text: str) -> list[Token]:
    """Split into words ("don't", "well-known"), numbers, dotted abbreviations and single other characters or emoji."""
    result, end = [], 0
    for part in text.split():
        start = text.index(part, end)
        end = start + len(part)
        result += [Token(start + first, start + last, word, kind) for first, last, word, kind in _tokens(part)]
    return result


@lru_cache(maxsize=50_000)
def _tokens(part: str) -> tuple[Token, ...]:
    """The tokens of a text without white space."""
    matches = _TOKEN.finditer(part)
    return tuple(Token(match.start(), match.end(), match.group(), match.lastgroup or "") for match in matches)


def words(text: str) -> list[Token]:
    """The tokens of `text` that are words, numbers or abbreviations: no punctuation, no emoji."""
    return [token for token in tokens(text) if token.kind != "other"]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Replace `text[start:end]` by `new` for every edit, in any order; offsets are in characters of `text`.

    Raises ValueError if `old` is not the text there or two edits overlap.
    """
    parts, end = list[str](), 0
    for edit in sorted(edits):
        if not 0 <= edit.start <= edit.end <= len(text) or text[edit.start : edit.end] != edit.old:
            raise ValueError(f"{edit} does not fit: the text there is {text[max(edit.start, 0) : edit.end]!r}")
        if edit.start < end:
            raise ValueError(f"{edit} overlaps the edit that ends at {end}")
        parts += [text[end : edit.start], edit.new]
        end = edit.end
    return "".join([*parts, text[end:]])


def find_edits(text: str, view: str, split: Callable[[str], list[str]]) -> tuple[Edit, ...]:
    """The edits that turn `text` into `view`, in the pieces of `split`, which joined give a text."""
    old_pieces, new_pieces = split(text), split(view)
    starts = list(accumulate(map(len, old_pieces), initial=0))
    edits = []
    for kind, i, j, k, m in SequenceMatcher(None, old_pieces, new_pieces, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        while i < j and k < m and old_pieces[j - 1] == new_pieces[m - 1]:  # the full stop after a changed word
            j, m = j - 1, m - 1
        start, old, new = starts[i], text[starts[i] : starts[j]], "".join(new_pieces[k:m])
        while old[:1] == new[:1] and old[:1].isspace():
            start, old, new = start + 1, old[1:], new[1:]
        edits.append(Edit(start, start + len(old), old, new))
    return tuple(edits)


def matching_case(word: str, new: str) -> str:
    """`new` in the case of `word`: all capitals, capitalised, or unchanged."""
    if len(word) > 1 and word.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if word[:1].isupper() else new
