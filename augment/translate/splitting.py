"""Split a text that is too long for a model: at sentence ends, else between clauses, else between words, else hard."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise

SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]{0,3}(?=\s+[^\sa-z])|[。！？]")
CLAUSE_END = re.compile(r"[,;:.!?–—](?=\s)|[，；：、]")
WORD_END = re.compile(r"\S(?=\s)")


def split(text: str, count: Callable[[str], int], limit: int) -> list[str]:
    """The text in pieces of at most `limit` tokens, none empty; the white space between them is left out.

    Sentences are put apart, as a translator knows them; a sentence that is too long is cut in two near its middle, and
    again as long as that is needed. A single character that is over the limit stays as it is.

    Args:
        text: Any length.
        count: Tokens of a text.
        limit: Tokens of a piece.
    """
    text = text.strip()
    if not text:
        return []
    if count(text) <= limit or len(text) == 1:
        return [text]
    places = _ends(text, SENTENCE_END) or [_middle(text)]
    pieces = [text[start:end] for start, end in pairwise([0, *places, len(text)])]
    return [short for piece in pieces for short in split(piece, count, limit)]


def _ends(text: str, pattern: re.Pattern[str]) -> list[int]:
    """Where something ends inside the text."""
    return [match.end() for match in pattern.finditer(text) if match.end() < len(text)]


def _middle(text: str) -> int:
    """The place nearest the middle where a clause ends, else a word, else a character with its combining marks."""
    middle = len(text) // 2
    for pattern in (CLAUSE_END, WORD_END):
        if ends := _ends(text, pattern):
            return min(ends, key=lambda end: abs(end - middle))
    whole = (place for place in range(middle, len(text)) if unicodedata.category(text[place]) not in ("Mn", "Me", "Cf"))
    return next(whole, middle)
