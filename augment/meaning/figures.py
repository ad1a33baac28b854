"""What encoders do not see: another figure or gender, a negation more or less, and that half of a text is missing."""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from unicodedata import normalize

import regex
from text_to_num import alpha2digit

from augment.meaning.gender import changes_gender
from augment.text.words import NEGATIONS, STRAIGHT_QUOTES, word_groups, word_list

SPELLED = frozenset(["en", "de", "fr"])
"""The languages whose number words are read."""
DENSE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]")
"""Characters that say more than a letter does, so that a text of them is short."""
LEAST_SHARES = {20: 0.5, 8: 0.25}
"""The least share of a sentence's letters that a text must have, by how many letters a sentence needs for
that."""
NO = NEGATIONS | {"cannot", "cant", "dont", "doesnt", "didnt", "isnt", "wasnt", "arent", "wont", "unable"}
UNITS = {word: unit for unit, words in word_groups("units") for word in words}
_REWRITES = [
    (regex.compile(old), new) for old, _, new in (line.partition(" => ") for line in word_list("figures"))
]
"""What becomes of a text once number words are digits: fractions, times, dates and money are written as numbers
are."""
_REWRITABLE = regex.compile(
    r"\d|hal[fv]|demi|einhalb|anderthalb|hälfte|moitié|viertel|drittel|mal\b|twice|thrice|mio|mrd|ties\b|sixtieth"
    r"|quarter|trillion|dozen"
)
"""What a text has that one of them changes: most texts have none, and are not looked through for each."""
_VULGAR = regex.compile(r"(?=[¼-¾⅐-⅞])")
_VAGUE = regex.compile(r"\b(?=(?:hundred|thousand|million|billion)s\b)")
_GROUPED = regex.compile(r"(?<=\d)[.,’'\u00a0\u202f](?=\d{3}(?!\d))")
_DECIMAL_COMMA = regex.compile(r"(?<=\d),(?=\d)")
_WORDS = regex.compile(r"(?:\p{L}+\s*+){1,200}+")
"""What is read at once: the library's time grows with the square of a text that has many numbers."""
_SPELLED_COMMA = regex.compile(
    r"(?<=thousand|million|billion),(?= [\p{L}-]+(?: [\p{L}-]+){0,3} (?:hundred|thousand)\b)"
)
_HYPHEN = regex.compile(r"(?<=\p{L})[-‐‑](?=\w)|(?<=\w)[-‐‑](?=\p{L})")
_SCALED = regex.compile(
    r"\b(\d+(?:\.\d+)?) ?((?<=\s)(?:10{2,3}|10{6}|10{9}|10{12})|dozen|dutzend|douzaines?|bn)\b"
)
_SCALES = {"dozen": 12, "dutzend": 12, "douzaine": 12, "douzaines": 12, "bn": 10**9}
_NUMBER = regex.compile(
    r"(?P<unit>[$€£])?"
    r"(?:(?:(?P<whole>\d+) )?(?P<above>\d+)/(?P<below>\d+)|(?P<plain>\d+(?:\.\d+)?))"
    r"(?:(?P<ending>st|nd|rd|th|s)\b| ?(?P<unit>\p{L}+|[%°]))?"
    r"|many\p{L}+"  # hundreds
)
_WORD = regex.compile(r"\p{L}+(?:'\p{L}+)?")


def fault(sentence: str, text: str, source: str = "en", target: str = "en") -> str | None:
    """Why a text cannot mean what the sentence does; None if nothing says so.

    The reasons are "figures", "negation", "gender" and "shorter". Between two languages, only whole numbers
    above 9 and lengths are compared.
    """
    numbers, others = figures(sentence, source, target), figures(text, target, source)
    if numbers.keys() != others.keys():
        return "figures"
    for number, units in numbers.items():
        # A number must occur as often, and with no other unit where both texts have one.
        is_unclear = "" in (*units, *others[number])
        if len(units) != len(others[number]) or (sorted(units) != sorted(others[number]) and not is_unclear):
            return "figures"
    if source == target == "en" and is_negated(sentence) != is_negated(text):
        return "negation"
    if source == target and changes_gender(sentence, text, source):
        return "gender"
    letters = [sum(map(str.isalpha, side)) for side in (sentence, text)]
    is_short = any(
        letters[0] >= fewest and letters[1] < share * letters[0] for fewest, share in LEAST_SHARES.items()
    )
    return "shorter" if is_short and not DENSE.search(text) else None


def is_negated(text: str) -> bool:
    """Whether an English text has a negation."""
    words = _WORD.findall(text.lower().translate(STRAIGHT_QUOTES))
    return any(word in NO or word.endswith("n't") for word in words)


@lru_cache(maxsize=1 << 14)
def figures(text: str, language: str = "en", other: str = "en") -> Mapping[str | Fraction, list[str]]:
    """The numbers of a text but 0 and 1, and for each time that one occurs its unit, "" for none.

    Words are read where that is possible in both languages, its own and that of an `other` text. If these
    differ, there are whole numbers above 9 alone.

    Example:
        >>> dict(figures("Twenty-one cats ate 1.5 million mice in two days."))
        {Fraction(21, 1): [''], Fraction(1500000, 1): [''], Fraction(2, 1): ['day']}
    """
    text = _GROUPED.sub("", text.lower())
    if {language, other} <= SPELLED:
        text = _in_digits(text, language)
    numbers = defaultdict[str | Fraction, list[str]](list)
    if language != other:
        for number in regex.findall(r"\d{2,}", text):
            numbers[number].append("")
        return numbers
    for match in _NUMBER.finditer(text):
        value = _value(match)
        if value not in (0, 1):
            numbers[value].append(UNITS.get(match["unit"] or "", ""))
    return numbers


def _value(match: regex.Match[str]) -> str | Fraction:
    """The number of a match; text where it is no quantity: 24/7, 3rd, 1990s, hundreds."""
    above, below = map(int, match.group("above", "below")) if match["above"] else (0, 1)
    number = match["plain"] or match["whole"] or 0
    if above >= below or match["ending"] or (number == 0 and not above):
        return str(match.group())
    return Fraction(number) + Fraction(above, below)


def _in_digits(text: str, language: str) -> str:
    """A lower-case text with its number words as digits, and those before "million" or "dozen" multiplied."""
    plain = normalize("NFKC", _VULGAR.sub(" ", text)).replace("⁄", "/")
    is_english = language == "en"
    plain = _VAGUE.sub("many", _SPELLED_COMMA.sub("", plain)) if is_english else plain
    plain = _WORDS.sub(lambda match: alpha2digit(match[0], language, threshold=0), _HYPHEN.sub(" ", plain))
    plain = plain if is_english else _DECIMAL_COMMA.sub(".", plain)
    if _REWRITABLE.search(plain):
        for old, new in _REWRITES:
            plain = old.sub(new, plain)
    digits: str = _SCALED.sub(
        lambda match: str(Fraction(match[1]) * int(_SCALES.get(match[2], match[2]))), plain
    )
    return digits
