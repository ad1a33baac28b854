"""Words that a view may replace (no digits, single letters, acronyms or names), and how many to replace."""

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from augment.edits import Token


def word_list(name: str) -> list[str]:
    """The lines of one of the lists in `starter/english`."""
    return (Path(__file__).parent / "starter" / "english" / f"{name}.txt").read_text(encoding="utf-8").splitlines()


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
_GLUE = frozenset("#@/\\=<>|~^&+")
_GLUE_INSIDE = frozenset("-:.\u2010\u2011'’")
"""`_GLUE` joins whatever it touches; `_GLUE_INSIDE` only what touches it on both sides."""
_SENTENCE_ENDS = frozenset(".!?…:\"“”‘'«»([{*-–—•")


def special_tokens(text: str) -> Counter[str]:
    """How often a text has each special token, in lower case."""
    return Counter(token.lower() for token in SPECIAL_TOKENS.findall(text))


def rounded(number: float, draw: random.Random) -> int:
    """`number` rounded up or down at random, with `number` as the mean: 1.2 becomes 2 in a fifth of the draws."""
    whole = math.floor(number)
    return whole + (draw.random() < number - whole)


def replaceable(tokens: Sequence[Token]) -> list[int]:
    """Positions in `tokens` of plain words, including function words but no single letters, acronyms or proper names.

    A capital marks a name, except at the beginning of a sentence. Parts of addresses, tags and compounds ("#word",
    "U.S.-led", "http://...", "3-year") are left out.
    """
    # Whether each token touches the one before it, and whether the last touches one after it.
    touches = [False, *[first.end == second.start for first, second in pairwise(tokens)], False]
    return [
        index
        for index, (_, _, word, kind) in enumerate(tokens)
        if kind == "word"
        and len(word) > 1
        and word.isalpha()
        and (word.islower() or _is_plain(tokens, index))
        and not (touches[index] and _glues(tokens[index - 1], touches[index - 1]))
        and not (touches[index + 1] and _glues(tokens[index + 1], touches[index + 2]))
    ]


def _is_plain(tokens: Sequence[Token], index: int) -> bool:
    """Whether a word with letters that are not lower-case is neither an acronym nor a name."""
    word = tokens[index].text
    if word[1:].islower():
        return index == 0 or tokens[index - 1].text in _SENTENCE_ENDS
    return not any(map(str.isupper, word))


def _glues(token: Token, touches_next: bool) -> bool:
    """Whether a token makes the word that it touches part of something longer, given if it touches another beyond."""
    _, _, text, kind = token
    return kind != "other" or text in _GLUE or (text in _GLUE_INSIDE and touches_next)
