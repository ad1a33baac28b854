"""Numbers and names of an English sentence, each with another of its shape or kind."""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from augment.text.edits import Token, matching_case
from augment.text.negation import WORDS
from augment.text.patterns import fixed_places
from augment.text.words import word_groups

_NUMBERS = {
    word: [other for other in group if other != word] for _, group in word_groups("numbers") for word in group
}
_HOURS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_TIMES = [["half", "past"], ["quarter", "past"], ["quarter", "to"]]
_NAME = re.compile(r"NNP|JJ")
_GLUE = frozenset("-–/\\=<>_#@~^&+([{'’")
MAX_DIGITS = 30
"""A longer number is a code, which stays."""
LAST_YEAR = 2025
"""No year of the past becomes one that is later."""
_DAY = re.compile(r"([12]?\d|3[01])(st|nd|rd|th)?$")
_DIGITS = re.compile(r"\d+")


class Change(NamedTuple):
    """The tokens from place `first` to before place `end` become `new`."""

    first: int
    end: int
    new: str


def numbers(tokens: Sequence[Token], tags: Sequence[str], rng: random.Random) -> list[Change]:
    """Another number for each that can change alone: in digits or words, dates, times, ordinals; none for "1"."""
    fixed = fixed_places("number", tokens, tags)
    changes, tags = [], [*tags, "", ""]
    for place, (_, _, text, kind) in enumerate(tokens):
        is_day = _is_in_month(tokens, place)
        if place in fixed or _is_glued(tokens, place) or not (is_day or _is_free(tokens, place)):
            continue
        is_first_word, word, new = place == 0, text.lower(), None
        if kind == "number":
            new = _other_digits(text, rng, 28 if is_day else 0)
        elif word in _NUMBERS and (text == word or is_first_word):
            is_ordinal = (
                tags[place] == "JJ"
                and tags[place - 1] in ("DT", "PRP$", "PRP")
                and tags[place + 1] in ("NN", "NNS")
            )
            others = [hour for hour in _HOURS if hour != word] if _is_hour(tokens, place) else _NUMBERS[word]
            new = rng.choice(others) if is_ordinal or tags[place] in ("CD", "NNS") else None
        changes += [Change(place, place + 1, matching_case(text, new))] if new else []
    return changes


def _is_in_month(tokens: Sequence[Token], place: int) -> bool:
    """Whether a month stands before or after a day: May 3, the 3rd of May."""
    beside = [*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 3]]
    return any(_names().get(token.text, ("",))[0] == "months" for token in beside) and (
        _DAY.match(tokens[place].text) is not None
    )


def _is_free(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number is no part of a name, a version or an address: Apollo 11, 10 Downing Street."""
    beside = [*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 2]]
    return not any(token.text[:1].isupper() and (token.start > 0 or token.text.isupper()) for token in beside)


def _is_hour(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number word names an hour: half past seven, a quarter to eight."""
    before = [token.text.lower() for token in tokens[max(place - 2, 0) : place]]
    return before in _TIMES or before[-1:] == ["at"]


def names(tokens: Sequence[Token], tags: Sequence[str], rng: random.Random) -> list[Change]:
    """Another name for each person, place, month or weekday of the lists that is no part of a longer name."""
    fixed = fixed_places("name", tokens, tags)
    changes, texts, end, tags = list[Change](), [token.text for token in tokens], 0, [*tags, "", ""]
    counts = Counter(texts)
    for first in range(len(texts)):
        name = next(
            (name for name in (" ".join(texts[first : first + 2]), texts[first]) if name in _names()), ""
        )
        kind, others = _names().get(name, ("", ()))
        last = first + name.count(" ")
        title, beside = texts[max(first - 2, 0) : first], texts[last + 1 : last + 2]
        is_titled = not WORDS["titles"].isdisjoint(map(str.lower, title)) and texts[first].istitle()
        if is_titled and not kind and texts[first].isalpha():
            kind, others = "surnames", _names()["Adams"][1]
        is_long = first > 0 and tags[first - 1].startswith("NNP") and not is_titled
        is_long |= bool(beside) and beside[0][:1].isupper()
        is_surname = kind == "surnames" and not is_titled
        is_person = (
            kind == "nationalities" and tags[last + 1][:2] not in ("NN", "JJ") and tags[first - 1][:2] != "VB"
        )
        is_late = kind == "months" and any(_is_late(text) for text in texts[max(first - 2, 0) : last + 2])
        is_name = (
            _NAME.match(tags[first])
            and not _is_glued(tokens, first)
            and (first or name not in ("May", "March"))
        )
        is_free = not (is_long or is_surname or is_person or is_late or first in fixed)
        new = (
            [other for other in others if other not in counts] if is_free and is_name and first >= end else []
        )
        if new and counts[texts[first]] == 1:
            end = last + 1
            changes.append(Change(first, end, rng.choice(new)))
    return changes


def _is_late(text: str) -> bool:
    """Whether a day is not in every month."""
    return text[:2] in ("29", "30", "31")


@cache
def _names() -> Mapping[str, tuple[str, Sequence[str]]]:
    """The kind of each name of the list, and the others of its line."""
    groups = word_groups("names", ", ")
    return {
        name: (kind, [other for other in group if other != name]) for kind, group in groups for name in group
    }


def _is_glued(tokens: Sequence[Token], place: int) -> bool:
    """Whether a token touches another that makes it part of something longer: "F-16", "24/7", "v2.1"."""
    start, end = tokens[place].start, tokens[place].end
    before, after = tokens[max(place - 1, 0)], tokens[min(place + 1, len(tokens) - 1)]
    is_glued = before.end == start and before.text in _GLUE | {".", ":"}
    return is_glued or (after.start == end and after.text in _GLUE)


def _other_digits(text: str, rng: random.Random, most: int) -> str | None:
    """Another number of as many digits, zeros at its end kept: 1,500 and 1,700, 10:30 and 10:45, 2009 and 2013."""
    groups = [group for group in _DIGITS.finditer(text) if len(text) < MAX_DIGITS and int(group.group()) > 1]
    if not groups:
        return None
    group = groups[-1 if ":" in text else 0]
    digits, is_later, is_minute = group.group(), group.start() > 0, ":" in text[: group.start()]
    head = digits.rstrip("0")
    low, high = 2 if len(head) == 1 else 0 if is_later else 10 ** (len(head) - 1), 10 ** len(head) - 1
    if text == digits and re.fullmatch(r"(1[89]|20)\d\d", digits):
        low, high, head = int(digits) - 15, min(int(digits) + 15, max(int(digits), LAST_YEAR)), digits
    elif is_minute or most or int(digits) <= 12 * (":" in text):
        low, high, head = 2, 59 if is_minute else most or 12, digits
    choices = [
        number for number in range(low, min(high, low + 9999) + 1) if number != int(head) and number % 10
    ]
    new = f"{rng.choice(choices):0{len(head) * is_later}d}{digits[len(head) :]}"
    rest = text[group.end() :]
    if rest in ("st", "nd", "rd", "th"):
        rest = "th" if new[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(new[-1], "th")
    return text[: group.start()] + new + rest
