"""Words that a view may replace, and how many: no digits, single letters, acronyms, names or set phrases."""

import math
import random
import re
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, pairwise

import regex

from augment.files import STARTER
from augment.text.edits import Token


def word_list(name: str, language: str = "english") -> list[str]:
    """The lines of one of the lists in `starter/english`, or in the folder of another language."""
    return (STARTER / language / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def word_groups(name: str, separator: str = " ") -> list[tuple[str, list[str]]]:
    """The lines of a list whose words have a heading: the heading, and its words."""
    parts = (line.partition(": ") for line in word_list(name))
    return [(heading, words.split(separator)) for heading, _, words in parts]


FUNCTION_WORDS = frozenset(word_list("function_words"))
"""Closed-class English words, numerals, auxiliaries and titles: replacing one breaks the sentence."""

_NEGATIONS = "no not never none nobody nothing neither nor nowhere without hardly scarcely barely"
NEGATIONS = frozenset(_NEGATIONS.split())
"""Words that reverse a sentence's meaning when they are added or removed."""
SPECIAL_TOKENS = re.compile(
    r"\[(?:MASK|UNK|PAD|CLS|SEP|BOS|EOS)\]"  # BERT
    r"|</?s>|<(?:mask|unk|pad|bos|eos|extra_id_\d+)>"  # RoBERTa, XLM-R, Marian, T5
    r"|<\|\w+\|>"  # GPT
    r"|>>\w+<<"  # Marian's target languages
    r"|[⁇▁]",  # SentencePiece's unknown piece and word mark
    re.IGNORECASE,
)
"""Special tokens of language models."""
STRAIGHT_QUOTES = dict.fromkeys(map(ord, "‘’‚‛"), "'") | dict.fromkeys(map(ord, "“”„‟"), '"')
"""For `str.translate`: typographic quotation marks and apostrophes as keyboards have them."""
_LETTERS = regex.compile(r"(?:\p{L}\p{M}*+)++(?:['’](?:\p{L}\p{M}*+)++)*+")
MIN_COMMON_ZIPF = 2.5
"""The least Zipf frequency (the logarithm of occurrences in a billion words) of a common word."""
_GLUE = frozenset("#@/\\=<>|~^&+")
_GLUE_INSIDE = frozenset("-:.\u2010\u2011'’")
"""`_GLUE` joins whatever it touches; `_GLUE_INSIDE` only what touches it on both sides."""
_LITERALS = regex.compile(r"(?:\(\?:)?((?:[\w'-]++\??+\|?+)++)\)?(?:\(\?[=!<].*)?")
"""An item of a pattern that is one of some words, whatever must stand around it."""
_OPTIONAL = regex.compile(r".\?")
Pattern = tuple[str, ...]
"""The items of a pattern over words and tags, as in `matches`."""
_SENTENCE_ENDS = frozenset(".!?…:\"“”‘'«»([{*-–—•")


def special_tokens(text: str) -> Counter[str]:
    """How often a text has each special token, in lower case."""
    return Counter(token.lower() for token in SPECIAL_TOKENS.findall(text))


def rounded(number: float, rng: random.Random) -> int:
    """`number` rounded up or down at random, with `number` as the mean: 1.2 becomes 2 in a fifth of the draws."""
    integer = math.floor(number)
    return integer + (rng.random() < number - integer)


def replaceable(tokens: Sequence[Token]) -> list[int]:
    """Positions in `tokens` of plain words, including function words but no single letters, acronyms or proper names.

    A capital marks a name, except at the beginning of a sentence. Parts of addresses, tags and compounds
    ("#word", "U.S.-led", "http://...", "3-year") are left out.
    """
    return [
        index
        for index in plain_places(tokens)
        if tokens[index].kind == "word" and len(tokens[index].text) > 1 and is_alphabetic(tokens[index].text)
    ]


def plain_places(tokens: Sequence[Token]) -> list[int]:
    """The same for any tokens: also numbers, punctuation, single letters, "I'm" and "don't"."""
    # Whether each token touches the one before it, and whether the last touches one after it.
    touches = [False, *[left.end == right.start for left, right in pairwise(tokens)], False]
    return [
        index
        for index, token in enumerate(tokens)
        if token.kind == "other"
        or (
            _is_plain(tokens, index)
            and not (touches[index] and _glues(tokens[index - 1], touches[index - 1]))
            and not (touches[index + 1] and _glues(tokens[index + 1], touches[index + 2]))
        )
    ]


def is_alphabetic(word: str) -> bool:
    """Whether a word is made of letters of any script, with their accents and vowel signs, and nothing else."""
    return word.isalpha() or (
        not word.isascii() and all(unicodedata.category(letter)[0] in "LM" for letter in word)
    )


def in_capitals(text: str) -> bool:
    """Whether half of the words of three letters or more have a capital, so that names cannot be told apart."""
    words = [word for word in _LETTERS.findall(text) if len(word) > 2]
    return bool(2 * sum(word[0].isupper() for word in words) >= max(len(words), 3))


def _is_plain(tokens: Sequence[Token], index: int) -> bool:
    """Whether a token is neither an acronym nor a name."""
    word = tokens[index].text
    if not any(map(str.isupper, word)) or word[:2] in ("I", "I'", "I’"):
        return True
    begins = index == 0 or tokens[index - 1].text in _SENTENCE_ENDS
    return begins and not any(map(str.isupper, word[1:]))


def _glues(token: Token, touches_next: bool) -> bool:
    """Whether a token joins the word that it touches to something longer.

    `touches_next`: a token on its other side.
    """
    _, _, text, kind = token
    return kind != "other" or text in _GLUE or (text in _GLUE_INSIDE and touches_next)


@cache
def has_word_list(language: str) -> bool:
    """Whether wordfreq has a list of a language's words, and spaces separate them."""
    from wordfreq import available_languages

    # wordfreq itself would take a related language instead, or English.
    return language in available_languages() and language not in ("ja", "ko", "zh")


def has_non_word(text: str, language: str, sentence: str, *, compounds: bool = False) -> bool:
    """Whether a word of three letters or more is neither in `sentence` nor in wordfreq's list, if any."""
    if not has_word_list(language):
        return False
    words = {*_lower_words(text)} - {*_lower_words(sentence)}
    return not all(_is_word(word, language, compounds) for word in words if len(word) > 2)


def is_rather(other: str, text: str, language: str) -> bool:
    """Whether the words of a text are more frequent in another language, as far as wordfreq has both."""
    if language == other or not (has_word_list(language) and has_word_list(other)):
        return False
    from wordfreq import zipf_frequency

    def commonness(code: str) -> float:
        return sum(float(zipf_frequency(word, code)) for word in _lower_words(text))

    return commonness(other) > commonness(language)


@lru_cache(maxsize=100_000)
def _is_word(word: str, language: str, compounds: bool) -> bool:
    from wordfreq import zipf_frequency

    def is_common(part: str) -> bool:
        return len(part) > 2 and zipf_frequency(part, language) >= MIN_COMMON_ZIPF

    parts = ((word[:end], word[end:]) for end in range(3, len(word) - 2) if compounds)
    return zipf_frequency(word, language) > 0 or any(
        is_common(head) and is_common(tail) for head, tail in parts
    )


def shared_words(text: str, sentence: str) -> float:
    """The share, 0 to 1, of a text's words that the sentence has too."""
    sentence_words, words = {*_lower_words(sentence)}, _lower_words(text)
    return sum(word in sentence_words for word in words) / max(len(words), 1)


def _lower_words(text: str) -> list[str]:
    return [word.lower() for word in _LETTERS.findall(text)]


def matches(
    index: Mapping[str, Sequence[Pattern]], tokens: Sequence[Token], tags: Sequence[str]
) -> Iterator[tuple[Pattern, list[range]]]:
    """The patterns that a sentence matches, each with the places of the tokens of all and of its groups.

    A pattern's items are words one after another: `soon|later` is one of these words in any case, `<VB.>` one
    with such a Penn tag, `...` sixty words at most, `^` and `$` are the sentence's ends, `?` after a tag makes
    its word optional, `+` repeatable; `(` and `)` are a group. `index` is of `by_needed_word`.
    """
    parts = [f"{token.text}/{tag} " for token, tag in zip(tokens, tags, strict=True)]
    sentence, ends = "".join(parts), [*accumulate(map(len, parts))]
    words = {token.text.casefold().partition("/")[0] for token in tokens}
    for pattern in {pattern for word in ("", *words) for pattern in index.get(word, ())}:
        for match in _compiled(pattern).finditer(sentence, overlapped=True):
            spans = match.regs
            yield (
                pattern,
                [range(bisect_right(ends, start), bisect_right(ends, end - 1) + 1) for start, end in spans],
            )


def fixed_places(kind: str, tokens: Sequence[Token], tags: Sequence[str]) -> set[int]:
    """The places of tokens that are in a construction of the list for that kind of change.

    A line of the list is a kind and a pattern, as in `matches`.
    """
    return {place for _, spans in matches(_patterns(kind), tokens, tags) for place in spans[0]}


@cache
def _compiled(pattern: Pattern) -> regex.Pattern[str]:
    return regex.compile(rf"(?<!\S){''.join(map(_item, pattern))}", regex.IGNORECASE)


@cache
def _patterns(kind: str) -> Mapping[str, list[Pattern]]:
    return by_needed_word(tuple(items) for name, items in word_groups("fixed") if name == kind)


def by_needed_word(patterns: Iterable[Pattern]) -> Mapping[str, list[Pattern]]:
    """Patterns by the words of which a sentence must have one; by "" those that need none."""
    index = defaultdict[str, list[Pattern]](list)
    for pattern in patterns:
        groups = filter(None, map(_literals, pattern))
        for word in min(groups, key=lambda group: len(group & FUNCTION_WORDS), default=[""]):
            index[word].append(pattern)
    return index


def _literals(item: str) -> frozenset[str]:
    """The words of an item that is one of some words, none of one that is not."""
    match = _LITERALS.fullmatch(item)
    words = match[1].split("|") if match else []
    return frozenset(form for word in words for form in (word.replace("?", ""), _OPTIONAL.sub("", word)))


def _item(item: str) -> str:
    """The regular expression, over words with their tags, of one item of a pattern."""
    if item in ("^", "$", "(", ")"):
        return item
    if item == "...":
        return r"(?:\S+ ){0,60}?"
    if item.startswith("<"):
        tags, _, repeat = item[1:].partition(">")
        return rf"(?:\S+/(?:{tags.replace('.', '[^ /]')}) ){repeat}"
    return rf"(?:{item})/\S+ "
