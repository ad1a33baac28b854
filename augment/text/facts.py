"""Numbers and names of an English sentence, each with another of its shape or kind."""

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from augment.text.edits import Token, matching_case
from augment.text.negation import WORDS
from augment.text.words import word_groups

_NUMBERS = {word: [other for other in group if other != word] for _, group in word_groups("numbers") for word in group}
_HOURS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_TIMES = [["half", "past"], ["quarter", "past"], ["quarter", "to"]]
_NAME = re.compile(r"NNP|JJ")
_GLUE = frozenset("-–/\\=<>_#@~^&+([{'’")
MAX_DIGITS = 30
"""A longer number is a code, which stays."""
_DIGITS = re.compile(r"\d+")


class Change(NamedTuple):
    """The tokens from place `first` to before place `end` become `new`."""

    first: int
    end: int
    new: str


def numbers(tokens: Sequence[Token], tags: Sequence[str], rng: random.Random) -> list[Change]:
    """Another number for each that can change alone: in digits or words, dates, times, ordinals; none for "1"."""
    changes, tags = [], [*tags, "", ""]
    for place, (_, _, text, kind) in enumerate(tokens):
        if _is_glued(tokens, place) or (tags[place] == "CD" and "CD" in (tags[place - 2], tags[place + 2])):
            continue
        is_first_word, word, new = place == 0, text.lower(), None
        if kind == "number":
            is_day = not is_first_word and _names().get(tokens[place - 1].text, ("",))[0] == "months"
            new = _other_digits(text, rng, 28 if is_day else 12 if "/" in text else 0)
        elif word in _NUMBERS and (text == word or is_first_word):
            is_ordinal = (
                tags[place] == "JJ" and tags[place - 1] in ("DT", "PRP$", "PRP") and tags[place + 1] in ("NN", "NNS")
            )
            others = [hour for hour in _HOURS if hour != word] if _is_hour(tokens, place) else _NUMBERS[word]
            new = rng.choice(others) if is_ordinal or tags[place] in ("CD", "NNS") else None
        changes += [Change(place, place + 1, matching_case(text, new))] if new else []
    return changes


def _is_hour(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number word names an hour: half past seven, a quarter to eight."""
    return [token.text.lower() for token in tokens[max(place - 2, 0) : place]] in _TIMES


def names(tokens: Sequence[Token], tags: Sequence[str], rng: random.Random) -> list[Change]:
    """Another name for each person, place, month or weekday of the lists that is no part of a longer name."""
    changes, texts, end = list[Change](), [token.text for token in tokens], 0
    for first in range(len(texts)):
        name = next((name for name in (" ".join(texts[first : first + 2]), texts[first]) if name in _names()), "")
        kind, others = _names().get(name, ("", ()))
        title, beside = texts[max(first - 2, 0) : first], texts[first + 1 + name.count(" ") :][:1]
        if is_title := not WORDS["titles"].isdisjoint(map(str.lower, title)) and texts[first].istitle():
            kind, others = ("surnames", _names()["Adams"][1]) if not kind and texts[first].isalpha() else (kind, others)
        is_long = first > 0 and tags[first - 1].startswith("NNP") and not is_title
        is_long |= kind not in ("women", "men") and bool(beside) and beside[0][:1].isupper()
        is_free = kind in ("months", "weekdays") or not (is_long or (kind == "surnames" and not is_title))
        is_name = _NAME.match(tags[first]) and not _is_glued(tokens, first) and (first or name not in ("May", "March"))
        new = [other for other in others if other not in texts]
        if new and is_free and is_name and first >= end and texts.count(texts[first]) == 1:
            end = first + 1 + name.count(" ")
            changes.append(Change(first, end, rng.choice(new)))
    return changes


@cache
def _names() -> Mapping[str, tuple[str, Sequence[str]]]:
    """The kind of each name of the list, and the others of its line."""
    groups = word_groups("names", ", ")
    return {name: (kind, [other for other in group if other != name]) for kind, group in groups for name in group}


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
        low, high, head = int(digits) - 15, int(digits) + 15, digits
    elif is_minute or int(digits) <= (12 if ":" in text else most):
        low, high, head = 2, 59 if is_minute else most or 12, digits
    choices = [number for number in range(low, min(high, low + 9999) + 1) if number != int(head) and number % 10]
    new = f"{rng.choice(choices):0{len(head) * is_later}d}{digits[len(head) :]}"
    rest = text[group.end() :]
    if rest in ("st", "nd", "rd", "th"):
        rest = "th" if new[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(new[-1], "th")
    return text[: group.start()] + new + rest
