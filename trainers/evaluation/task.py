"""What evaluations are made of: sets of texts that give metrics, suites of such sets, and their scores."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from trainers.embedding.vectors import Vectors

HUB = "hf:"
"""What stands before an organisation where sets are read from the Hub."""

MARK = "* "
"""Begins a set's note where its metrics are of an easier or harder task than the papers': they are printed with it."""

SEED = 1111
"""What an evaluation draws with unless told otherwise: SentEval's own, with which `transfer` has its folds."""


class Predictions(NamedTuple):
    """What was predicted for each item of a set, so that a metric can be resampled: intervals, and paired tests.

    `statistic` is what makes the set's first metric of them: "spearman" of gold grades and predicted similarities,
    "auc" of gold 0/1 and predicted similarities, "mean" of outcomes (1 right, 0 wrong), where gold does not matter.
    Both arrays have one entry per item, in an order that depends on the set alone.
    """

    statistic: Literal["spearman", "auc", "mean"]
    gold: NDArray[np.float64]
    predicted: NDArray[np.float64]


class Result(NamedTuple):
    """A set's metrics for one encoder: rates and correlations x 100, None where undefined.

    `metrics` are in the order in which they are printed; the first is the one that is averaged, resampled and
    compared. `parts` are the same metrics of subsets, topics or the like.
    """

    metrics: Mapping[str, float | None]
    predictions: Predictions | None = None
    parts: Mapping[str, Mapping[str, float | None]] = {}


@dataclass(frozen=True, kw_only=True)
class Task:
    """One evaluation set, read and checked, that can score the vectors of its texts.

    Attributes:
        name: A short name for files and JSON: `stsb`, `trec`.
        title: The name as papers print it.
        source: The folder or the Hub name that it was read from.
        size: The number of items that are scored: pairs, test sentences, mentions.
        texts: Every text to encode, repeated or not.
        lines: The items as lines, the same in any layout of the files: what the checksum is of.
        score: From vectors and a seed, which decides folds and draws where the protocol has any, to the metrics.
        files: The sha256 of each file that was read, or the Hub's `revision`.
        note: What a reader must know about this copy or protocol, remarks joined by "; ", perhaps after `MARK`.
        counted: Whether it is part of the suite's average.
        dense: Whether it can only be scored with dense vectors.
    """

    name: str
    title: str
    source: str
    size: int
    texts: Sequence[str]
    lines: Sequence[str]
    score: Callable[[Vectors, int], Result]
    files: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
    counted: bool = True
    dense: bool = False

    def sha256(self) -> str:
        """Return a checksum of the items themselves."""
        return hashlib.sha256("".join(self.lines).encode()).hexdigest()


class Missing(NamedTuple):
    """A set that could not be found: what was looked for, and where it can be had."""

    name: str
    title: str
    reason: str
    where: str

    def __str__(self) -> str:
        return f"{self.title}: {self.reason}; to be had from {self.where}"


class Suite(NamedTuple):
    """A suite's sets as they were found, and what is missing of it.

    `metrics` are the columns of its table; `expected` is how many sets its average is over, 0 where it has none;
    `decimals` is how many of a metric are printed.
    """

    name: str
    title: str
    metrics: tuple[str, ...]
    expected: int
    tasks: tuple[Task, ...]
    missing: tuple[Missing, ...] = ()
    decimals: int = 2


class Scores(NamedTuple):
    """A suite's results: all that is to be known of them as JSON values, and each set's predictions for its items."""

    suite: Suite
    values: dict[str, Any]
    predictions: Mapping[str, Predictions]
