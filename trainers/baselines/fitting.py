"""Maps of an encoder's vectors that are fitted before they are scored (whitening, flows), and the text for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from pipelines.console import InputError
from trainers.embedding.vectors import Advance, TextEncoder, Vectors, check, still

Map: TypeAlias = "Callable[[NDArray[np.float32]], NDArray[np.float32]]"
"""From vectors (texts, d) to vectors (texts, k)."""

OWN_TEXT = "each set's own sentences"
"""What a map is fitted on without a text of its own, as both papers do for their `target` figures."""
SMALLEST = 1e-6
"""Variance, as a part of the largest, below which a direction is rounding noise that whitening would blow up."""


@dataclass(frozen=True, slots=True)
class FitText:
    """Sentences to fit on, and the file they are from."""

    name: str
    texts: Sequence[str]

    @property
    def title(self) -> str:
        """The file and its number of sentences."""
        return f"{self.name} ({len(self.texts):,} sentences)"

    def card(self) -> dict[str, Any]:
        """Return the file's name, its number of sentences and their hash as JSON values."""
        whole = b"".join(text.encode("utf-8", "surrogatepass") + b"\0" for text in self.texts)
        return {"file": self.name, "sentences": len(self.texts), "xxh64": xxhash.xxh64_hexdigest(whole)}

    def shared(self, texts: Iterable[str]) -> int:
        """Return how many of `texts` stand word for word in the text that is fitted on."""
        own = set(self.texts)
        return sum(text in own for text in texts)


@dataclass(frozen=True, slots=True)
class Adaptation:
    """A way of fitting a map, and the text it is fitted on; without one, the sentences of each set that is scored.

    The latter is transductive: the scores are of a map that has seen the test sentences (not their grades).
    `method` is what is done to the vectors, for titles, `key` the same for names of files, `settings` as JSON values;
    `fit` goes from vectors (texts, d) to the map that is fitted on them.
    """

    method: str
    key: str
    settings: Mapping[str, object]
    fit: Callable[[NDArray[np.float32]], Map]
    text: FitText | None = None

    @property
    def title(self) -> str:
        """What is done, and what it was fitted on."""
        return f"{self.method}, fitted on {self.text.title if self.text else f'{OWN_TEXT} (transductive)'}"

    def card(self) -> dict[str, Any]:
        """Return the settings and the text as JSON values."""
        return {**self.settings, "fit": self.text.card() if self.text else OWN_TEXT}

    def prepare(self, encoder: TextEncoder, advance: Advance = still) -> Adaptation:
        """Return it fitted on its text as `encoder` encodes that; without a text, as it is.

        Raises InputError: the vectors are sparse, or there are too few of them.
        """
        if self.text is None:
            return self
        fitted = self.fit(_dense(Vectors.encode(encoder, self.text.texts, advance), self.text.texts, encoder.name))
        return replace(self, fit=lambda _: fitted)

    def apply(self, vectors: Vectors, texts: Sequence[str], name: str) -> Vectors:
        """Return the mapped vectors of `texts`, both sides of every pair of a set; each weighs as often as it recurs.

        `name` is the encoder's, for messages.
        """
        distinct = list(dict.fromkeys(texts))
        mapped = self.fit(_dense(vectors, texts, name))(_dense(vectors, distinct, name))
        check(mapped, distinct, f"{name}, {self.method},")
        return Vectors({text: row for row, text in enumerate(distinct)}, mapped)


def _dense(vectors: Vectors, texts: Sequence[str], name: str) -> NDArray[np.float32]:
    if vectors.sparse:
        raise InputError(f"{name} has sparse vectors: --whiten and --flow need dense ones, so leave them out")
    return vectors.dense(texts)


def whitening(dimension: int | None, text: FitText | None = None) -> Adaptation:
    """Return the whitening to `dimension` directions of largest variance (Whitening-k in the paper); None keeps all."""
    title = "whitened" + (f" to {dimension} dimensions" if dimension else "")
    settings = {"method": "whitening", "dimension": dimension}
    fit = partial(fit_whitening, dimension=dimension)
    return Adaptation(title, f"whitened-{dimension or 'all'}", settings, fit, text)


def fit_whitening(vectors: NDArray[np.float32], dimension: int | None = None) -> Map:
    """Return the whitening of vectors (texts, d): x -> (x - mean) W, W = U S^(-1/2) of their covariance U S U'.

    The columns stand by falling variance, so that the first k are the reduced whitening of the paper's Alg. 1. Raises
    InputError: there are fewer than two vectors, or they vary in fewer directions than `dimension`.
    """
    from sklearn.decomposition import PCA

    if len(vectors) < 2:
        raise InputError(f"whitening needs two texts or more to fit on, got {len(vectors)}")
    with np.errstate(invalid="ignore"):  # of its ratios, where nothing varies
        found = PCA(svd_solver="covariance_eigh").fit(vectors.astype(np.float64))
    variances = found.explained_variance_
    rank = int((variances > max(variances[0], 0) * SMALLEST).sum())
    if rank < (dimension or 1):
        raise InputError(
            f"cannot whiten to {dimension or 1} dimensions: the {len(vectors):,} vectors of "
            f"{vectors.shape[1]} numbers vary in {rank} directions: ask for fewer, or fit on more text"
        )
    kept = dimension or rank
    kernel = found.components_[:kept].T / np.sqrt(variances[:kept])
    return lambda vectors: np.asarray((vectors - found.mean_) @ kernel, np.float32)
