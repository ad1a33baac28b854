"""Drop pairs that are nearly the same as an earlier one: MinHash over character n-grams, banded (LSH)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING

import xxhash
from pydantic import Field

from augment.errors import InputError
from augment.view import Runtime
from pipelines.filter import FilterSpec, Options, PairColumns, Verdicts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REASON = "near-duplicate of an earlier pair"
HASHES = 128
SEED = 1
RECALL = 0.98
"""The least probability that two pairs whose similarity is the threshold meet in a band."""


class PARAMS(Options):
    """Parameters of the search for near-duplicates."""

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
    n: int
    index: Index = field(repr=False)

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Drop a pair that is nearly the same as one that was kept before."""
        return self.settle(self.prepare(pairs))

    def prepare(self, pairs: PairColumns) -> NDArray[np.uint32]:
        """The signature of each pair and then its origin: (pairs, HASHES + 4)."""
        import numpy as np

        signatures = sign(list(zip(pairs.strings("view_a"), pairs.strings("view_b"), strict=True)), self.n)
        views = map("\0".join, zip(pairs.strings("view_a_name"), pairs.strings("view_b_name"), strict=True))
        hashes = zip(map(_hash, pairs.strings("text")), map(_hash, views), strict=True)
        origins = np.array(list(hashes), dtype=np.uint64).reshape(-1, 2)
        return np.hstack([signatures, origins.view(np.uint32)])

    def settle(self, prepared: NDArray[np.uint32]) -> Verdicts:
        """Say which of successive pairs are dropped, by what was prepared of them."""
        import numpy as np

        origins = np.ascontiguousarray(prepared[:, HASHES:]).view(np.uint64)
        is_like = self.index.add(prepared[:, :HASHES], origins, self.threshold)
        return Verdicts([REASON if each else None for each in is_like])


def sign(pairs: Sequence[Sequence[str]], n: int) -> NDArray[np.uint32]:
    """MinHash signatures (Broder 1997): the minima over the character n-grams of all texts of each pair together.

    Args:
        pairs: The texts; n-grams are taken from each by itself, and one that is shorter is padded.
        n: Characters in an n-gram.

    Returns:
        (pairs, HASHES).
    """
    import numpy as np
    from rensa import RMinHash

    folded = [[_folded(text).ljust(n) for text in dict.fromkeys(texts)] for texts in pairs]
    grams = _grams("".join(text for texts in folded for text in texts), n)
    lengths = np.array([len(text) for texts in folded for text in texts], dtype=np.int64)
    whole = np.ones(len(grams), dtype=bool)
    whole[(lengths.cumsum()[:-1, None] - np.arange(1, n)).ravel()] = False  # those of two texts
    sizes = [sum(len(text) - n + 1 for text in texts) for texts in folded]
    starts = np.array([0, *sizes], dtype=np.uint64).cumsum(dtype=np.uint64)
    digests = RMinHash.digest_matrix_from_flat_token_hashes(grams[whole], starts, HASHES, SEED)
    numbers = chain.from_iterable(digests.to_rows())
    return np.fromiter(numbers, dtype=np.uint32, count=len(pairs) * HASHES).reshape(-1, HASHES)


def _grams(text: str, n: int) -> NDArray[np.uint64]:
    """A hash of every n-gram."""
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    grams = np.zeros(max(0, len(codes) - n + 1), dtype=np.uint64)
    for place in range(n):
        grams += codes[place : place + len(grams)] * np.uint64(_odd(f"letter {place}"))
    return grams ^ (grams >> np.uint64(32))


def _folded(text: str) -> str:
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split())


class Index:
    """The signatures of the last `window` pairs, found by band.

    Tables take about 150 bytes a pair of the window from the first, signatures and origins 144 as they come. An origin
    is where a pair comes from: hashes of its sentence and of its views' names, 64 bits each.
    """

    def __init__(self, window: int, rows: int) -> None:
        import numpy as np

        self._window = window
        self._rows = rows
        self._bands = HASHES // rows
        self._slots = 1 << max(16, (2 * window - 1).bit_length())
        # One table a band: the number, from 1, of the last pair with a hash. A pair that takes another's slot in one
        # band hides it there and not in the others.
        self._tables = np.zeros(self._bands * self._slots, dtype=np.uint32)
        self._signatures = np.zeros((window, HASHES), dtype=np.uint8)
        self._origins = np.zeros((window, 2), dtype=np.uint64)
        self._factors = np.array([_odd(f"band {i}") for i in range(rows)], dtype=np.uint64)
        self._added = 0

    def add(self, signatures: NDArray[np.uint32], origins: NDArray[np.uint64], threshold: float) -> list[bool]:
        """Take in pairs one after the other, but for those that are like one that was taken in before.

        Two pairs are compared where they share a band, unless they are of the same sentence by other views; a pair is
        like another one when their estimated Jaccard similarity is at least the threshold.

        Args:
            signatures: (n, HASHES).
            origins: (n, 2).
            threshold: The similarity.

        Returns:
            Which of the n pairs are like an earlier one.
        """
        import numpy as np

        short, places = signatures.astype(np.uint8), self._places(signatures)
        before, numbers = _previous(places), self._tables[places].astype(np.int64)
        rows, bands = np.nonzero((numbers > 0) & (numbers > self._added - self._window))
        old = (numbers[rows, bands] - 1) % self._window
        like_old = np.zeros(places.shape, dtype=np.bool_)
        kept = self._signatures[old], self._origins[old]
        like_old[rows, bands] = _alike((short[rows], origins[rows]), kept, threshold)

        @cache
        def are_alike(row: int, other: int) -> bool:
            one, two = ((short[[place]], origins[[place]]) for place in (row, other))
            return bool(_alike(one, two, threshold)[0])

        taken = np.zeros(len(places), dtype=np.int64)  # the number of each pair, from 1; 0 of one that is dropped
        suspects = like_old | (before >= 0)
        suspected = np.asarray(suspects.any(axis=1))
        for row in range(len(places)):
            least = self._added - self._window + 1
            for band in np.flatnonzero(suspects[row]).tolist() if suspected[row] else ():
                last = _last_taken(before, taken, row, band)
                number = numbers[row, band] if last < 0 else taken[last]
                if number >= least and (like_old[row, band] if last < 0 else are_alike(row, last)):
                    break
            else:
                self._added += 1
                taken[row] = self._added
        dropped = taken == 0
        fresh = taken[~dropped]
        self._signatures[(fresh - 1) % self._window] = short[~dropped]
        self._origins[(fresh - 1) % self._window] = origins[~dropped]
        self._tables[places[~dropped]] = fresh[:, None]
        return [bool(each) for each in dropped]

    def _places(self, signatures: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The slot of each band: (n, HASHES) to (n, bands)."""
        import numpy as np

        bands = signatures[:, : self._bands * self._rows].astype(np.uint64).reshape(-1, self._bands, self._rows)
        hashed = bands @ self._factors
        slots = ((hashed ^ (hashed >> np.uint64(29))) & np.uint64(self._slots - 1)).astype(np.int64)
        return np.asarray(slots + np.arange(self._bands) * self._slots)


def _previous(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The last row before each that has the same place in a band, -1 if there is none: (n, bands), as `places` is."""
    import numpy as np

    flat, bands = places.ravel(), places.shape[1]
    order = np.argsort(flat, kind="stable")
    again = flat[order[1:]] == flat[order[:-1]]
    previous = np.full(len(flat), -1, dtype=np.int64)
    previous[order[1:][again]] = order[:-1][again] // max(1, bands)
    return previous.reshape(places.shape)


def _last_taken(before: NDArray[np.int64], taken: NDArray[np.int64], row: int, band: int) -> int:
    """The last row before this one with its hash in a band that was taken in, -1 if there is none.

    `before`, as `_previous` gives it, is made to point there: what was dropped once is not passed again.
    """
    last = int(before[row, band])
    while last >= 0 and taken[last] == 0:
        last = int(before[last, band])
    before[row, band] = last
    return last


def _alike(
    ours: tuple[NDArray[np.uint8], NDArray[np.uint64]],
    theirs: tuple[NDArray[np.uint8], NDArray[np.uint64]],
    threshold: float,
) -> NDArray[np.bool_]:
    """Which pairs, by signatures to 8 bits and origins, are like the other ones: (n, HASHES) and (n, 2) to (n,)."""
    import numpy as np

    equal = np.count_nonzero(ours[0] == theirs[0], axis=1) / HASHES
    chance = 1 / 256
    compared = (theirs[1][:, 0] != ours[1][:, 0]) | (theirs[1][:, 1] == ours[1][:, 1])
    return np.asarray(compared & ((equal - chance) / (1 - chance) >= threshold))


def rows_per_band(threshold: float) -> int:
    """The most rows a band may have so that pairs of that similarity meet in one with a probability of `RECALL`."""
    return max(r for r in range(1, HASHES // 2) if 1 - (1 - threshold**r) ** (HASHES // r) >= RECALL)


def _odd(name: str) -> int:
    return _hash(name) | 1


def _hash(text: str) -> int:
    return xxhash.xxh64_intdigest(text.encode("utf-8", "surrogatepass"))


def build(params: PARAMS, runtime: Runtime) -> NearDuplicates:
    """The filter for `params`."""
    spec = FilterSpec("near-duplicates", params.model_dump(), versions={"rensa": version("rensa")})
    try:
        index = Index(params.window, rows_per_band(params.threshold))
    except MemoryError:
        raise InputError(f"--filter near-duplicates: window={params.window} is more than the memory holds") from None
    return NearDuplicates(spec, params.threshold, params.n, index)
