"""Which 64-bit hashes were seen before: sorted runs, the long ones in unnamed files, in bounded memory."""

import mmap
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from augment.errors import TwinviewsError

MEMORY_HASHES = 1 << 20
"""The longest run kept in memory; all such runs together are less than twice as long, 16 MiB."""
Hashes: TypeAlias = NDArray[np.uint64]


class Seen:
    """Hashes that were seen, in sorted runs, each more than twice as long as the next.

    Runs of more than `memory_hashes` go to files in `folder` that have no name and vanish with the process.
    """

    def __init__(self, folder: Path, memory_hashes: int = MEMORY_HASHES) -> None:
        self._folder = folder
        self._memory_hashes = memory_hashes
        self._runs: list[Hashes] = []

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Add hashes, and return which of them are new; raises TwinviewsError if the disk is full."""
        values, first = np.unique(hashes, return_index=True)
        for known in self._runs:
            places = np.searchsorted(known, values)
            is_new = known[np.minimum(places, len(known) - 1)] != values
            values, first = values[is_new], first[is_new]
            _release(known)
        fresh = np.zeros(len(hashes), dtype=np.bool_)
        fresh[first] = True
        if len(values):
            while self._runs and len(self._runs[-1]) <= 2 * len(values):
                values = self._merge([self._runs.pop(), values])
            self._runs.append(values)
        return fresh

    def _merge(self, runs: list[Hashes]) -> Hashes:
        if sum(map(len, runs)) <= self._memory_hashes:
            return np.sort(np.concatenate(runs), kind="stable")
        try:
            with tempfile.TemporaryFile(dir=self._folder) as stream:
                for part in _merged(runs, self._memory_hashes // 4):
                    stream.write(part.data)
                stream.flush()
                return np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint64)
        except OSError as error:
            raise TwinviewsError(
                f"{self._folder} cannot store the hashes of the sentences seen ({error.strerror}): make room there"
            ) from None


def _merged(runs: list[Hashes], step: int) -> Iterator[Hashes]:
    """The hashes of runs in order, in parts of at most `step` hashes of each run."""
    left = [*runs]
    while left := [run for run in left if len(run)]:
        # The smallest end of the next parts: these parts hold all hashes up to it.
        end = min(run[min(step, len(run)) - 1] for run in left)
        stops = [int(np.searchsorted(run, end, side="right")) for run in left]
        yield np.sort(np.concatenate([run[:stop] for run, stop in zip(left, stops, strict=True)]), kind="stable")
        left = [run[stop:] for run, stop in zip(left, stops, strict=True)]
        for run in runs:
            _release(run)


def _release(run: Hashes) -> None:
    """Release the pages that were read of a run in a file; the system's cache may keep them."""
    mapped = getattr(run.base, "obj", None)
    if isinstance(mapped, mmap.mmap):
        mapped.madvise(mmap.MADV_DONTNEED)
