"""What an evaluation needs of an encoder, and the vectors of many texts, each distinct text encoded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipelines.console import InputError, TwinviewsError

Matrix: TypeAlias = "NDArray[np.float32]"  # one row per text, (texts, d)
Advance: TypeAlias = Callable[[int], None]  # called with the number of texts done since the last call
BATCH_SIZE = 256  # most texts in a batch


def still(count: int) -> None:
    """Report no progress."""


class TextEncoder(Protocol):
    """Anything that turns texts into vectors: `name` as the user gave it, `title` a line on what exactly it is."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def title(self) -> str: ...  # noqa: D102

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return one row per text, in their order; float32, finite, not normalised."""

    def card(self) -> dict[str, Any]:
        """Return the encoder's name, dimension, provenance and settings as JSON values; call it after `encode`."""


class Vectors(NamedTuple):
    """The vectors of distinct texts: `rows` maps a text to its row of `matrix`."""

    rows: Mapping[str, int]
    matrix: Matrix

    @classmethod
    def encode(cls, encoder: TextEncoder, texts: Iterable[str], advance: Advance = still) -> Vectors:
        """Encode every distinct text once; raises as `check` does."""
        distinct = list(dict.fromkeys(texts))
        return cls({text: row for row, text in enumerate(distinct)}, checked(encoder, distinct, advance))

    def of(self, texts: Sequence[str]) -> Matrix:
        """Return a row for each of `texts`, in their order, repeated texts included."""
        return self.matrix[[self.rows[text] for text in texts]]

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Return the cosine of each pair of texts; exactly 1 for two equal texts, 0 if a vector is zero."""
        one, two = self.of(first).astype(np.float64), self.of(second).astype(np.float64)
        dots, *squares = (np.einsum("ij,ij->i", *sides) for sides in ((one, two), (one, one), (two, two)))
        lengths = np.sqrt(squares[0] * squares[1])
        return np.asarray(np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0))


def checked(encoder: TextEncoder, texts: Sequence[str], advance: Advance = still) -> Matrix:
    """Return an encoder's vectors of `texts`; raises as `check` does."""
    matrix = encoder.encode(texts, advance)
    check(matrix, texts, encoder.name)
    return matrix


def check(matrix: Matrix, texts: Sequence[str], name: str) -> None:
    """Raise InputError unless `matrix` has a row per text, and TwinviewsError if it contains NaN or infinity."""
    if matrix.ndim != 2 or matrix.shape[0] != len(texts) or matrix.shape[1] == 0:
        raise InputError(f"{name} gave an array of shape {matrix.shape} for {len(texts)} texts: one row each is needed")
    rows = np.isfinite(matrix).all(axis=1)
    if not rows.all():
        raise TwinviewsError(f"{name} gives NaN or infinity, for example for {texts[int(np.argmin(rows))][:60]!r}")
