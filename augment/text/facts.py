"""Numbers and names of an English sentence, each with another of its shape or kind."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from augment.text.edits import Token, matching_case
from augment.text.negation import WORDS
from augment.text.words import fixed_places, word_groups


def _others(name: str, separator: str = " ") -> dict[str, tuple[str, list[str]]]:
    """The heading of each word of a list, and the other words of its line."""
    return {
        word: (heading, [other for other in group if other != word])
        for heading, group in word_groups(name, separator)
        for word in group
    }


_NUMBERS, _NAMES = _others("numbers"), _others("names", ", ")
_HOURS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_TIMES = ("half past", "quarter past", "quarter to")
_NAME = re.compile(r"NNP|JJ")
_GLUE = frozenset("-–/\\=<>_#@~^&+([{'’")
MAX_DIGITS = 30
"""A longer number is a code, which stays."""
LAST_YEAR = 2025
"""No year of the past becomes one that is later."""
_LATE = frozenset(["29", "30", "31"])
_DAY = re.compile(r"([12]?\d|3[01])(st|nd|rd|th)?$")
_DIGITS = re.compile(r"\d+")


class Change(NamedTuple):
    """The tokens from place `first` to before place `end` become `new`."""

    first: int
    end: int
    new: str


def numbers(tokens: Sequence[Token], tags: Sequence[str], rng: random.Random) -> list[Change]:
    """Another number for each that can change alone: in digits or words, dates, times, ordinals.

    None for "1".
    """
    fixed = fixed_places("number", tokens, tags)
    changes, tags = [], [*tags, "", ""]
    for place, (_, _, text, kind) in enumerate(tokens):
        is_day = _is_in_month(tokens, place)
        if place in fixed or _is_glued(tokens, place) or not (is_day or _is_free(tokens, place)):
            continue
        word, new = text.lower(), None
        if kind == "number":
            new = _other_digits(text, rng, 28 if is_day else 0)
        elif word in _NUMBERS and (text == word or place == 0):
            is_ordinal = (
                tags[place] == "JJ"
                and tags[place - 1] in ("DT", "PRP$", "PRP")
                and tags[place + 1] in ("NN", "NNS")
            )
            others = _HOURS if _is_hour(tokens, place) else _NUMBERS[word][1]
            if is_ordinal or tags[place] in ("CD", "NNS"):
                new = rng.choice([other for other in others if other != word])
        changes += [Change(place, place + 1, matching_case(text, new))] if new else []
    return changes


def _is_in_month(tokens: Sequence[Token], place: int) -> bool:
    """Whether a month stands before or after a day: May 3, the 3rd of May."""
    beside = [*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 3]]
    is_month = any(_NAMES.get(token.text, ("",))[0] == "months" for token in beside)
    return is_month and _DAY.match(tokens[place].text) is not None


def _is_free(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number is no part of a name, a version or an address: Apollo 11, 10 Downing Street."""
    beside = [*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 2]]
    return not any(token.text[:1].isupper() and (token.start > 0 or token.text.isupper()) for token in beside)


def _is_hour(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number word names an hour: half past seven, a quarter to eight."""
    before = [token.text.lower() for token in tokens[max(place - 2, 0) : place]]
    return " ".join(before) in _TIMES or before[-1:] == ["at"]


def names(tokens: Sequence[Token], tags: Sequence[str], rng: random.Random) -> list[Change]:
    """Another name for each person, place, month or weekday of the lists that is no part of a longer name."""
    fixed = fixed_places("name", tokens, tags)
    changes, texts, end, tags = list[Change](), [token.text for token in tokens], 0, [*tags, "", ""]
    counts = Counter(texts)
    for first, text in enumerate(texts):
        is_name = _NAME.match(tags[first]) and not _is_glued(tokens, first)
        if first < end or first in fixed or counts[text] > 1 or not is_name:
            continue
        pair = " ".join(texts[first : first + 2])
        last = first + (pair in _NAMES)
        kind, others = _NAMES.get(pair) or _NAMES.get(text, ("", []))
        before, after = texts[max(first - 2, 0) : first], "".join(texts[last + 1 : last + 2])
        is_titled = text.istitle() and not WORDS["titles"].isdisjoint(map(str.lower, before))
        if is_titled and not kind and text.isalpha() and len(text) > 2 and text.lower() not in WORDS["titles"]:
            others = _NAMES["Adams"][1]
        is_long = after[:1].isupper() or (tags[first - 1].startswith("NNP") and not is_titled)
        is_surname = kind == "surnames" and not is_titled
        is_person = (
            kind == "nationalities" and tags[last + 1][:2] not in ("NN", "JJ") and tags[first - 1][:2] != "VB"
        )
        is_actor = kind == "countries" and tags[last + 1].startswith("VB")  # others may have done the same
        # Not every month has such a day.
        beside = [word[:2] for word in texts[max(first - 2, 0) : last + 2]]
        is_late = kind == "months" and not _LATE.isdisjoint(beside)
        new = [other for other in others if other not in counts]
        if new and not (is_long or is_surname or is_person or is_actor or is_late):
            end = last + 1
            changes.append(Change(first, end, rng.choice(new)))
    return changes


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
    before, digits, rest = text[: group.start()], group.group(), text[group.end() :]
    value, head = int(digits), digits.rstrip("0")
    # The new number is from `low` to `high`, and stands for the `head`.
    low, high = 10 ** (len(head) - 1), 10 ** len(head) - 1
    if _DIGITS.search(before):  # 1,072 and 0.03, but not $072
        low = 0
    if len(head) == 1:
        low = 2
    if text == digits and re.fullmatch(r"(1[89]|20)\d\d", digits):
        low, high, head = value - 15, min(value + 15, max(value, LAST_YEAR)), digits
    elif ":" in before:
        low, high, head = 2, 59, digits
    elif most or (":" in text and value <= 12):
        low, high, head = 2, most or 12, digits
    elif ":" in text and value < 24:
        low, high, head = 13, 23, digits
    choices = [
        number for number in range(low, min(high, low + 9999) + 1) if number != int(head) and number % 10
    ]
    width = len(head) if before else 0
    new = f"{rng.choice(choices):0{width}d}{digits[len(head) :]}"
    if rest in ("st", "nd", "rd", "th"):
        rest = "th" if new[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(new[-1], "th")
    return before + new + rest
