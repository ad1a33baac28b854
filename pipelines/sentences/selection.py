"""Which texts to keep: sets of hashes, empty texts, duplicates, and texts of several labels."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from pipelines.similarity import word_count


class Seen:
    """A set of 64-bit hashes as sorted runs, each more than twice as long as the next: eight bytes a hash."""

    def __init__(self) -> None:
        self._runs = list[NDArray[np.uint64]]()

    def add(self, hashes: Sequence[int]) -> list[bool]:
        """Add hashes, and return which of them are new."""
        values, indices = np.unique(np.array(hashes, dtype=np.uint64), return_index=True)
        for run in self._runs:
            is_new = run[np.minimum(np.searchsorted(run, values), len(run) - 1)] != values
            values, indices = values[is_new], indices[is_new]
        flags: list[bool] = np.isin(np.arange(len(hashes)), indices).tolist()
        while self._runs and len(self._runs[-1]) <= 2 * len(values):
            values = np.sort(np.concatenate([self._runs.pop(), values]), kind="stable")
        if len(values):
            self._runs.append(values)
        return flags


class Selection:
    """What becomes of texts, up to a limit of kept ones: their `counts` by fate.

    A fate is "kept", "empty", "duplicate", with `words` "length" (bounds, in words), or "conflict": the text
    is there already, but this label of it is new.
    """

    def __init__(self, words: tuple[int, int | None] | None, limit: int | None) -> None:
        self._texts, self._labels = Seen(), Seen()
        self._words, self._limit = words, limit
        names = ("read", "kept", "empty", "duplicate", *(["length"] if words else []))
        self.counts = Counter(dict.fromkeys(names, 0))

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return self.counts["kept"] == self._limit

    def fates(self, texts: Sequence[str], labels: Sequence[str]) -> list[str]:
        """The fate of each text; its label is "" if it has none."""
        hashes = [xxhash.xxh64_intdigest(text.encode()) for text in texts]
        fates = [*map(self._fate, texts)]
        places = [place for place, fate in enumerate(fates) if not fate]
        for place, is_new in zip(places, self._texts.add([hashes[place] for place in places]), strict=True):
            fates[place] = "kept" if is_new else "duplicate"
        if places := [place for place in places if labels[place]]:
            numbers = [xxhash.xxh64_intdigest(labels[place].encode(), hashes[place]) for place in places]
            for place, is_new in zip(places, self._labels.add(numbers), strict=True):
                if is_new and fates[place] == "duplicate":
                    fates[place] = "conflict"
        return fates

    def _fate(self, text: str) -> str:
        """The fate of a text that does not depend on those before it, else ""."""
        if not text:
            return "empty"
        if self._words and not self._words[0] <= word_count(text) <= (self._words[1] or math.inf):
            return "length"
        return ""
