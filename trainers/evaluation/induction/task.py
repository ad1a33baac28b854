"""A pair of languages with a training and a test dictionary, and how well translations are retrieved."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from trainers.evaluation.induction.mapping import centred, procrustes
from trainers.evaluation.induction.retrieval import neighbourhood, ranks
from trainers.evaluation.task import Items, Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trainers.evaluation.vectors import Matrix, Vectors

FIGURES = ("acc@1", "MRR", "cosine acc@1", "unmapped acc@1")


@dataclass(frozen=True, slots=True)
class LexiconPair:
    """Words of two languages, with what is a translation of what.

    `source` and `target` are the vocabularies, dictionary words first: the target's are the candidates, the source's
    are what CSLS measures neighbourhoods in. `train` and `test` pair their rows.
    """

    name: str
    title: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    train: tuple[tuple[int, int], ...]
    test: Mapping[int, tuple[int, ...]]
    source: str
    files: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
    counted: bool = True

    @property
    def size(self) -> int:
        """The number of distinct source words of the test dictionary."""
        return len(self.test)

    def texts(self) -> Iterable[str]:
        """Yield the words of both vocabularies."""
        yield from self.source_words
        yield from self.target_words

    def sha256(self) -> str:
        """Return a checksum of both dictionaries and both vocabularies."""
        digest = hashlib.sha256()
        for part in (self.source_words, self.target_words, self.train, sorted(self.test.items())):
            digest.update(f"{part}\n".encode())
        return digest.hexdigest()

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return accuracy @1 and mean reciprocal rank of a word's best translation; `seed` is of no account.

        Mapped by Procrustes from unit, centred, unit vectors (VecMap) and retrieved by CSLS, as in Mirror-BERT's
        Table 6; by cosine; unmapped, by CSLS, as they come from the encoder. With one translation per word the
        mean reciprocal rank is the MAP of Glavas et al. 2019. Sparse vectors have no map: those figures are None.
        """
        source, target = vectors.of(self.source_words), vectors.of(self.target_words)
        found: dict[str, NDArray[np.int64]] = {}
        if isinstance(source, np.ndarray) and isinstance(target, np.ndarray):
            one, two = centred(source), centred(target)
            found |= self._ranks("mapped", self._map(one, two), two)
        found |= self._ranks("unmapped", source, target)
        parts: dict[str, dict[str, float | None]] = {
            name: {
                "acc@1": _accuracy(rank),
                "MRR": float(100 * (1 / rank).mean()),
                "candidates": len(self.target_words),
            }
            for name, rank in found.items()
        }
        csls, cosine = (parts.get(f"mapped, {how}", {}) for how in ("CSLS", "cosine"))
        figures = (csls.get("acc@1"), csls.get("MRR"), cosine.get("acc@1"), parts["unmapped, CSLS"]["acc@1"])
        items = None
        if "mapped, CSLS" in found:
            outcomes = (found["mapped, CSLS"] == 1).astype(np.float64)
            items = Items("mean", np.ones_like(outcomes), outcomes)
        return Result(dict(zip(FIGURES, figures, strict=True)), items, parts)

    def _map(self, source: NDArray[np.float32], target: NDArray[np.float32]) -> NDArray[np.float32]:
        rows = np.array(self.train)
        matrix = procrustes(source[rows[:, 0]], target[rows[:, 1]])
        return np.asarray(source @ matrix.astype(np.float32))

    def _ranks(self, name: str, source: Matrix, target: Matrix) -> dict[str, NDArray[np.int64]]:
        words, right = list(self.test), list(self.test.values())
        found = ranks(source[words], target, right, neighbourhood(target, source))
        return {f"{name}, {how}": rank for how, rank in zip(("CSLS", "cosine"), found, strict=True)}


def _accuracy(rank: NDArray[np.int64]) -> float:
    return float(100 * (rank == 1).mean())
