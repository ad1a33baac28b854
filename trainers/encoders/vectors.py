"""The vectors of many texts, each encoded once, and the nearest ones, with ties settled in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipelines.base.console import InputError, TwinviewsError

if TYPE_CHECKING:
    import torch

Matrix: TypeAlias = NDArray[np.float32]  # one row per text, (texts, d)
Floats: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = NDArray[np.int64]
Similarity = Literal["cosine", "dot", "euclidean"]
Advance: TypeAlias = Callable[[int], None]  # called with the number of texts done since the last call
BATCH_SIZE = 256  # most texts in a batch
PLACES = 5  # of cosines that are ranked
USUAL_SPREAD = 0.01  # a standard deviation of cosines from which on these places keep them apart
EQUAL = 1e-6  # the most that coordinates of equal unit vectors differ by
DOCUMENTS = 65_536  # how many are searched at a time: 96 MiB at 384 dimensions
CHUNK = 4096  # texts that are encoded, or compared, at once
MAX_SMOOTHED = 100_000  # texts that neighbours are looked for among; of more, as many at equal distances
SCORES = 16 * 2**20  # similarities in memory at once: 64 MiB of float32
TIED = 1e-5  # a generous bound on the float32 error of the product of two unit vectors


def still(count: int) -> None:
    """Report no progress."""


class Sided(str):
    """A text on one `side` of a search, "query" or "document", for which an encoder may have a prompt or a route."""

    __slots__ = ("side",)
    side: str

    def __new__(cls, text: str, side: str) -> Self:  # noqa: D102
        sided = super().__new__(cls, text)
        sided.side = side
        return sided

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sided) and self.side == other.side and str.__eq__(self, other)

    def __hash__(self) -> int:
        return hash((self.side, str.__hash__(self)))


class TextEncoder(Protocol):
    """Anything that turns texts into vectors: `name` as the user gave it, `title` a line on what exactly it is."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def title(self) -> str: ...  # noqa: D102

    @property
    def revision(self) -> str | None:
        """What identifies its weights; None if nothing does, as a function can do anything."""

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return one row per text, in their order; float32, finite, not normalised."""

    def card(self) -> dict[str, Any]:
        """The encoder's name, provenance and settings as JSON values."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """The vectors of distinct texts: `rows` maps a text to its row of `matrix`.

    `device` is where they are compared; None takes a GPU if there is one. `documents` are the vectors of
    documents, or second sides, if another encoder makes them. `similarity` is that which a search ranks by.
    """

    rows: Mapping[str, int]
    matrix: Matrix
    device: str | None = None
    documents: Vectors | None = None
    similarity: Similarity = "cosine"

    @classmethod
    def encode(cls, encoder: TextEncoder, texts: Iterable[str], advance: Advance = still) -> Vectors:
        """Encode every distinct text once; raises as `check` does."""
        distinct = list(dict.fromkeys(texts))
        matrix = encoder.encode(distinct, advance)
        check(matrix, distinct, encoder.name)
        rows = {text: row for row, text in enumerate(distinct)}
        return cls(
            rows,
            matrix,
            getattr(encoder, "device", None),
            similarity=getattr(encoder, "similarity", "cosine"),
        )

    def of(self, texts: Sequence[str]) -> Matrix:
        """Return a vector for each of n texts, in their order, repeated texts included: (n, d), float32."""
        return self.matrix[[self.rows[text] for text in texts]]

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """The cosines (n,) of n pairs of texts; exactly 1 for two equal texts, 0 if a vector is zero."""
        left = self.of(first).astype(np.float64)
        right = (self.documents or self).of(second).astype(np.float64)
        dots, *squares = (
            np.einsum("ij,ij->i", *sides) for sides in ((left, right), (left, left), (right, right))
        )
        lengths = np.sqrt(squares[0] * squares[1])
        return np.asarray(np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0))

    def similarities(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """Return the cosines to rank by, as `rounded` makes them."""
        return rounded(self.cosines(first, second))

    def units(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of n texts scaled to length 1, (n, d)."""
        return unit(self.of(texts))

    def are_equal(self, texts: Sequence[str], *, documents: bool = False) -> bool:
        """Whether all of the texts, or `documents`, have one direction, so that nothing tells them apart."""
        vectors = self.documents if documents and self.documents else self
        first = vectors.units(texts[:1])
        blocks = (vectors.units(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK))
        return all(bool((abs(block - first) < EQUAL).all()) for block in blocks)

    def search(
        self, queries: Sequence[str], documents: Sequence[str], depth: int
    ) -> Iterator[tuple[Sequence[str], Numbers, Floats]]:
        """Yield parts of the documents, the rows there of those nearest to each query, and their similarities.

        Rows and similarities are (queries, depth), best first. A Euclidean distance is ranked by q k - |k|^2
        / 2.
        """
        query_vectors, of_documents = self._searched(self.of(queries)), self.documents or self
        similarity: Literal["cosine", "dot"] = "cosine" if self.similarity == "cosine" else "dot"
        for start in range(0, len(documents), DOCUMENTS):  # no second copy of all vectors is made
            part = documents[start : start + DOCUMENTS]
            keys = self._searched(of_documents.of(part), are_documents=True)
            rows = nearest(query_vectors, keys, depth, similarity, self.device)
            # Summed row by row: the rounding of a matrix product depends on the place of a row.
            pairs = zip(rows, query_vectors, strict=True)
            products = [(keys[places].astype(np.float64) * query).sum(axis=-1) for places, query in pairs]
            yield part, rows, np.array(products).reshape(rows.shape)

    def _searched(self, matrix: Matrix, *, are_documents: bool = False) -> Matrix:
        """Return queries or documents such that their products rank as the similarity does."""
        if self.similarity == "cosine":
            return unit(matrix)
        if self.similarity == "dot":
            return matrix
        last = -np.square(norms(matrix)) / 2 if are_documents else np.ones(len(matrix))
        return np.column_stack([matrix, last.astype(np.float32)])


def rounded(cosines: Floats) -> Floats:
    """Return cosines rounded to rank by, as those of texts with the same tokens differ by noise.

    To five places, or more where they lie closer than usual, as those of an encoder whose vectors share a
    direction.
    """
    spread = float(np.std(cosines)) if len(cosines) else 0.0
    more = np.ceil(np.log10(USUAL_SPREAD / spread)) if 0 < spread < USUAL_SPREAD else 0
    return cosines.round(PLACES + int(min(more, 10)))


def check(matrix: Matrix, texts: Sequence[str], name: str) -> None:
    """Raise InputError unless `matrix` has a row per text, and TwinviewsError if it contains NaN or infinity."""
    if matrix.ndim != 2 or matrix.shape[0] != len(texts) or matrix.shape[1] == 0:
        raise InputError(
            f"{name} gave an array of shape {matrix.shape} for {len(texts)} texts: one row each is needed"
        )
    rows = np.isfinite(matrix).all(axis=1)
    if not rows.all():
        raise TwinviewsError(
            f"{name} gives NaN or infinity, for example for {texts[int(np.argmin(rows))][:60]!r}"
        )


def nearest(
    queries: Matrix,
    keys: Matrix,
    k: int,
    similarity: Literal["cosine", "dot"] = "cosine",
    device: str | None = None,
) -> Numbers:
    """Return the rows of `keys` (m, d) nearest to `queries` (n, d), best first: (n, min(k, m))."""
    import torch

    k = min(k, len(keys))
    queries = unit(queries)
    # Divided by the longest, because `TIED` is meant for products of at most 1.
    keys = (
        unit(keys)
        if similarity == "cosine"
        else keys * np.float32(1 / max(norms(keys).max(initial=0.0), 1e-30))
    )
    rows = np.empty((len(queries), k), np.int64)
    for start, block in score_blocks(queries, keys, device) if k else ():
        least = torch.topk(block, k, dim=1).values[:, -1:] - TIED
        for row, is_candidate in enumerate((block >= least).cpu().numpy(), start):
            candidates = np.flatnonzero(is_candidate)
            # Summed row by row: the rounding of a matrix product depends on the place of a row.
            products = (keys[candidates].astype(np.float64) * queries[row]).sum(-1)
            rows[row] = candidates[np.argsort(-products, kind="stable")[:k]]
    return rows


def smooth(vectors: Matrix, neighbours: int) -> Matrix:
    """Return each unit vector (n, d) plus its nearest others' mean by squared cosine, scaled to length 1."""
    rows = np.linspace(0, len(vectors) - 1, min(len(vectors), MAX_SMOOTHED)).astype(int)
    keys = vectors[rows]
    close = nearest(vectors, keys, neighbours + 1)
    smoothed = np.empty(vectors.shape, np.float32)
    for start in range(0, len(vectors), BATCH_SIZE):
        own, candidates = vectors[start : start + BATCH_SIZE], close[start : start + BATCH_SIZE]
        is_other = rows[candidates] != np.arange(start, start + len(own))[:, None]
        is_other[is_other.all(axis=1), -1] = (
            False  # of one that is not among the nearest itself, the last goes
        )
        others = keys[candidates[is_other].reshape(len(own), -1)]
        weights = np.square(np.einsum("nkd,nd->nk", others, own).clip(0))
        means = np.einsum("nkd,nk->nd", others, weights) / weights.sum(1, keepdims=True).clip(1e-30)
        smoothed[start : start + BATCH_SIZE] = unit(own + means)
    return smoothed


def score_blocks(
    queries: Matrix, keys: Matrix, device: str | None = None
) -> Iterator[tuple[int, torch.Tensor]]:
    """Yield first row and products of blocks of queries (n, d) with all keys (m, d), each of at most `SCORES`."""
    import torch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    step = max(1, SCORES // max(1, len(keys)))
    columns = torch.from_numpy(keys).to(device).T
    for start in range(0, len(queries), step):
        yield start, torch.from_numpy(queries[start : start + step]).to(device) @ columns


def unit(matrix: Matrix) -> Matrix:
    """Return the rows scaled to length 1 in float32; a zero row stays zero."""
    lengths = norms(matrix)
    factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.ascontiguousarray(matrix, np.float32) * factors.astype(np.float32)[:, None]


def norms(matrix: Matrix) -> Floats:
    """Return the length of each row."""
    # In blocks: a float64 copy of a whole dictionary would be the largest array of all.
    parts = [
        np.square(matrix[start : start + 4096], dtype=np.float64).sum(1)
        for start in range(0, len(matrix), 4096)
    ]
    return np.asarray(np.sqrt(np.concatenate([np.zeros(0), *parts])))
