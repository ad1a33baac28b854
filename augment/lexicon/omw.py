"""Synonyms in languages other than English, by NLTK's Open Multilingual WordNet (Bond and Foster 2013)."""

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from augment.errors import InputError
from augment.lexicon.synonyms import Weighted
from augment.lexicon.wordnet import WordNet, find
from augment.models.weights import revision_of
from augment.text.edits import Token
from augment.text.words import is_alphabetic, replaceable

if TYPE_CHECKING:
    from nltk.corpus.reader.api import CorpusReader

OMW = "omw-1.4"
_LEMMA = re.compile(r"^(\d+)-(\w)\t(?:[^\t\n]*:)?lemma\t([^\t\n]*)", re.MULTILINE)
"""A line of a table: an offset, a part of speech, a label such as "fra:lemma", and a word."""
LEAST_SHARE = 0.3
"""The least share of a sense in the uses of a word, for its words to be synonyms."""
_LANGUAGES = """
ar arb arabic, bg bul, ca cat catalan, da dan danish, el ell greek, es spa spanish, eu eus basque, fi fin finnish,
fr fra french, gl glg, he heb hebrew, hr hrv, id ind indonesian, is isl, it ita italian, ja jpn, lt lit, ms zsm,
nb nob norwegian, nl nld dutch, nn nno norwegian, pl pol, pt por portuguese, ro ron romanian, sk slk, sl slv slovene,
sq als, sv swe swedish, th tha, zh cmn chinese
"""
LANGUAGES = [entry.split() for entry in _LANGUAGES.split(",")]
"""The languages of OMW 1.4: a code of two letters, OMW's own of three, and the name of NLTK's stop words, if
any."""


class Multilingual:
    """Synonyms in a language of OMW ("fr" or "fra"), of dictionary forms only.

    Raises InputError if it is missing.
    """

    def __init__(self, language: str) -> None:
        code = {short: code for short, code, *_ in LANGUAGES}.get(language, language)
        corpus = tables()
        files = {file.rpartition("-")[2].removesuffix(".tab"): file for file in reversed(corpus.fileids())}
        if code not in files:
            codes = ", ".join(sorted(short for short, code, *_ in LANGUAGES if code in files)) or "none"
            raise InputError(
                f"language {language!r}: this Open Multilingual WordNet does not have it; it has: {codes}"
            )
        stop_words, content = _stop_words(code), corpus.raw(files[code])
        self.revision = revision_of("\n".join([content, *sorted(stop_words)]).encode())
        """Twelve hex digits that identify the language's table and stop words."""
        self._wordnet = WordNet(find())
        # Synsets by word, and words by synset; a synset's key is its part and offset.
        self._senses: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self._words: dict[tuple[str, int], list[str]] = defaultdict(list)
        for place, part, entry in _LEMMA.findall(content):
            key, word = (part.replace("s", "a"), int(place)), entry.strip().replace(" ", "_")
            if self._wordnet.has_synset(*key):
                self._words[key].append(word)
                if word.lower() not in stop_words:
                    self._senses[word.lower()].append(key)
        self._synonyms = lru_cache(maxsize=50_000)(self._synonyms_of)

    def choices(self, rows: Sequence[Sequence[Token]]) -> list[dict[int, Weighted]]:
        """The eligible words of each text by their place among its tokens, each with its synonyms."""
        return [
            {place: words for place in replaceable(row) if (words := self._synonyms(row[place].text.lower()))}
            for row in rows
        ]

    def _synonyms_of(self, word: str) -> Weighted:
        """Words that share a main sense with `word` as its likeliest part of speech, by the counts of English words."""
        senses: dict[str, dict[tuple[str, int], float]] = defaultdict(dict)
        for key in self._senses.get(word, ()):
            uses = 0.5 + sum(entry.uses for entry in self._wordnet.synset(*key).entries)
            senses[key[0]][key] = uses
        likeliest = max(senses.values(), key=lambda part: sum(part.values()), default={})
        total = sum(likeliest.values())
        weights: dict[str, float] = defaultdict(float)
        for key, uses in likeliest.items():
            if uses < LEAST_SHARE * total or self._wordnet.synset(*key).unwanted:
                continue
            for name in dict.fromkeys(self._words[key]):
                if len(name) > 1 and name != word and is_alphabetic(name) and name == name.lower():
                    weights[name] += (uses / total) ** 2
        return tuple(sorted(weights.items()))


@lru_cache(maxsize=1)
def tables() -> "CorpusReader":
    """OMW's tables, for `wordnet.reader`; raises InputError if they are not installed."""
    from nltk.corpus.reader import CorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    loader = LazyCorpusLoader(OMW, CorpusReader, r".*/wn-data-.*\.tab")
    try:
        loader.fileids()
    except LookupError:
        how = f"run `python -m nltk.downloader {OMW}`"
        raise InputError(
            f"NLTK's Open Multilingual WordNet was not found: {how}, or use language en"
        ) from None
    return loader


def _stop_words(code: str) -> frozenset[str]:
    """NLTK's stop words of a language; none if the list is not installed."""
    from nltk.corpus.reader import WordListCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    lists = LazyCorpusLoader("stopwords", WordListCorpusReader, r"[a-z]+")
    names = [name for _, omw_code, *names in LANGUAGES for name in names if omw_code == code]
    try:
        return frozenset(lists.words(names) if {*names} & {*lists.fileids()} else ())
    except LookupError:
        return frozenset()
