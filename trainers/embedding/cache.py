"""Vectors kept on disk by model and text, so that no suite or later evaluation encodes a text again."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import numpy as np
import xxhash
from numpy.typing import NDArray

from pipelines.console import TwinviewsError, note
from trainers.embedding.vectors import Advance, Matrix, TextEncoder, check, still
from trainers.files import read_arrays, whole_file

CHUNK = 4096  # texts in a shard: the most that an interrupted evaluation loses
_KEY = 16


def cache_folder() -> Path:
    """Return the default folder: `twinviews/vectors` below XDG_CACHE_HOME or `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "twinviews" / "vectors"


def cached(encoder: TextEncoder, folder: Path) -> TextEncoder:
    """Return the encoder with its vectors kept in `folder`; unchanged if it has no `fingerprint`.

    A function can do anything, so its vectors are not kept.
    """
    identity = getattr(encoder, "fingerprint", lambda: None)()
    return encoder if identity is None else cast("TextEncoder", CachedEncoder(encoder, folder / identity))


@dataclass(slots=True)
class CachedEncoder:
    """An encoder that looks texts up before it encodes them; `found` is how many it did not have to encode.

    Shards are written whole under unique names and never changed, so processes cannot disturb each other; damaged ones
    are left out.
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
        # A shard's texts are of similar length, so its batches have little padding.
        left = sorted((rows[0] for rows in places.values()), key=lambda row: -len(texts[row]))
        for start in range(0, len(left), CHUNK):
            rows = left[start : start + CHUNK]
            chunk = [texts[row] for row in rows]
            new = self.encoder.encode(chunk, advance)
            check(new, chunk, self.name)
            matrix = np.empty((len(texts), new.shape[1]), np.float32) if matrix is None else matrix
            for row, vector in zip(rows, new, strict=True):
                matrix[places[keys[row]]] = vector
            self._write([keys[row] for row in rows], new)
        return self.encoder.encode([]) if matrix is None else matrix

    def _read(self, places: dict[bytes, list[int]], texts: int) -> NDArray[np.float32] | None:
        """Fill in the vectors of the shards and remove their keys from `places`; None if there are none."""
        matrix: NDArray[np.float32] | None = None
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
