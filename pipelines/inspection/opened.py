"""A dataset opened for inspection: its origin, a sample of its rows, and statistics over it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from augment.models.weights import find_encoder
from augment.text.words import shared_words
from pipelines.base.files import sha256_of
from pipelines.options import SAMPLE_ROWS
from pipelines.similarity import chrf
from pipelines.storage.dataset import Dataset, Kind, Plan, is_dataset, open_dataset
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS, pair_files

MAX_VALUES = 20
BINS = 20
QUANTILES = {"min": 0.0, "5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "max": 1.0}
FLOOR, NEAR_COPY = 0.8, 95.0
"""The least cosine of a view that is worth keeping, and its most chrF."""
COMPARED: Mapping[Kind, Mapping[str, tuple[str, str]]] = {
    "sentences": {},
    "view": {"view ~ text": ("view", "text")},
    "pairs": {
        "b ~ a": ("view_b", "view_a"),
        "a ~ text": ("view_a", "text"),
        "b ~ text": ("view_b", "text"),
        "negative ~ a": (NEGATIVE, "view_a"),
    },
}
"""Columns whose texts are compared, if a dataset has them: hypothesis and reference."""


def open_path(path: Path) -> Dataset:
    """Open sentences, a view dataset, pairs or rejects; pairs without a record have a plan that says nothing.

    Raises InputError if there are none or they are damaged.
    """
    if not path.is_file() or is_dataset(path):
        return open_dataset(path)
    plan = Plan(kind="pairs", name="unknown", params={}, inputs=(), twinviews="unknown")
    (pairs,) = pair_files(path)
    return Dataset(path, plan, (pairs._replace(sha256=sha256_of(path)),), {"pairs": pairs.rows})


def facts_of(dataset: Dataset) -> dict[str, Any]:
    """Where a dataset comes from, as JSON."""
    plan = dataset.plan
    stated = plan.model_dump(include={"name", "signature", "seed", "inputs", "twinviews"}, exclude_none=True)
    params = {key: value for key, value in plan.params.items() if value is not None}
    shards = len(dataset.shards)
    return {"rows": dataset.rows, **stated, "params": params, "shards": shards, "digest": dataset.digest}


def sample_rows(dataset: Dataset, size: int, seed: int | None = None) -> pa.Table:
    """At most `size` rows, spread evenly or drawn by the seed."""
    total = dataset.rows
    size, start, samples = min(size, total), 0, []
    spread = [place * total // size for place in range(size)]
    places = np.array(spread if seed is None else Random(seed).sample(range(total), size), dtype=np.int64)
    for rows in dataset.tables():
        samples.append(rows.filter(np.isin(np.arange(start, start + len(rows)), places)))
        start += len(rows)
    return pa.concat_tables(samples)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Mean, quantiles and counts of `n` numbers in equal bins between two `ends`.

    The outermost have those beyond.
    """

    n: int
    mean: float
    quantiles: Mapping[str, float]
    ends: tuple[float, float]
    counts: tuple[int, ...]


@dataclass(slots=True)
class Statistics:
    """Statistics of a sample of the rows, drawn by the seed; what needs a text leaves out rows that lack it.

    By name: `shares` are counts and totals, `measures` distributions (chrF from 0 to 100), `values` the counts
    of a further column's texts, the most frequent first.
    """

    rows: int
    sampled: int
    seed: int
    shares: dict[str, tuple[int, int]] = field(default_factory=dict)
    measures: dict[str, Distribution] = field(default_factory=dict)
    values: dict[str, dict[str, int]] = field(default_factory=dict)

    def measure(self, name: str, values: ArrayLike, ends: tuple[float, float] | None = None) -> None:
        """Add the distribution of the values, if there are any."""
        if measure := distribution(values, ends):
            self.measures[name] = measure


def statistics(
    dataset: Dataset, sample: int = SAMPLE_ROWS, seed: int = 0, judge_encoder: str | None = None
) -> Statistics:
    """Statistics of a random sample of rows (0: all); raises InputError if a file cannot be read.

    With an encoder to judge by, a view is worth keeping if it has at least the cosine FLOOR with its sentence,
    and at most the chrF NEAR_COPY.
    """
    table, kind = sample_rows(dataset, sample or dataset.rows, seed), dataset.plan.kind
    summary = Statistics(dataset.rows, table.num_rows, seed)
    if kind == "sentences":
        _sentences(table, summary)
    if kind == "view":
        _view(table, summary)
    for name, columns in COMPARED[kind].items():
        if columns[0] in table.schema.names:
            hypotheses, references = _complete_rows(table, *columns)
            likeness = chrf(hypotheses, references)
            summary.measure(f"chrF, {name}", likeness, (0, 100))
            shared = np.array([*map(shared_words, hypotheses, references)])
            summary.measure(f"words changed, {name}", 1 - shared, (0, 1))
            if judge_encoder is not None:
                cosines = _cosines(judge_encoder, hypotheses, references)
                summary.measure(f"cosine, {name}", cosines, (0, 1))
                is_worth = (cosines >= FLOOR) & (likeness <= NEAR_COPY)
                summary.shares[f"worth keeping, {name}"] = int(is_worth.sum()), len(table)
    for name in table.schema.names if kind != "view" else ():
        column = table[name].drop_null()
        if pa.types.is_floating(column.type):
            summary.measure(f"column {name}", column)
        elif pa.types.is_string(column.type) and name not in (*PAIR_COLUMNS, NEGATIVE):
            summary.values[name] = dict(Counter(sorted(column.to_pylist())).most_common(MAX_VALUES))
    return summary


def distribution(values: ArrayLike, ends: tuple[float, float] | None = None) -> Distribution | None:
    """The distribution of the finite values, None if there are none.

    Its ends are the 1% and 99% quantiles or given.
    """
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return None
    first, last = ends or np.quantile(numbers, [0.01, 0.99]).tolist()
    counts, _ = np.histogram(np.clip(numbers, first, last), np.linspace(first, last, BINS + 1))
    quantiles = dict(zip(QUANTILES, np.quantile(numbers, list(QUANTILES.values())).tolist(), strict=True))
    return Distribution(numbers.size, float(numbers.mean()), quantiles, (first, last), tuple(counts.tolist()))


def _sentences(table: pa.Table, summary: Statistics) -> None:
    summary.measure("words", pc.list_value_length(pc.utf8_split_whitespace(table["text"])))
    summary.measure("characters", pc.utf8_length(table["text"]))


def _view(table: pa.Table, summary: Statistics) -> None:
    if len(table):
        summary.shares["changed"] = table["status"].to_pylist().count("ok"), len(table)
    rows = table.filter(table["view"].is_valid())
    summary.measure("achieved fraction", rows["achieved_fraction"], (0, 1))


def _cosines(encoder: str, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """The cosines of an encoder's vectors, (n,)."""
    from augment.meaning.judge import Judge

    judge = Judge(find_encoder(encoder, None, "--judge-encoder"), "transformers", "fp32", "cpu")
    scores = judge.scores(references, [[text] for text in hypotheses])
    return np.array([score for row in scores for score in row.values()], dtype=np.float64)


def _complete_rows(table: pa.Table, *columns: str) -> list[list[str]]:
    return [column.to_pylist() for column in table.select(columns).drop_null().columns]
