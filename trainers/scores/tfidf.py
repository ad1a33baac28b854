"""TF-IDF of characters as a baseline of a user's own table: what needs no encoder."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from trainers.encoders.vectors import Floats, Numbers, Vectors, rounded
from trainers.scores.task import Metrics, Suite

GRAMS = (2, 5)
MAX_FEATURES = 20_000  # the most frequent ones: a regression has a weight of each for every label
MAX_CHARACTERS = 3_000_000  # of the texts that it is fitted to, about half a minute


class TfidfVectors:
    """What `Vectors` does for tasks, with sparse rows, fitted to the documents of a search, or to all texts else."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.vectorizer = TfidfVectorizer(analyzer="char", ngram_range=GRAMS, max_features=MAX_FEATURES)
        self.vectorizer.fit(map(str, texts))

    def units(self, texts: Sequence[str]) -> Any:  # noqa: ANN401 - a sparse matrix (texts, features)
        """Return rows of length 1, or 0 for a text of no known characters."""
        return self.vectorizer.transform(map(str, texts))

    def similarities(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """Return the cosines (n,) of n pairs of texts."""
        cosines = self.units(first).multiply(self.units(second)).sum(axis=1)
        return rounded(np.asarray(cosines, dtype=np.float64).ravel())

    def are_equal(self, texts: Sequence[str], *, documents: bool = False) -> bool:
        """Whether all texts are the same."""
        return len(set(texts)) == 1

    def search(
        self, queries: Sequence[str], documents: Sequence[str], depth: int
    ) -> Iterator[tuple[Sequence[str], Numbers, Floats]]:
        """Yield all documents, the places of those nearest to each query, best first, and their cosines."""
        cosines = (self.units(queries) @ self.units(documents).T).toarray()
        places = np.argsort(-cosines, axis=1, kind="stable")[:, :depth]
        yield documents, places, np.take_along_axis(cosines, places, axis=1)


def with_baseline(suite: Suite) -> Suite:
    """A suite of one's own table that knows the figures of TF-IDF, unless the table is too large for it."""
    side = suite.tasks[0].sides[1] if suite.tasks[0].sides else suite.tasks[0].texts
    if sum(map(len, side)) > MAX_CHARACTERS:
        return suite

    @cache  # all encoders that are judged by this table share it
    def figures(seed: int) -> Metrics:
        vectors = cast("Vectors", TfidfVectors(side))
        scores = {task.name: task.score(vectors, seed) for task in suite.tasks}
        return {name: next(iter(score.metrics.values())) for name, score in scores.items()}

    return suite._replace(baseline=figures)
