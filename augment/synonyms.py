"""WordNet as a list of weighted synonyms: single words that can stand where a word stands, in its form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from augment import wordnet
from augment.errors import InputError
from augment.inflect import Inflector

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import Synset, WordNetCorpusReader
    from nltk.tag.perceptron import PerceptronTagger

Weighted = tuple[tuple[str, float], ...]

PARTS = {"N": "n", "V": "v", "J": "a", "R": "r"}
"""The first letter of a Penn tag, and WordNet's part of speech."""
LEAST_SENSE_SHARE = 0.2
"""Senses that are rarer than this among a word's uses give no synonyms: a dog is seldom a frankfurter."""
UNWANTED = frozenset(["ethnic_slur", "disparagement", "obscenity", "archaism", "dialect"])
"""WordNet's own usage labels of words that should not be written into a corpus."""
TAGGER = "averaged_perceptron_tagger_eng"


class Thesaurus:
    """Synonyms from one WordNet, cached by word.

    Args:
        reader: NLTK's WordNet reader.
        folder: WordNet's folder, for its exception lists.
    """

    def __init__(self, reader: WordNetCorpusReader, folder: Path) -> None:
        self._reader = reader
        self._lemmas_of: dict[str, Mapping[str, Sequence[str]]] = {}
        irregular: dict[str, dict[str, list[str]]] = {}
        for part, name in (("n", "noun"), ("v", "verb"), ("a", "adj"), ("r", "adv")):
            self._lemmas_of[part] = wordnet.exceptions(folder, name)
            forms: dict[str, list[str]] = defaultdict(list)
            for form, lemmas in self._lemmas_of[part].items():
                for lemma in lemmas:
                    if lemma != form:
                        forms[lemma].append(form)
            irregular[part] = dict(forms)
        self._inflector = Inflector(irregular)
        # Methods are cached per object, so that the cache dies with its WordNet.
        self.candidates = lru_cache(maxsize=100_000)(self._candidates)
        self.tag_by_senses = lru_cache(maxsize=100_000)(self._tag_by_senses)
        self.is_entry = lru_cache(maxsize=100_000)(self._is_entry)

    def lemma(self, word: str, tag: str) -> str | None:
        """The dictionary form of a lower-case word under a Penn tag; None if WordNet does not have it."""
        part = PARTS.get(tag[:1])
        if part is None:
            return None
        inflected = tag in ("NNS", "VBZ", "VBD", "VBN", "VBG", "JJR", "JJS", "RBR", "RBS")
        irregular = self._lemmas_of[part].get(word)
        if inflected and irregular:
            return irregular[0]
        found = self._reader.morphy(word, part)
        return str(found) if found else None

    def _candidates(self, word: str, tag: str) -> Weighted:
        """Words, inflected for `tag`, that share a sense with the lower-case `word`, with weights above 0.

        A candidate weighs the share of the word's uses in that sense times the candidate's own uses in it.
        """
        lemma = self.lemma(word, tag)
        if lemma is None:
            return ()
        if lemma != word and tag in ("NN", "VB", "VBP", "JJ", "RB"):
            tag = _tag(PARTS[tag[:1]], word, lemma)  # the tagger took an inflected form for a plain one
        senses = self._senses(lemma, PARTS[tag[:1]])
        weights: dict[str, float] = defaultdict(float)
        for synset, share in senses:
            if share < LEAST_SENSE_SHARE or _unwanted(synset):
                continue
            for other in synset.lemmas():
                name = str(other.name())
                if name != lemma and len(name) > 1 and name.isalpha() and name.islower() and not _unwanted(other):
                    form = self._form(name, tag)
                    if form is not None and form not in (word, lemma):
                        weights[form] += share * (other.count() + 0.5)
        return tuple(sorted(weights.items()))

    def _form(self, name: str, tag: str) -> str | None:
        """The form of an entry for a tag; entries that are plurals as they stand ("woods") are plurals only."""
        plural = name.endswith("s") and not name.endswith(("ss", "us", "is")) and tag[:1] == "N"
        if plural and self.is_entry(name[:-1]):
            return name if tag == "NNS" else None
        return self._inflector.inflect(name, tag)

    def _tag_by_senses(self, word: str) -> str | None:
        """A Penn tag for a lower-case word without its sentence: the part of speech that WordNet counts most often."""
        best, most = None, -1.0
        for part in "nvar":
            irregular = self._lemmas_of[part].get(word)
            lemma = irregular[0] if irregular else self._reader.morphy(word, part)
            if not lemma:
                continue
            senses = self._reader.synsets(lemma, part)
            uses = sum(self._count(synset, lemma) for synset in senses) + 0.01 * len(senses)
            if uses > most:
                best, most = _tag(part, word, str(lemma)), uses
        return best

    def _is_entry(self, phrase: str) -> bool:
        """Whether a phrase, its words joined by "_", stands in WordNet: "of_course", "ice_cream"."""
        return bool(self._reader.synsets(phrase))

    def _senses(self, lemma: str, part: str) -> list[tuple[Synset, float]]:
        """The senses of a lemma with the share of its uses that each has; unseen senses count a little."""
        synsets = self._reader.synsets(lemma, part)
        counts = [self._count(synset, lemma) + 0.5 for synset in synsets]
        return [(synset, count / sum(counts)) for synset, count in zip(synsets, counts, strict=True)]

    @staticmethod
    def _count(synset: Synset, lemma: str) -> int:
        return max((int(other.count()) for other in synset.lemmas() if other.name().lower() == lemma), default=0)


@lru_cache(maxsize=1)
def thesaurus() -> Thesaurus:
    """The thesaurus of the WordNet that `wordnet.find` gives; opened once in a process."""
    return Thesaurus(wordnet.reader(), wordnet.find())


@lru_cache(maxsize=1)
def tagger() -> PerceptronTagger | None:
    """NLTK's English tagger, or None where its data is not installed."""
    from nltk.tag.perceptron import PerceptronTagger

    try:
        return PerceptronTagger()
    except LookupError:
        return None


def require_tagger() -> PerceptronTagger:
    """NLTK's English tagger; raises InputError where its data is not installed."""
    found = tagger()
    if found is None:
        raise InputError(
            f"tagger=perceptron: NLTK's {TAGGER} was not found; run `python -m nltk.downloader {TAGGER}`, "
            "or use tagger=senses"
        )
    return found


def _unwanted(entry: Synset) -> bool:
    """Whether WordNet labels a sense or word as a slur, an obscenity, or out of use."""
    return any(domain.name().split(".")[0] in UNWANTED for domain in _usage_domains(entry))


def _usage_domains(entry: Synset) -> list[Synset]:
    domains = entry.usage_domains()
    return [domain.synset() if hasattr(domain, "synset") else domain for domain in domains]


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
