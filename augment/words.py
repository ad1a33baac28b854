"""Which words of a text a view may replace (no digits, single letters, acronyms or names), and how many."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Sequence

from augment.edits import Token

_CLOSED_CLASS = """
a about above across after afterwards again against all almost alone along already also although always am among
amongst an and another any anybody anyhow anyone anything anyway anywhere are around as at away be became because
become becomes becoming been before beforehand behind being below beneath beside besides between beyond both but by
can cannot could dare despite did do does doing done down due during each eight either eleven else elsewhere enough
etc even ever every everybody everyone everything everywhere except few fewer fifteen fifty first five for former
forty four from further get gets getting given going got had has have having he hence her here hers herself him
himself his how however hundred i if in indeed instead into is it its itself just last latter least less lest like
many may maybe me meanwhile might million mine more moreover most mostly much must my myself namely near need
neither never nevertheless next nine no nobody none nonetheless noone nor not nothing notwithstanding now nowhere
of off often on once one ones only onto or other others otherwise ought our ours ourselves out over own per perhaps
please plus quite rather really regarding same second seem seemed seems seven several shall she should since six so
some somebody somehow someone something sometime sometimes somewhere still such ten than that the their theirs them
themselves then thence there thereafter thereby therefore these they third this those though thousand three through
throughout thus till to together too toward towards twelve twenty two under underneath unless unlike until up upon
us used various versus very via was we well were what whatever when whenever where whereas wherever whether which
whichever while who whoever whole whom whose why will with within without would yes yet you your yours yourself
yourselves zero billion okay ok mr mrs ms dr ca wo sha gon wan gotta wanna gonna
"""
FUNCTION_WORDS = frozenset(_CLOSED_CLASS.split())
"""Closed-class English words, numerals, auxiliaries and titles: no synonym of them keeps a sentence."""

_NEGATIONS = "no not never none nobody nothing neither nor nowhere without hardly scarcely barely"
NEGATIONS = frozenset(_NEGATIONS.split())
"""Words that turn a sentence's meaning around when they come or go."""
SPECIAL_TOKENS = re.compile(
    r"\[(?:MASK|UNK|PAD|CLS|SEP|BOS|EOS)\]"  # BERT
    r"|</?s>|<(?:mask|unk|pad|bos|eos|extra_id_\d+)>"  # RoBERTa, XLM-R, Marian, T5
    r"|<\|\w+\|>"  # GPT
    r"|>>\w+<<"  # Marian's target languages
    r"|[⁇▁]",  # SentencePiece's unknown piece and word mark
    re.IGNORECASE,
)
"""Tokens of language models that are no text."""
_GLUE = frozenset("#@/\\=<>|~^&+")
_GLUE_INSIDE = frozenset("-:.\u2010\u2011'’")
"""Characters that join what touches them on both sides."""
_SENTENCE_ENDS = frozenset(".!?…:\"“”‘'«»([{*-–—•")


def special_tokens(text: str) -> Counter[str]:
    """How often a text has each special token, in lower case."""
    return Counter(token.lower() for token in SPECIAL_TOKENS.findall(text))


def rounded(number: float, draw: random.Random) -> int:
    """A whole number next to `number`, drawn so that its mean is `number`: 1.2 is 2 in a fifth of the draws."""
    whole = math.floor(number)
    return whole + (draw.random() < number - whole)


def replaceable(tokens: Sequence[Token]) -> list[int]:
    """Positions in `tokens` of plain words that are no digits, single letters, acronyms or proper names.

    A capital inside a sentence marks a name; at the beginning of one it says nothing. Parts of addresses, tags and
    compounds ("#word", "U.S.-led") are left out, function words are included.
    """
    return [
        index
        for index, token in enumerate(tokens)
        if _plain(token) and not _named(tokens, index) and not _glued(tokens, index)
    ]


def _glued(tokens: Sequence[Token], index: int) -> bool:
    """Whether a token is a part of something longer: "#word", "U.S.-led", "http://…", "3-year"."""
    return _joined(tokens, index, -1) or _joined(tokens, index, 1)


def _joined(tokens: Sequence[Token], index: int, step: int) -> bool:
    if not 0 <= index + step < len(tokens) or not _touch(tokens, index, step):
        return False
    neighbour = tokens[index + step]
    if neighbour.kind != "other" or neighbour.text in _GLUE:
        return True
    beyond = index + 2 * step
    inside = 0 <= beyond < len(tokens) and _touch(tokens, index + step, step)
    return inside and neighbour.text in _GLUE_INSIDE


def _touch(tokens: Sequence[Token], index: int, step: int) -> bool:
    first, second = sorted((tokens[index], tokens[index + step]))
    return first.end == second.start


def starts_sentence(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token at `index` is the first of a sentence, as far as punctuation tells."""
    return index == 0 or tokens[index - 1].text in _SENTENCE_ENDS


def _plain(token: Token) -> bool:
    return token.kind == "word" and len(token.text) > 1 and token.text.isalpha()


def _named(tokens: Sequence[Token], index: int) -> bool:
    word = tokens[index].text
    if word.islower():
        return False
    if word[1:].islower():
        return not starts_sentence(tokens, index)
    return any(letter.isupper() for letter in word)
