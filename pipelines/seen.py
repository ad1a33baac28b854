"""Which 64-bit hashes were seen before: sorted runs, the long ones in unnamed files, so that memory stays bounded."""

import mmap
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from augment.errors import TwinviewsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Run: TypeAlias = tuple[NDArray[np.uint64], mmap.mmap | None]
    """Sorted hashes, and the file that they are mapped from if they are not in memory."""

MEMORY_HASHES = 1 << 20
"""The longest run that is kept in memory; all of these together are less than twice as long, 16 MiB."""


class Seen:
    """Hashes that were seen, in sorted runs each of which is more than twice as long as the next.

    Args:
        folder: Where runs go that are too long for memory; their files have no name and end with the process.
        memory_hashes: The longest run that is kept in memory.
    """

    def __init__(self, folder: Path, memory_hashes: int = MEMORY_HASHES) -> None:
        self._folder = folder
        self._memory_hashes = memory_hashes
        self._runs: list[Run] = []

    def add(self, hashes: "NDArray[np.uint64]") -> "NDArray[np.bool_]":
        """Take hashes in; which of them are the first of their kind.

        Raises:
            TwinviewsError: The disk does not take them.
        """
        import numpy as np

        values, first = np.unique(hashes, return_index=True)
        for known, mapped in self._runs:
            places = np.searchsorted(known, values)
            is_new = known[np.minimum(places, len(known) - 1)] != values
            values, first = values[is_new], first[is_new]
            _release(mapped)
        fresh = np.zeros(len(hashes), dtype=np.bool_)
        fresh[first] = True
        if len(values):
            new: Run = (values, None)
            while self._runs and len(self._runs[-1][0]) <= 2 * len(new[0]):
                new = self._merge(self._runs.pop(), new)
            self._runs.append(new)
        return fresh

    def _merge(self, *runs: "Run") -> "Run":
        import numpy as np

        if sum(len(values) for values, _ in runs) <= self._memory_hashes:
            return np.sort(np.concatenate([values for values, _ in runs]), kind="stable"), None
        try:
            with tempfile.TemporaryFile(dir=self._folder) as stream:
                for part in _merged(runs, self._memory_hashes // 4):
                    stream.write(part.data)
                stream.flush()
                mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise TwinviewsError(
                f"{self._folder} does not take the hashes of the sentences seen ({error.strerror}): make room there"
            ) from None
        return np.frombuffer(mapped, dtype=np.uint64), mapped


def _merged(runs: "tuple[Run, ...]", step: int) -> Iterator["NDArray[np.uint64]"]:
    """The hashes of runs in order, in parts of at most `step` of each."""
    import numpy as np

    left = [values for values, _ in runs]
    while any(map(len, left)):
        # Up to the least of the ends of the next parts: all that is below it is in them.
        end = min(run[min(step, len(run)) - 1] for run in left if len(run))
        stops = [int(np.searchsorted(run, end, side="right")) for run in left]
        yield np.sort(np.concatenate([run[:stop] for run, stop in zip(left, stops, strict=True)]), kind="stable")
        left = [run[stop:] for run, stop in zip(left, stops, strict=True)]
        for _, mapped in runs:
            _release(mapped)


def _release(mapped: mmap.mmap | None) -> None:
    """Let go of the pages that were read of a file; they stay in the system's cache as long as it has room."""
    if mapped is not None:
        mapped.madvise(mmap.MADV_DONTNEED)
