"""Words that a line end breaks, as in text out of a PDF, are whole again, or have the hyphen of their own."""

from collections import Counter
from collections.abc import Sequence

import regex

from augment.text.words import MIN_COMMON_ZIPF, has_word_list

SOFT_HYPHENS = "\u00ad¬"
"""The second is what some programs write for the first."""
BROKEN_WORD = regex.compile(
    rf"(\w+)([-‐\u2011{SOFT_HYPHENS}])\n(?=(\w+))(?!(?:and|or|to|und|oder|bis|sowie|et|ou)(?![\w-]))"
)
"""The hyphen of "Vor- und Nachteile" breaks no word."""
MAX_RARER_ZIPF = 3.0
"""How much rarer a word may be than its parts: "ofthe" is a slip for words a thousand times as frequent."""
MIN_WHOLE_ZIPF = 3.0
"""How frequent a word is: "handbook" and "reopened" are, "wellknown" and "longterm" are not."""


def join_lines(lines: Sequence[str], language: str, counts: Counter[str]) -> str:
    """Join lines by spaces, but parts of a word by its hyphen or by nothing, counted as "rejoined"."""

    def joined(match: regex.Match[str]) -> str:
        head, hyphen, tail = map(str, match.groups())
        counts["rejoined"] += 1
        is_whole = hyphen in SOFT_HYPHENS or _is_one_word(head, tail, language)
        return head if is_whole else head + hyphen

    text: str = BROKEN_WORD.sub(joined, "\n".join(lines))
    return text.replace("\n", " ")


def _is_one_word(head: str, tail: str, language: str) -> bool:
    """Whether two parts are a word without the hyphen; a number or name after it keeps it."""
    is_capital = head.isupper() and tail.isupper()
    if not (head + tail).isalpha() or not (tail.islower() or is_capital):
        return False
    # What follows the hyphen of a German compound begins with a capital.
    if language == "de" or not has_word_list(language):
        return True
    from wordfreq import zipf_frequency

    whole, *parts = (zipf_frequency(word, language) for word in (head + tail, head, tail))
    rarest = min(parts)
    is_frequent = whole >= max(MIN_WHOLE_ZIPF, rarest - MAX_RARER_ZIPF)
    return bool(is_frequent or rarest < MIN_COMMON_ZIPF)
