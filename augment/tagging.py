"""Penn Treebank tags by the bundled weights of NLTK's perceptron tagger, summed as vectors: several times faster."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.int32]

FOLDER = Path(__file__).parent / "starter" / "tagger"
_CACHED_WORDS = 20_000
_STEP = 1000
"""NLTK rounds its weights to thousandths; in whole thousandths their sums are exact in any order."""


class Tagger:
    """NLTK's averaged perceptron (Honnibal 2013), greedy from left to right.

    What a word adds to the scores of the tags at its own place and at its neighbours' is summed once and kept.
    """

    def __init__(self) -> None:
        self._known: Mapping[str, str] = load_data("tagdict")
        self._weights: Mapping[str, Mapping[str, float]] = load_data("weights")
        # NLTK gives a tie to the label that comes last in the alphabet; argmax takes the first.
        self._labels: list[str] = sorted(load_data("classes"), reverse=True)
        self._place = {label: place for place, label in enumerate(self._labels)}
        # Methods are cached per object, so that the cache dies with its weights.
        self._own = lru_cache(maxsize=_CACHED_WORDS)(self._own_scores)
        self._beside = lru_cache(maxsize=4 * _CACHED_WORDS)(self._beside_scores)
        self._history = lru_cache(maxsize=None)(self._history_scores)
        self._after = lru_cache(maxsize=2 * _CACHED_WORDS)(self._after_scores)

    def tag(self, words: Sequence[str]) -> list[str]:
        """One Penn tag a word, as `nltk.pos_tag` would give it."""
        forms = ["-START-", "-START2-", *map(_normalized, words), "-END-", "-END2-"]
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
        return self._sum("bias", f"i suffix {word[-3:]}", f"i pref1 {word[:1]}", f"i word {_normalized(word)}")

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
def tagger() -> Tagger:
    """The bundled tagger; loaded once in a process (a fifth of a second)."""
    return Tagger()


def load_data(name: str) -> Any:  # noqa: ANN401 - JSON
    """One of the files of NLTK's tagger: "weights", "tagdict" or "classes"."""
    with gzip.open(FOLDER / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)


@lru_cache(maxsize=_CACHED_WORDS)
def _normalized(word: str) -> str:
    """A word as the features know it: in lower case, digits and hyphens by their class."""
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit() and len(word) == 4:
        return "!YEAR"
    return "!DIGITS" if word[:1].isdigit() else word.lower()
