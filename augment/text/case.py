"""Lines in capitals or in Title Case: plain text for models, which were trained on little else, and the case back."""

from collections.abc import Callable, Collection
from functools import partial
from itertools import pairwise

from augment.text.edits import Token, apply_edits, matching_case, tokens
from augment.text.words import FUNCTION_WORDS
from augment.types import Edit

FEWEST_WORDS = 4
"""Of a line in Title Case: fewer may be a name."""


def plain_case(text: str) -> tuple[str, Callable[[str], str]]:
    """The text, in sentence case if it is all capitals or Title Case, of equal length.

    And what gives the case back.
    """
    words = [token for token in tokens(text) if token.kind == "word" and token.text != "I"]
    long_words = [token.text for token in words if len(token.text) > 1]
    if len(long_words) > 1 and all(map(str.isupper, long_words)):
        return _lowered(text, words), str.upper
    content = [word for word in long_words if word.lower() not in FUNCTION_WORDS]
    names = {word for word in long_words if _has_inner_capital(word)}
    starts = [word[:1].isupper() for word in content if word not in names]
    is_title = len(words) >= FEWEST_WORDS and len(starts) > 1 and len(content) > 2 and all(starts)
    if is_title and sum(map(str.isupper, content)) <= len(content) / 2:
        small_words = frozenset() if all(word[:1].isupper() for word in long_words) else FUNCTION_WORDS
        lowered = _lowered(text, [token for token in words if token.text not in names])
        return lowered, partial(_titled, small_words)
    return text, lambda view: view


def _has_inner_capital(word: str) -> bool:
    """Whether a capital stands behind another letter: acronyms ("US", "WHO") and names ("McDonald's", "iPhone")."""
    return any(right.isupper() and (left.isalpha() or left in "'’") for left, right in pairwise(word))


def _lowered(text: str, words: list[Token]) -> str:
    """The text with these words in lower case, but for the first word of each sentence."""
    edits, lowered, begins = list[Edit](), {*words}, True
    for token in tokens(text):
        if token in lowered and len(token.text.lower()) == len(token.text):
            lower = token.text.lower()
            edits.append(token.becomes(matching_case("X" if begins else "x", lower)))
        begins = token.text in ".!?" or (begins and token.kind == "other")
    return apply_edits(text, edits)


def _titled(small_words: Collection[str], text: str) -> str:
    """The text with a capital at every word but the small ones."""
    words = [token for token in tokens(text) if token.kind == "word"]
    titled = (token for token in words if token.start == 0 or token.text.lower() not in small_words)
    return apply_edits(text, [token.becomes(matching_case("X", token.text)) for token in titled])
