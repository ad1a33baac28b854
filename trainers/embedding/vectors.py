"""What an evaluation needs of an encoder, and the vectors of many texts, each distinct text encoded once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from pipelines.console import InputError, TwinviewsError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Matrix: TypeAlias = "NDArray[np.float32] | csr_matrix"
"""One row per text: an array (texts, d), or a sparse matrix of that shape where most entries are zero."""

Advance: TypeAlias = Callable[[int], None]
"""Called with the number of texts done since it was last called."""


BATCH_SIZE = 256
"""Most texts in a batch."""


def still(count: int) -> None:
    """Report no progress."""


class TextEncoder(Protocol):
    """Anything that turns texts into vectors.

    `name` is the encoder as the user named it, `title` a line that says exactly what was evaluated.
    """

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
        """Return the rows of `texts`, in their order, as often as they stand there."""
        return self.matrix[[self.rows[text] for text in texts]]

    @property
    def sparse(self) -> bool:
        """Whether the matrix is a sparse one."""
        return not isinstance(self.matrix, np.ndarray)

    def dense(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the rows of `texts` of a matrix that is not sparse."""
        return cast("NDArray[np.float32]", self.of(texts))

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Return the cosine of each pair of texts; exactly 1 for two equal texts, 0 where a vector is zero."""
        one, two = self.of(first).astype(np.float64), self.of(second).astype(np.float64)
        dots, squares = _dots(one, two), _dots(one, one) * _dots(two, two)
        return np.asarray(np.divide(dots, np.sqrt(squares), out=np.zeros_like(dots), where=squares > 0))


def checked(encoder: TextEncoder, texts: Sequence[str], advance: Advance = still) -> Matrix:
    """Return what an encoder gives for `texts`, if it is what `TextEncoder` promises; raises as `check` does."""
    matrix = encoder.encode(texts, advance)
    check(matrix, texts, encoder.name)
    return matrix


def check(matrix: Matrix, texts: Sequence[str], name: str) -> None:
    """Raise InputError unless `matrix` has a row per text, and TwinviewsError where it has NaN or infinity."""
    if matrix.ndim != 2 or matrix.shape[0] != len(texts) or matrix.shape[1] == 0:
        raise InputError(f"{name} gave an array of shape {matrix.shape} for {len(texts)} texts: one row each is needed")
    dense = isinstance(matrix, np.ndarray)
    rows = np.isfinite(matrix).all(axis=1) if dense else np.isfinite(matrix.sum(axis=1)).ravel()
    if not rows.all():
        raise TwinviewsError(f"{name} gives NaN or infinity, for one: {texts[int(np.argmin(rows))][:60]!r}")


def _dots(one: Any, two: Any) -> NDArray[np.float64]:  # noqa: ANN401 - an array or a sparse matrix
    if isinstance(one, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", one, two))
    return np.asarray(one.multiply(two).sum(axis=1)).ravel()
