"""Whether another text says that somebody is a woman where the sentence says a man, or the reverse."""

from collections import Counter
from functools import cache

import regex

from augment.text.words import shared_words, word_list

LANGUAGES = {"en": "english", "de": "german", "fr": "french"}
"""The languages whose words have their gender in a list, and its folder."""

LEAST_SHARED = 0.6
"""The share of two texts' other words that both have where "he" and "she" may not change places."""


@cache
def _pattern(language: str) -> regex.Pattern[str]:
    """The words with a gender as groups `she` and `he` (pronouns), and `woman` and `man` (persons).

    Where things have a gender too, `thing` is a noun that a pronoun after it can mean.
    """
    kinds = (line.partition(": ") for line in word_list("gender", LANGUAGES[language]))
    groups = "|".join(f"(?P<{kind}>{forms})" for kind, _, forms in kinds)
    return regex.compile(rf"\b(?:{groups})\b", regex.IGNORECASE)


def changes_gender(sentence: str, text: str, language: str) -> bool:
    """Whether pronouns, persons or both have lost one gender and gained the other; False for other languages.

    In English, they may have changed places: "He is her father." and "She is his father." A neutral word, such
    as "they" or a name, is neither: it takes a gender away and adds none.

    Example:
        >>> changes_gender("She lost her keys.", "She lost his keys.", "en")
        True
        >>> changes_gender("The waitress left.", "She left.", "en")
        False
    """
    if language not in LANGUAGES:
        return False
    old = _genders(sentence, text, language)
    if not old:
        return False
    new = _genders(text, sentence, language)
    she, he, woman, man = (new[kind] - old[kind] for kind in ("she", "he", "woman", "man"))
    is_changed = she * he < 0 or woman * man < 0 or (she + woman) * (he + man) < 0
    has_both = language == "en" and new == old and old["she"] > 0 and old["he"] > 0
    return is_changed or (has_both and _is_swapped(sentence, text))


def _is_swapped(sentence: str, text: str) -> bool:
    """Whether "he" and "she" have changed places among the same other words; among others that can be right."""
    orders, others = [], []
    for side in (sentence, text):
        pronouns = [match for match in _pattern("en").finditer(side) if match.lastgroup in ("she", "he")]
        orders.append([match.lastgroup for match in pronouns])
        others.append(regex.sub(rf"\b(?:{'|'.join(match[0] for match in pronouns)})\b", "", side))
    shared = min(shared_words(*others), shared_words(*reversed(others)))
    return orders[0] != orders[1] and shared >= LEAST_SHARED


def _genders(text: str, other: str, language: str) -> Counter[str]:
    """How many words of each kind a text has, without pronouns behind a thing that the `other` text lacks.

    Such a pronoun can have its gender from the thing's name: "die Firma und ihr Haus", "das Unternehmen und
    sein Haus".
    """
    counts, is_renamed = Counter[str](), False
    for match in _pattern(language).finditer(text):
        kind = match.lastgroup or ""
        if kind == "thing":
            is_renamed = is_renamed or match[kind] not in other
        elif not is_renamed or kind in ("woman", "man"):
            counts[kind] += 1
    return counts
