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

HUB = "hf:"  # precedes the organisation if sets are read from the Hub
MARK = "* "  # begins the note of a set whose task is easier or harder than the papers'; its figures are printed with it
SEED = 1111  # the default seed of an evaluation: SentEval's own, which gives `transfer` its folds


class Predictions(NamedTuple):
    """What was predicted for each item of a set, from which intervals and paired tests resample.

    `statistic` makes the set's first metric of them: "spearman" of gold grades and predicted similarities, "auc" of
    gold 0/1 and predicted similarities, "mean" of outcomes (1 right, 0 wrong) whatever the gold. Both arrays have one
    entry per item, in an order that depends on the set alone.
    """

    statistic: Literal["spearman", "auc", "mean"]
    gold: NDArray[np.float64]
    predicted: NDArray[np.float64]


class Result(NamedTuple):
    """A set's metrics for one encoder: rates and correlations x 100, None where undefined.

    `metrics` are in print order; the first is the one that is averaged, resampled and compared. `parts` are the same
    metrics of subsets, topics and the like.
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
        lines: The items as lines, the same for every layout of the files; the checksum is theirs.
        score: From vectors and a seed, which decides folds and draws if the protocol has any, to the metrics.
        files: The sha256 of each file that was read, or the Hub's `revision`.
        note: What a reader must know about this copy or protocol, perhaps after `MARK`.
        counted: Whether it is part of the suite's average.
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

    def sha256(self) -> str:
        """Return a checksum of the items themselves."""
        return hashlib.sha256("".join(self.lines).encode()).hexdigest()


class Missing(NamedTuple):
    """A set that was not found: what was looked for, and where to get it."""

    name: str
    title: str
    reason: str
    where: str

    def __str__(self) -> str:
        return f"{self.title}: {self.reason}; get it from {self.where}"


class Suite(NamedTuple):
    """A suite's sets: `metrics` are the columns of its table, `expected` how many its average is over (0: none)."""

    name: str
    title: str
    metrics: tuple[str, ...]
    expected: int
    tasks: tuple[Task, ...]
    missing: tuple[Missing, ...] = ()


class Scores(NamedTuple):
    """A suite's results: all that is known about them as JSON values, and each set's predictions for its items."""

    suite: Suite
    values: dict[str, Any]
    predictions: Mapping[str, Predictions]
