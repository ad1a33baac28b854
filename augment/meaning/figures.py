"""What encoders do not see: another figure, a negation more or less, and that half of a text is missing."""

from collections import Counter

import regex

from augment.text.words import NEGATIONS, STRAIGHT_QUOTES

SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
SMALL += " seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
VALUES = {word: value for value, word in enumerate(SMALL.split()) if word not in ("zero", "one")}
VALUES |= {word: 10 * place for place, word in enumerate(TENS.split(), start=2)}
"""Number words of English; "one" and "zero" are left out, as they mostly stand for something else."""
SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]")
LEAST_SHARE, FEWEST_LETTERS = 0.5, 20
"""The least share of a sentence's letters that a text must have, and how many letters a sentence needs for that."""
NO = NEGATIONS | {"cannot", "cant", "dont", "doesnt", "didnt", "isnt", "wasnt", "arent", "wont", "unable"}
_GROUPED = regex.compile(r"(?<=\d)[.,’'\u00a0\u202f](?=\d{3}(?!\d))")
_WORD = regex.compile(r"\d+|\p{L}+(?:'\p{L}+)?")


def fault(sentence: str, text: str, source: str = "en", target: str = "en") -> str | None:
    """Why a text cannot mean what the sentence does: "figures", "negation" or "shorter"; None if nothing says so.

    Of other languages than English, only figures of two digits or more are compared, and no negations.
    """
    is_english = source == target == "en"
    if figures(sentence, words=is_english) != figures(text, words=is_english):
        return "figures"
    if is_english and is_negated(sentence) != is_negated(text):
        return "negation"
    letters = [sum(map(str.isalpha, side)) for side in (sentence, text)]
    is_short = letters[0] >= FEWEST_LETTERS and letters[1] < LEAST_SHARE * letters[0]
    return "shorter" if is_short and not UNSPACED.search(text) else None


def is_negated(text: str) -> bool:
    """Whether an English text has a negation."""
    return any(word in NO or word.endswith("n't") for word in _words(text))


def figures(text: str, *, words: bool = True) -> Counter[int]:
    """How often each whole number but 0 is in a text, in digits or English words; without words, only those over 9."""
    numbers: list[int] = []
    follows = False  # whether the last word was a number in words, or in digits before a scale
    for word in _words(text) if words else regex.findall(r"\d+", _GROUPED.sub("", text)):
        value = int(word) if word.isdecimal() else VALUES.get(word)
        if word in SCALES and words:
            numbers = [*numbers[:-1], numbers[-1] * SCALES[word]] if follows else [*numbers, SCALES[word]]
        elif value is not None and follows and not word.isdecimal() and numbers[-1] % 10 == 0 and numbers[-1] > value:
            numbers[-1] += value
        elif value is not None:
            numbers.append(value)
        follows = word in SCALES or value is not None or (follows and word == "and")
    return Counter(number for number in numbers if number > (0 if words else 9))


def _words(text: str) -> list[str]:
    words: list[str] = _WORD.findall(_GROUPED.sub("", text).lower().translate(STRAIGHT_QUOTES))
    return words
