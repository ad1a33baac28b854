"""Drop pairs that are nearly the same as an earlier one: MinHash over character n-grams, banded (LSH)."""

from array import array
from collections.abc import Sequence
from importlib.metadata import version
from itertools import chain
from typing import Self
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr
from xxhash import xxh64_intdigest

from augment.view import Runtime
from pipelines.pairs.filter import SIDES, Filter, PairColumns, Verdicts

REASON = "near-duplicate of an earlier pair"
HASHES = 128
SEED = 1
RECALL = 0.98
"""The lowest probability that two pairs whose similarity is the threshold meet in a band."""
CHANCE = 1 / 256
"""The probability that two different hashes are equal in 8 bits."""


class NearDuplicates(Filter):
    """It remembers the pairs that it kept, the last `window` of them (0.3 GB per million).

    A pair is dropped if the Jaccard similarity of its n-grams of `n` characters, those of both sides together,
    to those of an earlier pair is at least `threshold`. It is estimated by the share of equal hashes, within
    0.05 two times out of three, or better. Pairs of one sentence by different views are meant to be alike and
    are not compared.
    """

    by_row = False
    versions = {"rensa": version("rensa")}  # noqa: RUF012 - a ClassVar of the parent
    threshold: float = Field(default=0.8, ge=0.3, le=1)
    n: int = Field(default=5, ge=1, le=50)
    window: int = Field(default=1_000_000, ge=1, le=100_000_000)
    _index: "Index" = PrivateAttr()

    def build(self, runtime: Runtime) -> Self:
        """Reserve memory for the pairs it remembers."""
        self._index = Index(self.window, self.threshold)
        return self

    def __call__(self, pairs: PairColumns) -> Verdicts:
        """Judge every pair."""
        sides, names = (
            zip(*(pairs.strings(side + end) for side in SIDES), strict=True) for end in ("", "_name")
        )
        texts = (*pairs.strings("text"), *map("\0".join, names))
        origins = (
            np.array([xxh64_intdigest(text.encode()) for text in texts], dtype=np.uint64).reshape(2, -1).T
        )
        dropped = self._index.add(sign(list(sides), self.n), origins)
        return Verdicts([REASON if is_near else None for is_near in dropped])


def sign(pairs: Sequence[Sequence[str]], n: int) -> NDArray[np.uint32]:
    """MinHash signatures (Broder 1997) of pairs, (pairs, HASHES), over the n-grams of each text, padded to `n`."""
    from rensa import RMinHash

    folded = [
        [" ".join(normalize("NFKC", text).casefold().split()).ljust(n) for text in dict.fromkeys(pair)]
        for pair in pairs
    ]
    flat = [*chain.from_iterable(folded)]
    codes = np.frombuffer("".join(flat).encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    factors = np.array([xxh64_intdigest(b"letter %d" % place) | 1 for place in range(n)], dtype=np.uint64)
    grams = np.correlate(codes, factors, "valid")
    grams ^= grams >> np.uint64(32)
    ends = np.array([len(text) for text in flat]).cumsum()
    within_text = np.ones(len(grams), dtype=bool)
    within_text[(ends[:-1, None] - np.arange(1, n)).ravel()] = False
    texts_so_far = np.array([len(texts) for texts in folded]).cumsum()
    starts = np.array([0, *(ends[texts_so_far - 1] - (n - 1) * texts_so_far)], dtype=np.uint64)
    signatures = array("I")
    for row in RMinHash.digest_matrix_from_flat_token_hashes(
        grams[within_text], starts, HASHES, SEED
    ).to_rows():
        signatures.fromlist(row)
    return np.frombuffer(signatures, dtype=np.uint32).reshape(-1, HASHES)


class Index:
    """The signatures of the last `window` pairs, found by bands of hashes.

    A band has as many hashes as pairs at the threshold can have and still meet with a probability of `RECALL`.
    Tables take about 150 bytes per pair of the window at once, signatures and origins (hashes of text and
    views' names) 144.
    """

    def __init__(self, window: int, threshold: float) -> None:
        rows = max(r for r in range(1, HASHES // 2) if 1 - (1 - threshold**r) ** (HASHES // r) >= RECALL)
        self._window, self._threshold, self._rows, self._bands = window, threshold, rows, HASHES // rows
        self._slots = 1 << max(16, (2 * window - 1).bit_length())
        # One table per band: the number, from 1, of the last pair with a hash. A pair that takes another's
        # slot in one band hides it there but not in the others.
        self._tables = np.zeros(self._bands * self._slots, dtype=np.uint32)
        self._signatures = np.zeros((window, HASHES), dtype=np.uint8)
        self._origins = np.zeros((window, 2), dtype=np.uint64)
        self._factors = np.array([xxh64_intdigest(b"band %d" % i) | 1 for i in range(rows)], dtype=np.uint64)
        self._added = 0

    def add(self, signatures: NDArray[np.uint32], origins: NDArray[np.uint64]) -> list[bool]:
        """Add pairs one by one, except those like an earlier one; returns which are.

        Shapes: (n, HASHES), (n, 2).
        """
        octets, dropped = signatures.astype(np.uint8), []
        for signature, origin, places in zip(octets, origins, self._places(signatures), strict=True):
            is_near = self._has_near(signature, origin, places)
            if not is_near:
                self._signatures[self._added % self._window] = signature
                self._origins[self._added % self._window] = origin
                self._added += 1
                self._tables[places] = self._added
            dropped.append(is_near)
        return dropped

    def _places(self, signatures: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Where each pair stands in the table of each band, (n, bands)."""
        banded = signatures[:, : self._bands * self._rows].astype(np.uint64)
        hashes = banded.reshape(-1, self._bands, self._rows) @ self._factors
        slots = (hashes ^ (hashes >> np.uint64(29))) & np.uint64(self._slots - 1)
        return slots.astype(np.int64) + np.arange(self._bands) * self._slots

    def _has_near(
        self, signature: NDArray[np.uint8], origin: NDArray[np.uint64], places: NDArray[np.int64]
    ) -> bool:
        """Whether one of the earlier pairs with which a pair shares a place is nearly the same."""
        numbers = self._tables[places].astype(np.int64)
        numbers = numbers[numbers > max(0, self._added - self._window)]
        if not len(numbers):
            return False
        earlier = (numbers - 1) % self._window
        differs = self._origins[earlier] != origin
        is_compared = differs[:, 0] | ~differs[:, 1]
        equal = np.count_nonzero(self._signatures[earlier] == signature, axis=1)
        similarity = (equal / HASHES - CHANCE) / (1 - CHANCE)
        return bool((is_compared & (similarity >= self._threshold)).any())
