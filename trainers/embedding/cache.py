"""Vectors kept on disk by model and text, so that suites and later evaluations do not encode a text again."""

import os
import re
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

CHUNK = 4096
"""Texts in a shard: what an interrupted evaluation loses at most."""
_KEY = 16
_SHARD = re.compile(r"[0-9a-f]{32}\.npz")


def cache_folder() -> Path:
    """Return the usual place: `twinviews/vectors` below XDG_CACHE_HOME, or below `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "twinviews" / "vectors"


def cached(encoder: TextEncoder, folder: Path) -> TextEncoder:
    """Return the encoder with its vectors kept in `folder`; as it is if it has no `fingerprint` of what decides them.

    A function can do anything, and TF-IDF's vectors depend on the texts beside: neither is kept.
    """
    identity = getattr(encoder, "fingerprint", lambda: None)()
    return encoder if identity is None else cast("TextEncoder", CachedEncoder(encoder, folder / identity))


@dataclass(slots=True)
class CachedEncoder:
    """An encoder that looks a text up before it encodes it; `found` is how many texts it did not have to encode.

    Shards are written whole under a name of their own and never changed, so that processes cannot harm each other; one
    that cannot be read is left out.
    """

    encoder: TextEncoder
    folder: Path
    found: int = 0
    _writable: bool = True

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - name, title, card and whatever else the encoder has
        return getattr(self.encoder, name)

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return vectors (texts, d), float32; `advance` hears of those on disk at once. Raises as `check` does."""
        keys = [xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass")) for text in texts]
        places: dict[bytes, list[int]] = {}
        for row, key in enumerate(keys):
            places.setdefault(key, []).append(row)
        matrix = self._read(places, len(texts))
        self.found = len(texts) - sum(map(len, places.values()))
        advance(self.found)
        # Texts of like length in a shard: they are in few batches, with little padding.
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
        """Fill in what the shards have and take it out of `places`; None if that is nothing."""
        matrix: NDArray[np.float32] | None = None
        for path in sorted(path for path in self.folder.glob("*.npz") if _SHARD.fullmatch(path.name)):
            try:
                stored = read_arrays(path)
                known, vectors = stored["keys"].tobytes(), stored["vectors"]
            except (OSError, ValueError, KeyError):
                note(f"{path} is damaged and left out, its texts are encoded again: delete it")
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
            note(f"vectors are not kept in {self.folder} ({error}): --cache DIR or --no-cache")
            self._writable = False
