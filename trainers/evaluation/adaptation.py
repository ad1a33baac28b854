"""Maps of an encoder's vectors that are fitted before they are scored: whitening and flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pipelines.console import InputError
from trainers.evaluation.vectors import Advance, TextEncoder, Vectors, check, still

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trainers.baselines.fitting import FitText

OWN_TEXT = "each set's own sentences"
"""What a map is fitted on without a text of its own, as both papers do for their `target` figures."""


class Method(Protocol):
    """A way of fitting a map of vectors."""

    @property
    def title(self) -> str:
        """What is done to the vectors, for titles."""

    @property
    def key(self) -> str:
        """A name for files."""

    def card(self) -> dict[str, Any]:
        """Return the settings as JSON values."""

    def fit(self, vectors: NDArray[np.float32]) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
        """Return the map that is fitted on vectors (texts, d)."""


@dataclass(frozen=True, slots=True)
class Adaptation:
    """A method, and the text it is fitted on; without one it is fitted on the sentences of each set that is scored.

    The latter is transductive: the scores are of a map that has seen the test sentences (not their grades).
    """

    method: Method
    text: FitText | None = None
    fitted: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None = None

    @property
    def title(self) -> str:
        """What is done, and what it was fitted on."""
        source = self.text.title if self.text else f"{OWN_TEXT} (transductive)"
        return f"{self.method.title}, fitted on {source}"

    def card(self) -> dict[str, Any]:
        """Return the method's settings and its text as JSON values."""
        return {**self.method.card(), "fit": self.text.card() if self.text else OWN_TEXT}

    def prepare(self, encoder: TextEncoder, advance: Advance = still) -> Adaptation:
        """Return it fitted on its text as `encoder` encodes that; without a text, as it is.

        Raises:
            InputError: The vectors are sparse, or there are too few of them.
        """
        if self.text is None:
            return self
        vectors = Vectors.encode(encoder, self.text.texts, advance)
        return Adaptation(self.method, self.text, self.method.fit(_dense(vectors.of(self.text.texts), encoder.name)))

    def apply(self, vectors: Vectors, texts: Sequence[str], name: str) -> Vectors:
        """Return the mapped vectors of `texts`, the sentences of one set; a sentence that recurs weighs as often.

        Args:
            vectors: The encoder's own, of these texts and perhaps others.
            texts: Both sides of every pair.
            name: The encoder's, for messages.
        """
        fitted = self.fitted or self.method.fit(_dense(vectors.of(texts), name))
        distinct = list(dict.fromkeys(texts))
        mapped = fitted(_dense(vectors.of(distinct), name))
        check(mapped, distinct, f"{name}, {self.method.title},")
        return Vectors({text: row for row, text in enumerate(distinct)}, mapped)


def _dense(matrix: Any, name: str) -> NDArray[np.float32]:  # noqa: ANN401 - an array or a sparse matrix
    if not isinstance(matrix, np.ndarray):
        raise InputError(f"{name} has sparse vectors: --whiten and --flow need dense ones, so leave them out")
    return matrix
