"""Drop pairs that are nearly the same as an earlier one: MinHash over character n-grams, banded (LSH)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import xxhash
from pydantic import BaseModel, ConfigDict, Field

from augment.errors import InputError
from augment.view import Runtime
from pipelines.filter import KEEP, FilterSpec, Pair, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REASON = "near-duplicate of an earlier pair"
HASHES = 128
RECALL = 0.98
"""The least probability that two pairs whose similarity is the threshold meet in a band."""


class PARAMS(BaseModel):
    """Parameters of the search for near-duplicates."""

    model_config = ConfigDict(extra="forbid")

    threshold: float = Field(default=0.8, ge=0.3, le=1, description="Jaccard similarity from which a pair is dropped")
    n: int = Field(default=5, ge=1, le=50, description="characters in an n-gram")
    window: int = Field(
        default=1_000_000, ge=1, le=100_000_000, description="how many kept pairs back are compared; 0.3 GB a million"
    )


@dataclass(frozen=True)
class NearDuplicates:
    """The filter; it remembers the pairs that it kept, the last `window` of them, and what it drops leaves no trace.

    The n-grams of a pair are those of both sides together. Two pairs are compared when they agree in all hashes of a
    band; their similarity is the share of equal hashes (to 8 bits, corrected for chance), within 0.05 of the Jaccard
    similarity two times out of three, or better. Pairs of one sentence by different views are meant to be alike and are
    not compared.
    """

    spec: FilterSpec
    threshold: float
    index: Index = field(repr=False)
    hashes: MinHash = field(repr=False)

    def __call__(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """Drop a pair that is nearly the same as one that was kept before."""
        return [self._judge(pair) for pair in pairs]

    def _judge(self, pair: Pair) -> Verdict:
        signature = self.hashes((pair.view_a, pair.view_b))
        origin = Origin(_hash(pair.text), _hash(f"{pair.about_a.name}\0{pair.about_b.name}"))
        if self.index.most_similar(signature, origin) >= self.threshold:
            return Verdict(REASON)
        self.index.add(signature, origin)
        return KEEP


class Origin(NamedTuple):
    """Where a pair comes from: hashes of its sentence and of its views' names, 64 bits each."""

    sentence: int
    views: int


class MinHash:
    """Texts to `HASHES` minima (Broder 1997) over hashes of their character n-grams, as uint32."""

    def __init__(self, n: int) -> None:
        import numpy as np

        self.n = n
        self._letters = np.array([_odd(f"letter {i}") for i in range(n)], dtype=np.uint64)
        self._factors = np.array([_odd(f"factor {i}") for i in range(HASHES)], dtype=np.uint64)
        self._shifts = np.array([_odd(f"shift {i}") for i in range(HASHES)], dtype=np.uint64)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.uint32]:
        """The minima over all n-grams of all texts together: (HASHES,)."""
        import numpy as np

        grams = np.unique(np.concatenate([self._grams(text) for text in texts]))
        mixed = grams ^ (grams >> np.uint64(32))
        # Arithmetic modulo 2^64; the upper half of the bits is the good one.
        hashed = (mixed[:, None] * self._factors[None] + self._shifts[None]) >> np.uint64(32)
        minima: NDArray[np.uint32] = hashed.min(axis=0).astype(np.uint32)
        return minima

    def _grams(self, text: str) -> NDArray[np.uint64]:
        """A hash of every n-gram; a text shorter than that is padded to one."""
        import numpy as np

        folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).ljust(self.n)
        codes = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
        return np.lib.stride_tricks.sliding_window_view(codes, self.n) @ self._letters


class Index:
    """The signatures of the last `window` pairs, found by band.

    Tables take about 150 bytes a pair of the window from the first, signatures and origins 144 as they come.
    """

    def __init__(self, window: int, rows: int) -> None:
        import numpy as np

        self._window = window
        self._rows = rows
        self._bands = HASHES // rows
        self._slots = 1 << max(10, (2 * window - 1).bit_length())
        # One table a band: the number, from 1, of the last pair with a hash. A pair that takes another's slot in one
        # band hides it there and not in the others.
        self._tables = np.zeros((self._bands, self._slots), dtype=np.uint32)
        self._signatures = np.zeros((window, HASHES), dtype=np.uint8)
        self._origins = np.zeros((window, 2), dtype=np.uint64)
        self._factors = np.array([_odd(f"band {i}") for i in range(rows)], dtype=np.uint64)
        self._added = 0

    def most_similar(self, signature: NDArray[np.uint32], origin: Origin) -> float:
        """The estimated Jaccard similarity, at most 1, of the most similar pair that shares a band; 0 without one.

        Pairs of the same sentence by other views do not count.
        """
        import numpy as np

        numbers = np.unique(self._tables[np.arange(self._bands), self._places(signature)]).astype(np.int64)
        numbers = numbers[(numbers > 0) & (numbers > self._added - self._window)]
        places = (numbers - 1) % self._window
        sentences, views = self._origins[places].T
        places = places[(sentences != np.uint64(origin.sentence)) | (views == np.uint64(origin.views))]
        if not len(places):
            return 0.0
        equal = self._signatures[places] == signature.astype(np.uint8)
        chance = 1 / 256
        return float((equal.mean(axis=1).max() - chance) / (1 - chance))

    def add(self, signature: NDArray[np.uint32], origin: Origin) -> None:
        """Remember a pair."""
        import numpy as np

        self._signatures[self._added % self._window] = signature.astype(np.uint8)
        self._origins[self._added % self._window] = origin
        self._added += 1
        self._tables[np.arange(self._bands), self._places(signature)] = self._added

    def _places(self, signature: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The slot of each band."""
        import numpy as np

        bands = signature[: self._bands * self._rows].astype(np.uint64).reshape(self._bands, self._rows)
        hashed = bands @ self._factors
        return ((hashed ^ (hashed >> np.uint64(29))) & np.uint64(self._slots - 1)).astype(np.int64)


def rows_per_band(threshold: float) -> int:
    """The most rows a band may have so that pairs of that similarity meet in one with a probability of `RECALL`."""
    rows = [r for r in range(1, HASHES // 2) if 1 - (1 - threshold**r) ** (HASHES // r) >= RECALL]
    return max(rows)


def _odd(name: str) -> int:
    return _hash(name) | 1


def _hash(text: str) -> int:
    return xxhash.xxh64_intdigest(text.encode("utf-8", "surrogatepass"))


def build(params: PARAMS, runtime: Runtime) -> NearDuplicates:
    """The filter for `params`."""
    spec = FilterSpec("near-duplicates", params.model_dump())
    try:
        index = Index(params.window, rows_per_band(params.threshold))
    except MemoryError:
        raise InputError(f"--filter near-duplicates: window={params.window} is more than the memory holds") from None
    return NearDuplicates(spec, params.threshold, index, MinHash(params.n))
