"""Synonyms in other languages than English, by NLTK's Open Multilingual WordNet (Bond and Foster 2013)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from augment import wordnet
from augment.edits import Token
from augment.errors import InputError
from augment.synonyms import TIERS, Tiers, is_unwanted
from augment.view import Edit
from augment.words import replaceable

if TYPE_CHECKING:
    from nltk.corpus.reader.api import CorpusReader
    from nltk.corpus.reader.wordnet import Synset, WordNetCorpusReader

OMW = "omw-1.4"
CODES = {
    "ar": "arb", "bg": "bul", "ca": "cat", "da": "dan", "el": "ell", "es": "spa", "eu": "eus", "fi": "fin",
    "fr": "fra", "gl": "glg", "he": "heb", "hr": "hrv", "id": "ind", "is": "isl", "it": "ita", "ja": "jpn",
    "lt": "lit", "ms": "zsm", "nb": "nob", "nl": "nld", "nn": "nno", "pl": "pol", "pt": "por", "ro": "ron",
    "sk": "slk", "sl": "slv", "sq": "als", "sv": "swe", "th": "tha", "zh": "cmn",
}  # fmt: skip
"""Two-letter codes of the languages of OMW 1.4, and its own codes of three letters."""
STOP_LISTS = {
    "arb": "arabic", "cat": "catalan", "cmn": "chinese", "dan": "danish", "ell": "greek", "eus": "basque",
    "fin": "finnish", "fra": "french", "heb": "hebrew", "ind": "indonesian", "ita": "italian", "nld": "dutch",
    "nno": "norwegian", "nob": "norwegian", "por": "portuguese", "ron": "romanian", "slv": "slovene",
    "spa": "spanish", "swe": "swedish",
}  # fmt: skip
"""Stop-word lists of NLTK's corpus `stopwords`, used where it is installed."""


class Multilingual:
    """A language of OMW: words whose surface form is a dictionary form, and synonyms as they stand there.

    Nothing is inflected: for languages that inflect much, few words are eligible.

    Args:
        language: "fr" or "fra".

    Raises:
        InputError: OMW is not installed, or does not have the language.
    """

    def __init__(self, language: str) -> None:
        self._code = CODES.get(language, language)
        corpus = _corpus(language)
        files = {file.rpartition("-")[2].removesuffix(".tab"): file for file in reversed(corpus.fileids())}
        if self._code not in files:
            known = ", ".join(sorted(short for short, code in CODES.items() if code in files)) or "none"
            raise InputError(f"language {language!r}: this Open Multilingual WordNet does not have it; it has: {known}")
        self._stop_words = _stop_words(self._code)
        with corpus.open(files[self._code]) as table:
            content = table.read()
        self.revision = hashlib.sha256("\n".join([content, *sorted(self._stop_words)]).encode()).hexdigest()[:12]
        """Twelve hex digits of the language's table and stop-word list."""
        self._reader = open_tables()
        self._counts = wordnet.sense_counts(wordnet.find())
        # Methods are cached per object, so that the cache dies with its WordNet.
        self._synonyms = lru_cache(maxsize=50_000)(self._synonyms_of)

    def choices(self, found: Sequence[Token]) -> dict[int, Tiers]:
        """The eligible words by their place among the tokens, each with its synonyms."""
        tiers = {index: self._synonyms(found[index].text.lower()) for index in replaceable(found)}
        return {index: synonyms for index, synonyms in tiers.items() if synonyms}

    def agreement(self, found: Sequence[Token], index: int, new: str) -> list[Edit]:
        """No edits: articles and endings stay as they are."""
        return []

    def _synonyms_of(self, word: str) -> Tiers:
        """Words that share a sense with `word` as its likeliest part of speech; () where it has none.

        OMW counts no senses: a sense weighs what its English words are counted.
        """
        if word in self._stop_words:
            return ()
        senses: dict[str, list[tuple[Synset, float]]] = defaultdict(list)
        for synset in self._reader.synsets(word, lang=self._code):
            uses = 0.5 + sum(self._counts.get(lemma.key(), 0) for lemma in synset.lemmas())
            senses[synset.pos().replace("s", "a")].append((synset, uses))
        if not senses:
            return ()
        likeliest = max(senses.values(), key=lambda entries: sum(uses for _, uses in entries))
        total = sum(uses for _, uses in likeliest)
        tiers: list[dict[str, float]] = [defaultdict(float) for _ in TIERS]
        for synset, uses in likeliest:
            if is_unwanted(synset):
                continue
            for name in synset.lemma_names(lang=self._code):
                if len(name) > 1 and name != word and name.isalpha() and name == name.lower():
                    for weights, tier in zip(tiers, TIERS, strict=True):
                        if uses / total >= tier.share:
                            weights[name] += (uses / total) ** 2
        return tuple(tuple(sorted(weights.items())) for weights in tiers) if tiers[-1] else ()


@lru_cache(maxsize=1)
def open_tables() -> WordNetCorpusReader:
    """NLTK's reader of WordNet with the tables of all languages; opened once in a process."""
    return wordnet.open_reader(_corpus("other than en"))


def _corpus(language: str) -> CorpusReader:
    """OMW's tables; raises InputError where they are not installed."""
    from nltk.corpus.reader import CorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    loader = LazyCorpusLoader(OMW, CorpusReader, r".*/wn-data-.*\.tab")
    try:
        loader.fileids()
    except LookupError:
        raise InputError(
            f"language {language!r}: NLTK's Open Multilingual WordNet was not found; "
            f"run `python -m nltk.downloader {OMW}`"
        ) from None
    return loader


def _stop_words(code: str) -> frozenset[str]:
    """NLTK's stop words of a language; none where the list is not installed."""
    from nltk.corpus.reader import WordListCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    name = STOP_LISTS.get(code)
    try:
        lists = LazyCorpusLoader("stopwords", WordListCorpusReader, r"(?!README|\.).*")
        return frozenset(lists.words(name)) if name in lists.fileids() else frozenset()
    except LookupError:
        return frozenset()
