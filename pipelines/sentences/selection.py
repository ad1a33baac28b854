"""Which texts to keep: sets of hashes in bounded memory, empty texts, duplicates, and texts of several labels."""

import math
import mmap
import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from pipelines.similarity import word_count

MEMORY_HASHES = 1 << 20
"""Hashes of the longest run in memory; all such runs together are less than twice as long, 16 MiB."""
Hashes: TypeAlias = NDArray[np.uint64]


class Seen:
    """A set of 64-bit hashes in bounded memory: sorted runs, each more than twice as long as the next.

    Runs of more than `memory_hashes` go to files in `folder` that have no name and vanish with the process.
    """

    def __init__(self, folder: Path, memory_hashes: int = MEMORY_HASHES) -> None:
        self._folder, self._memory_hashes, self._runs = folder, memory_hashes, list[Hashes]()

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Add hashes, and return which of them are new; raises OSError, naming the folder, if its disk is full."""
        values, indices = np.unique(hashes, return_index=True)
        for run in self._runs:
            positions = np.searchsorted(run, values)
            is_new = run[np.minimum(positions, len(run) - 1)] != values
            values, indices = values[is_new], indices[is_new]
            _release(run)
        mask = np.zeros(len(hashes), dtype=np.bool_)
        mask[indices] = True
        if len(values):
            while self._runs and len(self._runs[-1]) <= 2 * len(values):
                values = self._merge([self._runs.pop(), values])
            self._runs.append(values)
        return mask

    def _merge(self, runs: list[Hashes]) -> Hashes:
        size = sum(map(len, runs))
        if size <= self._memory_hashes:
            return np.sort(np.concatenate(runs), kind="stable")
        try:
            with tempfile.TemporaryFile(dir=self._folder) as stream:
                # The hashes are spread evenly, so equal ranges of them make parts of about equal size.
                width = 2**64 * (self._memory_hashes // 4) // size
                edges = np.array(range(width, 2**64, width), dtype=np.uint64)
                for parts in zip(*(np.split(run, np.searchsorted(run, edges)) for run in runs), strict=True):
                    stream.write(np.sort(np.concatenate(parts), kind="stable").data)
                    for run in runs:
                        _release(run)
                stream.flush()
                return np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint64)
        except OSError as error:
            error.filename = str(self._folder)  # the file itself has no name
            raise


def _release(run: Hashes) -> None:
    """Release the pages that were read of a run in a file; the system's cache may keep them."""
    mapped = getattr(run.base, "obj", None)
    if isinstance(mapped, mmap.mmap):
        mapped.madvise(mmap.MADV_DONTNEED)


class Selection:
    """What becomes of texts, up to a limit of kept ones.

    Attributes:
        counts: Texts by their fate: "kept", "empty", "duplicate", with `words` "length" (bounds, in words), and
            "conflict" if there are any: the text is there already, but this label or pair of it is new.
        conflicts: Hashes of the texts with a conflict.
    """

    def __init__(
        self, folder: Path, words: tuple[int, int | None] | None, limit: int | None, dropped: Collection[int] = ()
    ) -> None:
        self._texts, self._values = Seen(folder), Seen(folder)
        self._words, self._limit, self._dropped = words, limit, dropped
        names = ("read", "kept", "empty", "duplicate", *(["length"] if words else []))
        self.counts: dict[str, int] = dict.fromkeys(names, 0)
        self.conflicts = set[int]()

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return self.counts["kept"] == self._limit

    def fates(self, texts: Sequence[str], values: Sequence[str]) -> list[str]:
        """The fate of each text up to the last one that is kept; `values` are its label and pair, "" if it has none."""
        hashes = [xxhash.xxh64_intdigest(text.encode()) for text in texts]
        fates = [*map(self._fate, texts, hashes)]
        places = [place for place, fate in enumerate(fates) if not fate]
        is_new = self._texts.add(np.array([hashes[place] for place in places], dtype=np.uint64)).tolist()
        for place, new in zip(places, is_new, strict=True):
            fates[place] = "kept" if new else "duplicate"
        if places := [place for place in places if values[place]]:
            numbers = [xxhash.xxh64_intdigest(values[place].encode(), hashes[place]) for place in places]
            for place, new in zip(places, self._values.add(np.array(numbers, dtype=np.uint64)).tolist(), strict=True):
                if new and fates[place] == "duplicate":
                    fates[place] = "conflict"
                    self.conflicts.add(hashes[place])
        kept = [place for place, fate in enumerate(fates) if fate == "kept"]
        if self._limit is not None and self.counts["kept"] + len(kept) >= self._limit:
            fates = fates[: kept[self._limit - self.counts["kept"] - 1] + 1]
        for fate, number in {**Counter(fates), "read": len(fates)}.items():
            self.counts[fate] = self.counts.get(fate, 0) + number
        return fates

    def _fate(self, text: str, digest: int) -> str:
        """The fate of a text that does not depend on those before it, else ""."""
        if not text:
            return "empty"
        if self._words and not self._words[0] <= word_count(text) <= (self._words[1] or math.inf):
            return "length"
        return "conflict" if digest in self._dropped else ""
