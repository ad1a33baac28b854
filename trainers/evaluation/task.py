"""What a suite is made of: sets of texts that give metrics, and a prediction for each of their items."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trainers.embedding.vectors import Vectors

Statistic = Literal["spearman", "auc", "mean"]

HUB = "hf:"
"""What stands before an organisation where sets are read from the Hub."""

MARK = "* "
"""Begins a set's note where its metrics are of an easier or harder task than the papers': they are printed with it."""

SEED = 1111
"""What an evaluation draws with unless told otherwise: SentEval's own, with which `transfer` has its folds."""


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What was predicted for each item of a set, so that a metric can be resampled: intervals, and paired tests.

    `statistic` is what makes the set's first metric of them: "spearman" of gold grades and predicted similarities,
    "auc" of gold 0/1 and predicted similarities, "mean" of outcomes (1 right, 0 wrong), where gold does not matter.
    Both arrays have one entry per item, in an order that depends on the set alone.
    """

    statistic: Statistic
    gold: NDArray[np.float64]
    predicted: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Result:
    """A set's metrics for one encoder: rates and correlations x 100, None where undefined.

    `metrics` are in the order in which they are printed; the first is the one that is averaged, resampled and
    compared. `parts` are the same metrics of subsets, topics or the like.
    """

    metrics: Mapping[str, float | None]
    predictions: Predictions | None = None
    parts: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One evaluation set, read and checked, that can score the vectors of its texts.

    Attributes:
        name: A short name for files and JSON: `stsb`, `trec`.
        title: The name as papers print it.
        source: The folder or the Hub name that it was read from.
        files: The sha256 of each file that was read, or the Hub's `revision`.
        note: What a reader must know about this copy or protocol, remarks joined by "; ", perhaps after `MARK`.
        counted: Whether it is part of the suite's average.
    """

    name: str
    title: str
    source: str
    files: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
    counted: bool = True

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of items that are scored: pairs, test sentences, mentions."""

    @abstractmethod
    def texts(self) -> Iterable[str]:
        """Yield every text to encode, repeated or not."""

    @abstractmethod
    def lines(self) -> Iterable[str]:
        """Yield the items as lines, the same in any layout of the files: what the checksum is of."""

    @abstractmethod
    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return the metrics. `seed` decides folds and draws where the protocol has any."""

    def sha256(self) -> str:
        """Return a checksum of the items themselves."""
        digest = hashlib.sha256()
        for line in self.lines():
            digest.update(line.encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Missing:
    """A set that could not be found: what was looked for, and where it can be had."""

    name: str
    title: str
    reason: str
    where: str

    def __str__(self) -> str:
        return f"{self.title}: {self.reason}; to be had from {self.where}"


class SuiteModule(Protocol):
    """What the file of a suite, `trainers/evaluation/suites/<name>.py`, defines; its docstring's first line is help.

    A suite whose metrics are not rates may have `DECIMALS = 3`, how many are printed.
    """

    __doc__: str | None
    METRICS: tuple[str, ...]
    """The names of the metrics, as its sets give them, in the order of the table's columns."""
    COUNTED: int
    """How many sets the suite's average is over when none is missing; 0 where no paper averages them."""

    def find(self, data: str) -> tuple[Sequence[Task], Sequence[Missing]]:
        """Read the suite's sets from a folder, or from the Hub where `data` is `hf:ORGANISATION`.

        Raises:
            InputError: A file is malformed, or a count is not the published one.
        """
