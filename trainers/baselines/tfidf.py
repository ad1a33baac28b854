"""TF-IDF: a text as the weighted counts of its words, the baseline that IS-BERT and BSL call unigram-TFIDF."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipelines.console import InputError
from trainers.baselines.fitting import FitText
from trainers.embedding.vectors import Advance, Matrix, still

NAME = "tfidf"


@dataclass(slots=True)
class Tfidf:
    """scikit-learn's TfidfVectorizer in its defaults: lower-cased words of two letters or more, smoothed idf.

    Vocabulary and document frequencies are those of `fit`, or of the very texts that are encoded: the words of a
    text, and how rare they are, are then known from the evaluation set.
    """

    fit: FitText | None = None
    name: str = NAME
    _shape: tuple[int, int] | None = field(default=None, init=False)

    @property
    def title(self) -> str:
        """The encoder, and which text its frequencies are from."""
        texts = self._shape[0] if self._shape else 0
        source = self.fit.title if self.fit else f"the evaluation text itself (transductive), {texts:,} texts"
        return f"{self.name}, fitted on {source}"

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return the texts' vectors (texts, words of the vocabulary), sparse, of length 1; 0 where no word is known.

        Raises InputError: no text has a word.
        """
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(dtype=np.float32)
        try:
            vectorizer.fit(self.fit.texts if self.fit else texts)
        except ValueError as error:
            source = self.fit.name if self.fit else "the evaluation text"
            raise InputError(f"{NAME} finds no word of two letters or more in {source} ({error})") from None
        matrix: Matrix = vectorizer.transform(texts).tocsr()
        self._shape = (len(texts), int(matrix.shape[1]))
        advance(len(texts))
        return matrix

    def card(self) -> dict[str, Any]:
        """Return the baseline's name, vocabulary size and text as JSON values."""
        from sklearn import __version__

        texts, dimension = self._shape or (0, None)
        fit = self.fit.card() if self.fit else {"name": "evaluation text", "texts": texts}
        return {"name": self.name, "kind": NAME, "dimension": dimension, "scikit-learn": __version__, "fit": fit}
