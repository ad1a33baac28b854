"""The antonyms of English words, in the word's form, and whether a rewritten sentence has one."""

from collections.abc import Sequence
from itertools import product

from augment.lexicon.synonyms import PARTS, English, corrected
from augment.text.edits import Token
from augment.text.edits import words as words_of
from augment.text.english import inflect, lemmas
from augment.text.facts import Change
from augment.text.negation import WORDS
from augment.text.patterns import fixed_places
from augment.text.words import word_list

_ANTONYMS = {(word, part): antonym for word, part, antonym in map(str.split, word_list("antonyms"))}
"""By lemma and WordNet's part of speech: WordNet's most frequent one in the first senses, if it
contradicts."""
_PAIRS = {pair for (word, _), other in _ANTONYMS.items() for pair in ((word, other), (other, word))}
_PARTICLES = frozenset(["up", "down", "out", "off", "over", "away", "back", "on", "in"])


def antonyms(english: English, tokens: Sequence[Token], tags: Sequence[str]) -> list[Change]:
    """The words of a sentence, outside names and compounds, that have an antonym, with it."""
    fixed, changes = fixed_places("antonym", tokens, tags), []
    texts, tags = [*(token.text.lower() for token in tokens), ""], [*tags, ""]
    words = {*texts}
    for place in english.content_words(tokens, tags[:-1]):
        word, tag, beside = texts[place], tags[place], (tags[place - 1], tags[place + 1])
        is_compound = any(other.startswith("NN" if tag[0] == "N" else "NNP") for other in beside)
        is_phrase = tag[0] == "V" and (beside[1] in ("RP", "TO") or texts[place + 1] in _PARTICLES)
        lemma = english.lemma(word, tag) or ""
        antonym = None if {word, lemma} & WORDS["loose"] else _ANTONYMS.get((lemma, PARTS[tag[0]]))
        new = antonym and inflect(antonym, corrected(tag, word, lemma))
        if (
            new
            and place not in fixed
            and new not in words
            and word != "including"
            and not (is_compound or is_phrase)
        ):
            changes.append(Change(place, place + 1, new))
    return changes


def contradicts(sentence: str, text: str) -> bool:
    """Whether the words that a rewritten English sentence has lost and gained have antonyms: cold for hot."""
    old, new = (
        {lemma for word in words_of(side.lower()) for lemma in lemmas(word.text)} for side in (sentence, text)
    )
    return not _PAIRS.isdisjoint(product(old - new, new - old))
