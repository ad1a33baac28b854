"""Set phrases and constructions of English, from a list: where a kind of change would say nothing, or nothing sure."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

import regex

from augment.text.edits import Token
from augment.text.words import word_groups


def fixed_places(kind: str, tokens: Sequence[Token], tags: Sequence[str]) -> set[int]:
    """The places of tokens that are in a construction of the list for that kind of change.

    A line of the list is a kind and a pattern of the words one after another: `soon|later` is one of these words in any
    case, `<VB.>` one with such a Penn tag, `...` sixty words at most, `^` and `$` are the sentence's ends, `?`
    after a tag makes its word optional, `+` repeatable.
    """
    parts = [f"{token.text}/{tag} " for token, tag in zip(tokens, tags, strict=True)]
    ends = [*accumulate(map(len, parts))]
    sentence = "".join(parts)
    spans = [
        match.span() for pattern in _patterns(kind) for match in pattern.finditer(sentence, overlapped=True)
    ]
    return {
        place
        for start, end in spans
        for place in range(bisect_right(ends, start), bisect_right(ends, end - 1) + 1)
    }


@cache
def _patterns(kind: str) -> list[regex.Pattern[str]]:
    lines = [items for name, items in word_groups("fixed") if name == kind]
    return [regex.compile(rf"(?<!\S){''.join(map(_item, items))}", regex.IGNORECASE) for items in lines]


def _item(item: str) -> str:
    """The regular expression, over words with their tags, of one item of a pattern."""
    if item in ("^", "$"):
        return item
    if item == "...":
        return r"(?:\S+ ){0,60}?"
    if item.startswith("<"):
        tags, _, repeat = item[1:].partition(">")
        return rf"(?:\S+/(?:{tags.replace('.', '[^ /]')}) ){repeat}"
    return rf"(?:{item})/\S+ "
