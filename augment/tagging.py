"""NLTK's perceptron tagger, its sums kept as vectors: the same tags several times faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from augment.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from nltk.tag.perceptron import PerceptronTagger
    from numpy.typing import NDArray

    Scores = NDArray[np.int32]

TAGGER = "averaged_perceptron_tagger_eng"
_CACHED_WORDS = 20_000
_STEP = 1000
"""NLTK rounds its weights to thousandths; in whole thousandths their sums are exact in any order."""


class Tagger:
    """Penn Treebank tags by the weights of NLTK's averaged perceptron (Honnibal 2013), greedy from left to right.

    What a word adds to the scores of the tags at its own place and at its neighbours' is summed once and kept.
    """

    def __init__(self, source: PerceptronTagger) -> None:
        self.source = source
        self._known: Mapping[str, str] = source.tagdict
        self._weights: Mapping[str, Mapping[str, float]] = source.model.weights
        self._normalized = lru_cache(maxsize=_CACHED_WORDS)(source.normalize)
        # NLTK gives a tie to the label that comes last in the alphabet; argmax takes the first.
        self._labels = sorted(source.classes, reverse=True)
        self._place = {label: place for place, label in enumerate(self._labels)}
        # Methods are cached per object, so that the cache dies with its weights.
        self._own = lru_cache(maxsize=_CACHED_WORDS)(self._own_scores)
        self._beside = lru_cache(maxsize=4 * _CACHED_WORDS)(self._beside_scores)
        self._history = lru_cache(maxsize=None)(self._history_scores)
        self._after = lru_cache(maxsize=2 * _CACHED_WORDS)(self._after_scores)

    def tag(self, words: Sequence[str]) -> list[str]:
        """One Penn tag a word, as `nltk.pos_tag` would give it."""
        forms = ["-START-", "-START2-", *map(self._normalized, words), "-END-", "-END2-"]
        before, before2 = "-START-", "-START2-"
        tags = []
        for place, word in enumerate(words, start=2):
            tag = self._known.get(word)
            if tag is None:
                scores = self._own(word) + self._history(before, before2)
                scores += self._after(before, forms[place])
                for offset in (-2, -1, 1, 2):
                    scores += self._beside(offset, forms[place + offset])
                tag = self._labels[int(scores.argmax())]
            tags.append(tag)
            before2, before = before, tag
        return tags

    def _sum(self, *features: str) -> Scores:
        import numpy as np

        scores = np.zeros(len(self._labels), dtype=np.int32)
        for feature in features:
            for label, weight in self._weights.get(feature, {}).items():
                scores[self._place[label]] += round(weight * _STEP)
        return scores

    def _own_scores(self, word: str) -> Scores:
        return self._sum("bias", f"i suffix {word[-3:]}", f"i pref1 {word[:1]}", f"i word {self._normalized(word)}")

    def _beside_scores(self, offset: int, form: str) -> Scores:
        name = f"i{offset:+d}"
        if abs(offset) == 2:
            return self._sum(f"{name} word {form}")
        return self._sum(f"{name} word {form}", f"{name} suffix {form[-3:]}")

    def _history_scores(self, before: str, before2: str) -> Scores:
        return self._sum(f"i-1 tag {before}", f"i-2 tag {before2}", f"i tag+i-2 tag {before} {before2}")

    def _after_scores(self, before: str, form: str) -> Scores:
        return self._sum(f"i-1 tag+i word {before} {form}")


@lru_cache(maxsize=1)
def tagger() -> Tagger | None:
    """NLTK's English tagger, or None where its data is not installed."""
    from nltk.tag.perceptron import PerceptronTagger

    try:
        return Tagger(PerceptronTagger())
    except LookupError:
        return None


def require_tagger(wanted_by: str, otherwise: str = "") -> Tagger:
    """NLTK's English tagger.

    Args:
        wanted_by: What needs it, as the user knows it: "tagger=perceptron".
        otherwise: What else the user could do, for the end of the line.

    Raises:
        InputError: Its data is not installed.
    """
    found = tagger()
    if found is None:
        how = f"run `python -m nltk.downloader {TAGGER}`"
        raise InputError(f"{wanted_by}: NLTK's {TAGGER} was not found; {how}{otherwise}")
    return found
