"""What a suite is made of: sets of texts that give figures, and what each of their items gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trainers.evaluation.vectors import Vectors

Statistic = Literal["spearman", "auc", "mean"]

MARK = "* "
"""Begins a set's note where its figures are of an easier or harder task than the papers': they are printed with it."""

SEED = 1111
"""What an evaluation draws with unless told otherwise: SentEval's own, with which `transfer` has its folds."""


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """What each item of a set gave, so that a figure can be resampled: intervals, and paired tests of two models.

    `statistic` is what makes the set's first figure of them: "spearman" of gold grades and predicted similarities,
    "auc" of gold 0/1 and predicted similarities, "mean" of outcomes (1 right, 0 wrong), where gold is of no account.
    Both arrays have one entry per item, in an order that depends on the set alone.
    """

    statistic: Statistic
    gold: NDArray[np.float64]
    predicted: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Result:
    """A set's figures for one encoder: rates and correlations x 100, None where undefined.

    `figures` stand in the order in which they are printed; the first is the one that is averaged, resampled and
    compared. `parts` are the same figures of subsets, topics or the like.
    """

    figures: Mapping[str, float | None]
    items: Items | None = None
    parts: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)


class Task(Protocol):
    """One evaluation set, read and checked, that can score the vectors of its texts."""

    @property
    def name(self) -> str:
        """A short name for files and JSON: `stsb`, `trec`."""

    @property
    def title(self) -> str:
        """The name as papers print it."""

    @property
    def size(self) -> int:
        """The number of items that are scored: pairs, test sentences, mentions."""

    @property
    def source(self) -> str:
        """The folder or the Hub name that it was read from."""

    @property
    def files(self) -> Mapping[str, str]:
        """The sha256 of each file that was read."""

    @property
    def note(self) -> str | None:
        """What a reader must know about this copy or protocol, remarks parted by "; "; `MARK` may stand before them."""

    @property
    def counted(self) -> bool:
        """Whether it is part of the suite's average."""

    def texts(self) -> Iterable[str]:
        """Yield every text to encode, repeated or not."""

    def sha256(self) -> str:
        """Return a checksum of the items themselves, the same in any layout of the files."""

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return the figures. `seed` decides folds and draws where the protocol has any."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A set that could not be found: what was looked for, and where it is to be had."""

    name: str
    title: str
    reason: str
    where: str

    def __str__(self) -> str:
        return f"{self.title}: {self.reason}; to be had from {self.where}"


class SuiteModule(Protocol):
    """What the file of a suite, `trainers/evaluation/suites/<name>.py`, defines; its docstring's first line is help.

    A suite whose figures are no rates may have `DECIMALS = 3`, how many are printed.
    """

    __doc__: str | None
    FIGURES: tuple[str, ...]
    """The names of the figures, as its sets give them, in the order of the table's columns."""
    COUNTED: int
    """How many sets the suite's average is over when none is missing; 0 where no paper averages them."""

    def find(self, data: str) -> tuple[Sequence[Task], Sequence[Missing]]:
        """Read the suite's sets from a folder, or from the Hub where `data` is `hf:ORGANISATION`.

        Raises:
            InputError: A file is malformed, or a count is not the published one.
        """
