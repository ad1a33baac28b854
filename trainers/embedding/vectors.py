"""The vectors of many texts: each distinct text encoded once, and kept on disk for later suites and evaluations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, cast
from uuid import uuid4

import numpy as np
import xxhash
from numpy.typing import NDArray

from pipelines.console import InputError, TwinviewsError, note
from trainers.files import read_arrays, remove_stale, whole_file

Matrix: TypeAlias = "NDArray[np.float32]"  # one row per text, (texts, d)
Advance: TypeAlias = Callable[[int], None]  # called with the number of texts done since the last call
BATCH_SIZE = 256  # most texts in a batch
CHUNK = 4096  # texts in a file of the cache: the most that an interrupted evaluation loses
_KEY = 16  # bytes of a text's hash


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


def cached(encoder: TextEncoder, folder: Path | None = None) -> TextEncoder:
    """Return the encoder with its vectors kept in `folder`, by default `twinviews/vectors` in the user's cache.

    One without a `fingerprint` is returned as it is: a function can do anything, so its vectors are not kept.
    """
    identity = getattr(encoder, "fingerprint", lambda: None)()
    if identity is None:
        return encoder
    folder = folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "twinviews" / "vectors"
    return cast("TextEncoder", CachedEncoder(encoder, folder / identity))


@dataclass(slots=True)
class CachedEncoder:
    """An encoder that looks texts up before it encodes them; `found` is how many it did not have to encode.

    Files are written whole under unique names and never changed, so processes cannot disturb each other; damaged ones
    are ignored.
    """

    encoder: TextEncoder
    folder: Path
    found: int = 0
    _writable: bool = True

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the encoder's name, title, card and so on
        return getattr(self.encoder, name)

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return vectors (texts, d), float32; raises as `check` does."""
        keys = [xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass")) for text in texts]
        places: dict[bytes, list[int]] = {}
        for row, key in enumerate(keys):
            places.setdefault(key, []).append(row)
        matrix = self._read(places, len(texts))
        self.found = len(texts) - sum(map(len, places.values()))
        advance(self.found)
        # The texts of a file are of similar length, so its batches have little padding.
        left = sorted((rows[0] for rows in places.values()), key=lambda row: -len(texts[row]))
        for start in range(0, len(left), CHUNK):
            rows = left[start : start + CHUNK]
            new = checked(self.encoder, [texts[row] for row in rows], advance)
            matrix = np.empty((len(texts), new.shape[1]), np.float32) if matrix is None else matrix
            for row, vector in zip(rows, new, strict=True):
                matrix[places[keys[row]]] = vector
            self._write([keys[row] for row in rows], new)
        return self.encoder.encode([]) if matrix is None else matrix

    def _read(self, places: dict[bytes, list[int]], texts: int) -> Matrix | None:
        """Fill in the vectors that were kept and remove their keys from `places`; None if there are none."""
        matrix: Matrix | None = None
        remove_stale(self.folder)
        for path in sorted(self.folder.glob("*.npz")):
            try:
                stored = read_arrays(path)
                known, vectors = stored["keys"].tobytes(), stored["vectors"]
            except (OSError, ValueError, KeyError):
                note(f"{path} is damaged and ignored, its texts are encoded again: delete it")
                continue
            for number, vector in enumerate(vectors):
                rows = places.pop(known[_KEY * number : _KEY * (number + 1)], None)
                if rows is not None:
                    matrix = np.empty((texts, vectors.shape[1]), np.float32) if matrix is None else matrix
                    matrix[rows] = vector
        return matrix

    def _write(self, keys: Sequence[bytes], vectors: Matrix) -> None:
        if not self._writable:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with whole_file(self.folder / f"{uuid4().hex}.npz") as stream:
                np.savez(stream, keys=np.frombuffer(b"".join(keys), np.uint8), vectors=vectors, allow_pickle=False)
        except (OSError, TwinviewsError) as error:
            note(f"cannot keep vectors in {self.folder} ({error}): give another --cache, or --no-cache")
            self._writable = False
