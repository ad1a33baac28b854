"""The antonyms of English words, in the word's form, and whether a rewritten sentence has one."""

from collections.abc import Sequence
from itertools import product

from augment.lexicon.synonyms import PARTS, English, corrected
from augment.text.edits import Token
from augment.text.edits import words as words_of
from augment.text.english import inflect, lemmas
from augment.text.facts import Change
from augment.text.negation import WORDS
from augment.text.words import fixed_places, word_list

_ANTONYMS = {(word, part): antonym for word, part, antonym in map(str.split, word_list("antonyms"))}
"""By lemma and WordNet's part of speech: WordNet's most frequent one in the first senses, if it
contradicts."""
_PAIRS = {pair for (word, _), other in _ANTONYMS.items() for pair in ((word, other), (other, word))}


def antonyms(english: English, tokens: Sequence[Token], tags: Sequence[str]) -> list[Change]:
    """The words of a sentence, outside names and compounds, that have an antonym, with it."""
    fixed, changes = fixed_places("antonym", tokens, tags), []
    texts = [token.text.lower() for token in tokens]
    for place in english.content_words(tokens, tags):
        word, tag = texts[place], tags[place]
        lemma = english.lemma(word, tag) or ""
        antonym = None if {word, lemma} & WORDS["loose"] else _ANTONYMS.get((lemma, PARTS[tag[0]]))
        new = antonym and inflect(antonym, corrected(tag, word, lemma))
        if new and place not in fixed and new not in texts:
            changes.append(Change(place, place + 1, new))
    return changes


def contradicts(sentence: str, text: str) -> bool:
    """Whether the words that a rewritten English sentence has lost and gained have antonyms: cold for hot."""
    old, new = (
        {lemma for word in words_of(side.lower()) for lemma in lemmas(word.text)} for side in (sentence, text)
    )
    return not _PAIRS.isdisjoint(product(old - new, new - old))
