"""Signs of a bad translation: loops, and sources that were copied instead of translated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

REPEATS = 4
"""The same three tokens so many times make a repetition, unless the source repeats itself as well."""
COPY_LEAST_WORDS = 3
"""A translation like its source was not translated; shorter texts may be names, the same everywhere."""
COPY_SIMILARITY = 0.9
"""Share of letters and digits in common, in order, from which on a text is a copy: a retry may misspell one."""


def repeats(output: Sequence[int], source: Sequence[int]) -> bool:
    """Whether the same three tokens come again and again, and not in the source as well."""
    return _most_repeated(output) >= max(REPEATS, 2 * _most_repeated(source))


def copies(text: str, source: str) -> bool:
    """Whether a text of some words is its source or nearly so, ignoring case and punctuation."""
    if len(source.split()) < COPY_LEAST_WORDS:
        return False
    first, second = _folded(text), _folded(source)
    if first == second:
        return True
    match = SequenceMatcher(None, first, second, autojunk=False)
    # The three are dearer in turn, and each is at most the one before.
    return all(share() >= COPY_SIMILARITY for share in (match.real_quick_ratio, match.quick_ratio, match.ratio))


def _most_repeated(tokens: Sequence[int]) -> int:
    """How often the most frequent run of three tokens occurs."""
    runs = Counter(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return max(runs.values(), default=0)


def _folded(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
