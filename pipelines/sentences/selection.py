"""Which texts to keep: sets of hashes in bounded memory, empty texts, duplicates, and texts of several labels."""

import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from pipelines.similarity import word_count

RUN_HASHES = 1 << 20
"""Hashes of a run in a file, 8 MiB; those in memory are fewer than twice as many."""


class Seen:
    """A set of 64-bit hashes as sorted runs: long ones in files of `folder` without names, the others in memory."""

    def __init__(self, folder: Path, run_hashes: int = RUN_HASHES) -> None:
        self._folder, self._run_hashes = folder, run_hashes
        self._files, self._runs = list[NDArray[np.uint64]](), list[NDArray[np.uint64]]()

    def add(self, hashes: Sequence[int]) -> list[bool]:
        """Add hashes, and return which of them are new.

        Raises OSError, naming the folder, if its disk is full.
        """
        values, indices = np.unique(np.array(hashes, dtype=np.uint64), return_index=True)
        for run in (*self._files, *self._runs):
            is_new = run[np.minimum(np.searchsorted(run, values), len(run) - 1)] != values
            values, indices = values[is_new], indices[is_new]
        flags: list[bool] = np.isin(np.arange(len(hashes)), indices).tolist()
        while self._runs and len(self._runs[-1]) <= 2 * len(values):
            values = np.sort(np.concatenate([self._runs.pop(), values]), kind="stable")
        if len(values) >= self._run_hashes:
            self._files.append(self._on_disk(values))
        elif len(values):
            self._runs.append(values)
        return flags

    def _on_disk(self, run: NDArray[np.uint64]) -> NDArray[np.uint64]:
        try:
            with tempfile.TemporaryFile(dir=self._folder) as stream:
                stream.write(run.data)
                return np.memmap(stream, dtype=np.uint64, mode="r")
        except OSError as error:
            error.filename = str(self._folder)  # the file itself has no name
            raise


class Selection:
    """What becomes of texts, up to a limit of kept ones: their `counts` by fate.

    A fate is "kept", "empty", "duplicate", with `words` "length" (bounds, in words), or "conflict": the text
    is there already, but this label or pair of it is new.
    """

    def __init__(self, folder: Path, words: tuple[int, int | None] | None, limit: int | None) -> None:
        self._texts, self._values = Seen(folder), Seen(folder)
        self._words, self._limit = words, limit
        names = ("read", "kept", "empty", "duplicate", *(["length"] if words else []))
        self.counts = Counter(dict.fromkeys(names, 0))

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return self.counts["kept"] == self._limit

    def fates(self, texts: Sequence[str], values: Sequence[str]) -> list[str]:
        """The fate of each text up to the last one that is kept.

        `values` are its label and pair, "" if it has none.
        """
        hashes = [xxhash.xxh64_intdigest(text.encode()) for text in texts]
        fates = [*map(self._fate, texts)]
        places = [place for place, fate in enumerate(fates) if not fate]
        for place, is_new in zip(places, self._texts.add([hashes[place] for place in places]), strict=True):
            fates[place] = "kept" if is_new else "duplicate"
        if places := [place for place in places if values[place]]:
            numbers = [xxhash.xxh64_intdigest(values[place].encode(), hashes[place]) for place in places]
            for place, is_new in zip(places, self._values.add(numbers), strict=True):
                if is_new and fates[place] == "duplicate":
                    fates[place] = "conflict"
        kept = [place for place, fate in enumerate(fates) if fate == "kept"]
        if self._limit is not None and self.counts["kept"] + len(kept) >= self._limit:
            fates = fates[: kept[self._limit - self.counts["kept"] - 1] + 1]
        self.counts.update(fates)
        self.counts["read"] += len(fates)
        return fates

    def _fate(self, text: str) -> str:
        """The fate of a text that does not depend on those before it, else ""."""
        if not text:
            return "empty"
        if self._words and not self._words[0] <= word_count(text) <= (self._words[1] or math.inf):
            return "length"
        return ""
