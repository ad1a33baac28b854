"""What evaluations are made of: sets of texts that give metrics, suites of such sets, and their scores."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from trainers.encoders.vectors import Floats, Numbers, Vectors

DATA_VARIABLE = "TWINVIEWS_DATA"  # names the folder of the benchmarks, if no option does
MARK = "* "  # begins the note of a set whose task is easier or harder than the papers'; its figures are printed with it
PREFIX = "judge-"  # how the names of suites of a user's own tables begin
SEED = 1111  # the default seed of an evaluation: SentEval's own, which gives `transfer` its folds


class Predictions(NamedTuple):
    """What was predicted for each item of a set, in an order that depends on the set alone.

    `statistic` gives the first metric: "spearman", "auc" and "ap" (average precision) of gold and
    similarities, "nmi" of gold classes and clusterings (items, clusterings), numbered from 0, "mean" of
    outcomes (0 to 1; NaN: left out) whatever the gold. `groups` numbers from 0 the items that belong together,
    such as copies; None if none do.
    """

    statistic: Literal["spearman", "auc", "ap", "nmi", "mean"]
    gold: Floats
    predicted: Floats
    groups: Numbers | None = None


Metrics: TypeAlias = dict[str, float | None]
"""Figures by name, x 100, None if undefined."""


class Result(NamedTuple):
    """A set's `metrics` in print order, x 100, None if undefined, its `predictions`, and its subsets' metrics."""

    metrics: Metrics
    predictions: Predictions | None = None
    parts: Mapping[str, Metrics] = {}


@dataclass(frozen=True, kw_only=True)
class Task:
    """One evaluation set, read and checked, that can score the vectors of its texts.

    `name` is that in files of results, `title` as papers print it, `source` where it was read from, `size` the
    number of scored items, `texts` all to encode, `lines` the items as text, for a checksum that no layout of
    the files changes. `sides` are the same texts as queries and documents, or as first and second sides, which
    two encoders may share; None if the set has no sides. `score` makes the result of the vectors and a seed
    for folds and draws. `note` is what a reader must know, perhaps after `MARK`, `counted` whether it is part of
    the suite's average.
    """

    name: str
    title: str
    source: str
    size: int
    texts: Sequence[str]
    lines: Sequence[str]
    score: Callable[[Vectors, int], Result]
    sides: tuple[Sequence[str], Sequence[str]] | None = None
    note: str | None = None
    counted: bool = True

    def sha256(self) -> str:
        """Return a checksum of the items themselves."""
        digest = hashlib.sha256()
        for line in self.lines:  # one at a time: a million documents are a gigabyte
            digest.update(line.encode())
        return digest.hexdigest()


def distinct_texts(tasks: Iterable[Task]) -> list[str]:
    """Return the distinct texts of all sets in order of first appearance."""
    return list(dict.fromkeys(text for task in tasks for text in task.texts))


class Missing(NamedTuple):
    """A set that was not found: what was looked for, and where to get it."""

    name: str
    title: str
    reason: str
    where: str

    def __str__(self) -> str:
        return f"{self.title}: {self.reason}; get it from {self.where}"


def declared(suite: str) -> list[dict[str, Any]]:
    """Return the sets that a suite's YAML file declares, in the order of its table."""
    import yaml

    text = (Path(__file__).parent / "suites" / f"{suite}.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load(text))


class Suite(NamedTuple):
    """A suite's sets: `metrics` are the columns of its table, `expected` how many its average is over (0: none).

    `baseline` gives the figures by set, for a seed, of what needs no encoder, where there are any.
    """

    name: str
    metrics: tuple[str, ...]
    expected: int
    tasks: tuple[Task, ...]
    missing: tuple[Missing, ...] = ()
    baseline: Callable[[int], Metrics] = lambda seed: {}


class Scores(NamedTuple):
    """A suite's results: all that is known about them as JSON values, and each set's predictions for its items."""

    suite: Suite
    values: dict[str, Any]
    predictions: Mapping[str, Predictions]
