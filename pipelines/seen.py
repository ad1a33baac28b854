"""Which 64-bit hashes were seen before: sorted runs, the long ones in unnamed files, so that memory stays bounded."""

import mmap
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from augment.errors import TwinviewsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MEMORY_HASHES = 1 << 20
"""The longest run that is kept in memory; all of these together are less than twice as long, 16 MiB."""

PIECE_HASHES = 1 << 20
"""So many of a file are looked at before its pages are let go of, 8 MiB."""


class Seen:
    """Hashes that were seen, in sorted runs each of which is more than twice as long as the next.

    Args:
        folder: Where runs go that are too long for memory; their files have no name and end with the process.
        memory_hashes: The longest run that is kept in memory.
    """

    def __init__(self, folder: Path, memory_hashes: int = MEMORY_HASHES) -> None:
        self._folder = folder
        self._memory_hashes = memory_hashes
        self._runs: list[_Run] = []

    def add(self, hashes: "NDArray[np.uint64]") -> "NDArray[np.bool_]":
        """Take hashes in; which of them are the first of their kind.

        Raises:
            TwinviewsError: The disk does not take them.
        """
        import numpy as np

        values, first = np.unique(hashes, return_index=True)
        for run in self._runs:
            is_new = ~run.holds(values)
            values, first = values[is_new], first[is_new]
        fresh = np.zeros(len(hashes), dtype=np.bool_)
        fresh[first] = True
        if len(values):
            self._insert(_Run(values))
        return fresh

    def _insert(self, run: "_Run") -> None:
        while self._runs and len(self._runs[-1].values) <= 2 * len(run.values):
            run = self._merge(self._runs.pop(), run)
        self._runs.append(run)

    def _merge(self, one: "_Run", two: "_Run") -> "_Run":
        import numpy as np

        if len(one.values) + len(two.values) <= self._memory_hashes:
            return _Run(np.sort(np.concatenate([one.values, two.values]), kind="stable"))
        try:
            with tempfile.TemporaryFile(dir=self._folder) as stream:
                for part in _merged(one, two, self._memory_hashes // 4):
                    stream.write(part.data)
                stream.flush()
                mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise TwinviewsError(
                f"{self._folder} does not take the hashes of the sentences seen ({error.strerror}): make room there"
            ) from None
        return _Run(np.frombuffer(mapped, dtype=np.uint64), mapped)


class _Run:
    """Sorted hashes, in memory or mapped from a file."""

    def __init__(self, values: "NDArray[np.uint64]", mapped: mmap.mmap | None = None) -> None:
        self.values = values
        self._mapped = mapped

    def holds(self, values: "NDArray[np.uint64]") -> "NDArray[np.bool_]":
        """Which of the sorted `values` are here."""
        import numpy as np

        found = np.zeros(len(values), dtype=np.bool_)
        for start in range(0, len(self.values), PIECE_HASHES):
            piece = self.values[start : start + PIECE_HASHES]
            first, last = np.searchsorted(values, piece[0]), np.searchsorted(values, piece[-1], side="right")
            found[first:last] = piece[np.searchsorted(piece, values[first:last])] == values[first:last]
            self.release()
        return found

    def release(self) -> None:
        """Let go of the pages that were read of a file; they stay in the system's cache as long as it has room."""
        if self._mapped is not None:
            self._mapped.madvise(mmap.MADV_DONTNEED)


def _merged(one: _Run, two: _Run, step: int) -> Iterator["NDArray[np.uint64]"]:
    """The hashes of two runs in order, in parts of at most twice `step`."""
    import numpy as np

    begin = [0, 0]
    runs = (one.values, two.values)
    while any(start < len(run) for start, run in zip(begin, runs, strict=True)):
        # Up to the least of the ends of the next parts: all that is below it is in them.
        ends = [
            run[min(start + step, len(run)) - 1] for start, run in zip(begin, runs, strict=True) if start < len(run)
        ]
        stops = [int(np.searchsorted(run, min(ends), side="right")) for run in runs]
        yield np.sort(np.concatenate([run[a:b] for run, a, b in zip(runs, begin, stops, strict=True)]), kind="stable")
        begin = stops
        for run in (one, two):
            run.release()
