"""WordNet as a list of weighted synonyms: single words that can stand where a word stands, in its form."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from augment import wordnet
from augment.inflect import INFLECTED, inflect, is_plural_entry
from augment.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import Lemma, Synset, WordNetCorpusReader

Weighted = tuple[tuple[str, float], ...]
"""Words with weights above 0, in alphabetical order."""
Tiers = tuple[Weighted, ...]
"""The synonyms of one word: those of its dominant senses, then also those of rarer ones, at last all."""

PARTS = {"N": "n", "V": "v", "J": "a", "R": "r"}
"""The first letter of a Penn tag, and WordNet's part of speech."""
UNWANTED = frozenset(["ethnic_slur", "disparagement", "obscenity", "archaism", "dialect"])
"""WordNet's own usage labels of words that should not be written into a corpus."""
_UNWANTED_GLOSS = re.compile(
    r"\b(?:archaic|derogatory|disparaging|obscene|offensive|pejorative|vulgar)\b(?:[^;]*\bterms?\b| slang)"
    r"|\bterms? of contempt\b|\barchaic use\b"
)
_VOWEL = re.compile("[aeiou]|.y")
"""An entry without one is an abbreviation: "ft", "km", "yr"."""


class Tier(NamedTuple):
    """Which synonyms a tier takes.

    Attributes:
        share: The least share of the sense among the word's uses.
        uses: The synonym's own uses in that sense, at least.
        back: The least share of the sense among the synonym's uses.
    """

    share: float
    uses: int
    back: float


TIERS = (Tier(0.3, 5, 0.2), Tier(0.3, 1, 0.2), Tier(0.5, 0, 0.1), Tier(0.2, 1, 0.0), Tier(0.1, 0, 0.0))
"""Dominant senses and attested synonyms first, at last all but those of rare senses: a dog is seldom a frankfurter."""


class Thesaurus:
    """Synonyms from one WordNet, cached by word.

    Args:
        reader: NLTK's WordNet reader.
        folder: WordNet's folder, for its exception lists.
    """

    def __init__(self, reader: WordNetCorpusReader, folder: Path) -> None:
        self._reader = reader
        names = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
        self._lemmas_of = {part: wordnet.exceptions(folder, name) for part, name in names.items()}
        # NLTK's Lemma.count searches the file anew each time.
        self._counts = wordnet.sense_counts(folder)
        self._entries = frozenset(reader.all_lemma_names())
        self._openers = frozenset(entry.partition("_")[0] for entry in self._entries if "_" in entry)
        # Methods are cached per object, so that the cache dies with its WordNet.
        self.synonyms = lru_cache(maxsize=50_000)(self._synonyms)
        self.lemma = lru_cache(maxsize=50_000)(self._lemma)
        self.is_name = lru_cache(maxsize=50_000)(self._is_name)

    def opens_phrase(self, word: str) -> bool:
        """Whether an entry of several words begins with this one."""
        return word in self._openers

    def is_entry(self, phrase: str) -> bool:
        """Whether a phrase, its words joined by "_", stands in WordNet: "of_course", "ice_cream"."""
        return phrase in self._entries

    def _lemma(self, word: str, tag: str) -> str | None:
        """The dictionary form of a lower-case word under a Penn tag; None if WordNet does not have it."""
        part = PARTS.get(tag[:1])
        if part is None:
            return None
        irregular = self._lemmas_of[part].get(word)
        if tag in INFLECTED and irregular:
            return max(irregular, key=lambda name: self._uses(name, part))
        if tag in INFLECTED and (fitting := self._lemmas_with_form(word, part, tag)):
            return max(sorted(fitting), key=lambda name: self._uses(name, part))
        found = self._reader.morphy(word, part)
        return str(found) if found else None

    def _lemmas_with_form(self, word: str, part: str, tag: str) -> set[str]:
        """Entries whose form for a tag is this word: "swinging" is of swing, and of swinge."""
        names = {str(entry.name()) for synset in self._reader.synsets(word, part) for entry in synset.lemmas()}
        return {name for name in names if name.islower() and inflect(name, tag) == word}

    def _uses(self, lemma: str, part: str) -> int:
        entries = (entry for synset in self._reader.synsets(lemma, part) for entry in synset.lemmas())
        return sum(self._count(entry) for entry in entries if entry.name().lower() == lemma)

    def _count(self, entry: Lemma) -> int:
        return self._counts.get(entry.key(), 0)

    def _synonyms(self, word: str, tag: str) -> Tiers:
        """Words, inflected for `tag`, that share a sense with the lower-case `word`; () where it has none.

        A synonym weighs the square of the sense's share among the word's uses, times its own uses in that sense to
        the power of 1.5: of the exponents tried, those whose words kept the meaning of sentences best.
        """
        lemma = self.lemma(word, tag)
        if lemma is None:
            return ()
        part = PARTS[tag[:1]]
        tag = _corrected(tag, word, lemma)
        certain = tag not in ("VBD", "VBN") or len(self._pasts(lemma)) > 1
        tiers: list[dict[str, float]] = [defaultdict(float) for _ in TIERS]
        for synset, own, share in self._senses(lemma, part, word):
            if share < TIERS[-1].share or is_unwanted(synset):
                continue
            for other in synset.lemmas():
                form = self._form(other, tag, certain=certain) if _fits(other, own) else None
                if form is None or form in (word, lemma) or form in FUNCTION_WORDS or form not in _written_words():
                    continue
                back = next(
                    (share_of_it for one, _, share_of_it in self._senses(str(other.name()), part) if one == synset), 0.0
                )
                for weights, tier in zip(tiers, TIERS, strict=True):
                    if share >= tier.share and self._count(other) >= tier.uses and back >= tier.back:
                        weights[form] += share**2 * (self._count(other) + 0.5) ** 1.5
        return tuple(tuple(sorted(weights.items())) for weights in tiers) if tiers[-1] else ()

    def _form(self, other: Lemma, tag: str, *, certain: bool) -> str | None:
        """The form of an entry for a tag; entries that are plurals as they stand ("woods") are plurals only.

        Where the tag is not `certain`, a form that may be past or participle, no verb will do that tells them apart.
        """
        name = str(other.name())
        if tag[:1] == "N" and name.endswith(("ing", "ness")) and not self._count(other):
            return None  # "flying" is a flight, but flights are hardly flyings
        if tag[:1] == "N" and is_plural_entry(name):
            singular = name[:-2] if name.endswith("es") and name[:-2] in self._entries else name[:-1]
            return name if tag == "NNS" or singular not in self._entries else None
        if not certain and len(self._pasts(name)) > 1:
            return None
        return inflect(name, tag)

    def _pasts(self, verb: str) -> set[str | None]:
        return {inflect(verb, tag) for tag in ("VBD", "VBN")}

    def _senses(self, lemma: str, part: str, word: str = "") -> list[tuple[Synset, Lemma, float]]:
        """The senses of a lemma, itself in each, and the share of its uses; unseen senses count a little.

        Those of `word` count among them: "arms" are the plural of arm, and weapons.
        """
        synsets = {synset: None for name in (lemma, word) if name for synset in self._reader.synsets(name, part)}
        entries = [(synset, own) for synset in synsets for own in synset.lemmas() if own.name() in (lemma, word)]
        counts = [self._count(own) + 0.5 / rank for rank, (_, own) in enumerate(entries, start=1)]
        return [(synset, own, count / sum(counts)) for (synset, own), count in zip(entries, counts, strict=True)]

    def _is_name(self, word: str) -> bool:
        """Whether WordNet knows the capitalised word as a name: Bush, China."""
        return any(lemma.name() == word for lemma in self._reader.lemmas(word))


@lru_cache(maxsize=1)
def thesaurus() -> Thesaurus:
    """The thesaurus of the WordNet that `wordnet.find` gives; opened once in a process."""
    return Thesaurus(wordnet.reader(), wordnet.find())


@cache
def _written_words() -> Mapping[str, float]:
    """The English words of wordfreq's large list; WordNet has some that hardly anybody writes: xanthous, hebdomad."""
    from wordfreq import get_frequency_dict

    frequencies: Mapping[str, float] = get_frequency_dict("en", "best")
    return frequencies


def _fits(other: Lemma, own: Lemma) -> bool:
    """Whether an entry is a single plain word, unobjectionable, that can stand before a noun or not as `own` can."""
    name = str(other.name())
    return (
        len(name) > 1
        and _VOWEL.search(name) is not None
        and name != own.name()
        and name.isalpha()
        and name.islower()
        and other.syntactic_marker() in (None, own.syntactic_marker())
        and not is_unwanted(other)
    )


def is_unwanted(entry: Synset | Lemma) -> bool:
    """Whether WordNet labels a sense or word as a slur, an obscenity, or out of use."""
    domains = [domain.synset() if hasattr(domain, "synset") else domain for domain in entry.usage_domains()]
    if any(domain.name().split(".")[0] in UNWANTED for domain in domains):
        return True
    return hasattr(entry, "definition") and bool(_UNWANTED_GLOSS.search(entry.definition()))


def _corrected(tag: str, word: str, lemma: str) -> str:
    """The tag of a word, or the one of the same part of speech that its shape asks for."""
    part, shaped = PARTS[tag[:1]], _tag(PARTS[tag[:1]], word, lemma)
    if lemma != word:
        # A past form may be a participle, and only a tagger knows.
        return tag if shaped == "VBD" and tag in ("VBD", "VBN") else shaped
    return shaped if part == "v" and tag in ("VBZ", "VBG") else tag


def _tag(part: str, word: str, lemma: str) -> str:
    """The Penn tag that the shape of `word` suggests, given its lemma and part of speech."""
    if part == "n":
        return "NN" if word == lemma else "NNS"
    if part == "v":
        if word == lemma:
            return "VB"
        return "VBG" if word.endswith("ing") else "VBZ" if word.endswith("s") else "VBD"
    stem = "JJ" if part == "a" else "RB"
    if word == lemma:
        return stem
    return stem + ("S" if word.endswith("st") else "R")
