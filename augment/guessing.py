"""Parts of speech without a tagger: what WordNet counts for a word, corrected by the words beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from augment.edits import Token
from augment.words import FUNCTION_WORDS

PARTS = "nvar"
"""WordNet's parts of speech: noun, verb, adjective, adverb."""

_CLASSES = {
    "determiner": "a an the this that these those my your his her its our their some any no each every another both "
    "either neither such what which whose",
    "preposition": "of in on at by for with from into over under through about against between during near along "
    "across around behind beside inside outside onto off above below up down out after before without within towards "
    "toward upon as like than until since while because if when where",
    "to": "to",
    "modal": "can could will would shall should may might must do does did don't doesn't didn't cannot can't won't "
    "wouldn't couldn't shouldn't ca wo let",
    "be": "am is are was were be been being 's isn't aren't wasn't weren't it's that's there's he's she's i'm you're "
    "we're they're get gets getting got",
    "have": "has have had having i've you've we've they've hasn't haven't hadn't",
    "pronoun": "i he she we they you it who there",
    "conjunction": "and or but nor",
    "adverb": "not n't never also just still already often only even now then",
    "number": "one two three four five six seven eight nine ten several many few hundred million",
}
_CLASS_OF = {word: name for name, words in _CLASSES.items() for word in words.split()}

Scores = tuple[float, float, float, float]
_BEFORE: Mapping[str, Scores] = {
    "start": (-0.5, -0.5, 1.0, 0.0),
    "determiner": (1.5, -2.0, 1.0, -1.0),
    "preposition": (0.5, -0.5, 0.5, -0.5),
    "to": (-1.5, 2.0, -0.5, 0.0),
    "modal": (-1.0, 1.0, 0.0, 0.0),
    "be": (-1.5, 1.5, 0.0, 0.0),
    "have": (0.0, 0.5, -0.5, 0.0),
    "pronoun": (-1.0, 1.5, 0.0, 0.0),
    "conjunction": (0.0, -0.5, 0.5, 0.0),
    "adverb": (-0.5, 0.5, 0.0, 0.0),
    "number": (0.5, -1.0, 0.5, 0.0),
    "function": (0.5, -0.5, 0.0, 0.0),
    "name": (0.5, 0.5, -1.0, 0.0),
    "punctuation": (-0.5, 0.5, 0.0, 0.0),
    "n": (0.5, 0.5, -1.5, 0.5),
    "v": (0.5, -1.0, 0.5, 0.5),
    "a": (2.0, -1.5, -0.5, 0.0),
    "r": (-0.5, 0.5, 0.0, 0.0),
}
_AFTER: Mapping[str, Scores] = {
    "end": (1.0, -1.0, -0.5, 0.0),
    "determiner": (-1.0, 2.0, -0.5, 0.0),
    "preposition": (1.0, 1.0, -1.5, 0.0),
    "to": (0.0, 0.5, -0.5, 0.0),
    "modal": (0.5, -0.5, 0.0, 0.0),
    "be": (1.0, -1.0, -0.5, 0.0),
    "conjunction": (1.0, -1.0, 0.0, 0.0),
    "number": (-0.5, 0.5, 0.0, 0.0),
    "function": (-0.5, 0.5, 0.0, 0.0),
    "name": (-0.5, 0.0, 0.5, 0.0),
    "punctuation": (1.0, -1.0, -0.5, 0.0),
    "n": (-0.5, -0.5, 1.0, -0.5),
    "v": (0.0, -1.0, 1.0, 0.0),
    "a": (-0.5, 0.0, 0.5, 0.0),
    "r": (-0.5, 0.5, 0.0, 0.0),
}
_ENDINGS: Mapping[str, Scores] = {
    "ing": (0.5, 0.5, -1.5, 0.0),
    "ed": (-2.0, 2.0, 0.5, 0.0),
    "ly": (0.0, -0.5, 0.0, 0.0),
    "s": (1.0, -0.5, 0.0, -0.5),
    "": (0.5, -1.5, 1.0, 0.5),
}
"""Log-odds for noun, verb, adjective and adverb by what stands before and after and by the ending: a logistic
regression on 4,000 image captions and 4,000 STS-B training sentences tagged by NLTK's tagger, rounded to halves."""
_NEUTRAL: Scores = (0.0, 0.0, 0.0, 0.0)


class Known(Protocol):
    """What WordNet knows of words without their sentences."""

    def part_scores(self, word: str) -> Mapping[str, float]:
        """The log of each part's share among the uses of a lower-case word; empty for words that are not there."""
        ...

    def shaped_tag(self, word: str, part: str) -> str:
        """The Penn tag of a lower-case word as this part of speech, by its shape."""
        ...


def guess_tags(found: Sequence[Token], known: Known) -> list[str | None]:
    """A Penn tag for every token that WordNet knows as a content word, None for the others; from left to right."""
    classes = [_closed_class(token) for token in found]
    tags: list[str | None] = []
    before = "start"
    for index, token in enumerate(found):
        word = token.text.lower()
        scores = known.part_scores(word) if classes[index] in (None, "name") else {}
        if not scores:
            tags.append(None)
            before = classes[index] or "function"
            continue
        beside = (_BEFORE.get(before), _AFTER.get(_following(classes, found, index, known)), _ENDINGS[_ending(word)])
        part = _best(scores, (row or _NEUTRAL for row in beside))
        tag = known.shaped_tag(word, part)
        if tag == "VBD" and _is_participle(classes, tags, index):
            tag = "VBN"
        tags.append(tag)
        before = classes[index] or part
    return tags


def _closed_class(token: Token) -> str | None:
    """The class of a token that is no content word; None for content words."""
    word = token.text.lower()
    if token.kind == "number":
        return "number"
    if token.kind == "other":
        return "punctuation"
    if word in _CLASS_OF:
        return _CLASS_OF[word]
    if word in FUNCTION_WORDS:
        return "function"
    return None if token.text == word else "name"


def _following(classes: Sequence[str | None], found: Sequence[Token], index: int, known: Known) -> str:
    if index + 1 == len(found):
        return "end"
    following = classes[index + 1]
    if following is not None:
        return following
    scores = known.part_scores(found[index + 1].text.lower())
    return max(scores, key=lambda part: scores[part]) if scores else "name"


def _best(scores: Mapping[str, float], rows: Iterable[Scores]) -> str:
    total = [sum(column) for column in zip(*rows, strict=True)]
    return max(scores, key=lambda part: scores[part] + total[PARTS.index(part)])


def _ending(word: str) -> str:
    if word.endswith("ss"):
        return ""
    return next((ending for ending in ("ing", "ed", "ly", "s") if word.endswith(ending)), "")


def _is_participle(classes: Sequence[str | None], tags: Sequence[str | None], index: int) -> bool:
    """Whether a past form is a participle: after forms of be and have, inside a noun phrase, or before "by"."""
    before = index - 1
    while before >= 0 and (classes[before] == "adverb" or (tags[before] or "").startswith("RB")):
        before -= 1
    if before >= 0 and (
        classes[before] in ("be", "have", "determiner", "preposition") or (tags[before] or "").startswith("JJ")
    ):
        return True
    return index + 1 < len(classes) and classes[index + 1] == "preposition"
