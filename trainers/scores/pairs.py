"""Graded pairs of texts: what is known of a benchmark before it is read, its pairs, and how cosines agree with them."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import pearsonr, rankdata
from sklearn.metrics import roc_auc_score

from pipelines.base.console import InputError
from trainers.encoders.vectors import Floats, Vectors, rounded
from trainers.files import Rows, check_count, columns, find_files, tsv_rows
from trainers.scores.task import Metrics, Missing, Predictions, Result, Task, declared

# Spearman under each aggregation, Pearson over all pairs; x 100
METRICS = (
    "all",
    "mean",
    "weighted",
    "pearson",
)
TOKENISED = "tokenised, lower-cased text as in SentEval"
AS_WRITTEN = "the untokenised text; most papers' figures are of SentEval's tokenised copy"


class Pair(NamedTuple):
    """Two texts and their grade: the mean of human grades, or 1 and 0 for yes and no."""

    first: str
    second: str
    gold: float


Subsets: TypeAlias = Mapping[str, tuple[Pair, ...]]
# from a subset's name and files; raises InputError for a bad line
Reader: TypeAlias = Callable[..., Iterator[Pair]]


class Layout(NamedTuple):
    """A distribution: usual folders, the files of each subset (`{}`), their reader, other folders for some files."""

    folders: Sequence[str]
    files: Sequence[str]
    read: Reader
    beside: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: `sizes` maps each subset, by the name in its files, to its number of graded pairs.

    If not `exact`, another number only leaves it out of the average. `cased`: the note says whether it is
    tokenised. `two_sided`: the sides of a pair are of two kinds, such as languages, and may have an encoder
    each. `score` maps subsets, vectors and a seed to figures; None: `score_pairs`.
    """

    name: str
    title: str
    sizes: Mapping[str, int]
    where: str
    layouts: Sequence[Layout]
    counted: bool = True
    exact: bool = True
    cased: bool = False
    two_sided: bool = False
    note: str | None = None
    score: Callable[..., Result] | None = None


@dataclass(frozen=True, kw_only=True)
class Pairs(Task):
    """A benchmark's pairs by subset."""

    subsets: Subsets


def pearson(first: ArrayLike, second: ArrayLike) -> float | None:
    """The linear correlation in [-1, 1] of two lists of one length of at least 2; None if one is constant."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    # By range, not by variance: the rounded mean of a constant list can differ from its values.
    return None if np.ptp(x) == 0 or np.ptp(y) == 0 else float(pearsonr(x, y).statistic)


def spearman(first: ArrayLike, second: ArrayLike) -> float | None:
    """Return Spearman's rho in [-1, 1], the linear correlation of the ranks; None if one list is constant."""
    return pearson(rankdata(np.asarray(first, np.float64)), rankdata(np.asarray(second, np.float64)))


def average(values: Sequence[float | None], weights: Sequence[float] | None = None) -> float | None:
    """Return the mean, weighted if asked for; None if one of the values is undefined."""
    numbers = [value for value in values if value is not None]
    return float(np.average(numbers, weights=weights)) if len(numbers) == len(values) else None


def score_pairs(subsets: Subsets, vectors: Vectors, seed: int = 0) -> Result:
    """How cosines agree with grades, x 100, over all pairs, and as the subsets' mean, plain and by size."""
    golds, cosines = dict[str, Floats](), dict[str, Floats]()
    for name, pairs in subsets.items():
        first, second, grades = zip(*pairs, strict=True)
        golds[name], cosines[name] = np.array(grades, np.float64), vectors.cosines(first, second)
    gold, predicted = (np.concatenate(list(arrays.values())) for arrays in (golds, cosines))
    sizes = [len(pairs) for pairs in subsets.values()]
    metrics: Metrics = {}
    parts: dict[str, Metrics] = {name: {} for name in subsets}
    for kind, measure, whole, prefix in (
        ("spearman", _rounded_spearman, "all", ""),
        ("pearson", pearson, "pearson", "pearson-"),
    ):
        for name in subsets:
            parts[name][kind] = _percent(measure(golds[name], cosines[name]))
        metrics[whole] = _percent(measure(gold, predicted))
        singles = [part[kind] for part in parts.values()]
        metrics |= {f"{prefix}mean": average(singles), f"{prefix}weighted": average(singles, sizes)}
    return Result(metrics, Predictions("spearman", gold, rounded(predicted)), parts if len(parts) > 1 else {})


def _rounded_spearman(gold: Floats, cosines: Floats) -> float | None:
    return spearman(gold, rounded(cosines))


def score_binary(subsets: Subsets, vectors: Vectors, seed: int = 0) -> Result:
    """The area under the ROC curve x 100 of the cosines, as Mirror-BERT scores QNLI; None for equal grades."""
    first, second, grades = zip(*(pair for pairs in subsets.values() for pair in pairs), strict=True)
    gold, predicted = np.array(grades, np.float64), vectors.similarities(first, second)
    auc = 100 * float(roc_auc_score(gold, predicted)) if len(np.unique(gold)) == 2 else None
    return Result({"auc": auc}, Predictions("auc", gold, predicted))


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def checked_pair(
    place: str, texts: Sequence[str], grade: str, labels: Mapping[str, float] | None = None
) -> Pair:
    """Return two texts with their grade, a number or what its label means.

    Raises InputError for anything else.
    """
    sentences = [text.strip() for text in texts]
    try:
        gold = float(labels[grade] if labels else grade)
    except (KeyError, ValueError):
        gold = math.nan
    if len(sentences) != 2 or not all(sentences) or not math.isfinite(gold):
        of = f" of {', '.join(labels)}" if labels else ""
        raise InputError(f"{place}: expected two sentences and a grade{of}, got {[*texts, grade]!r}")
    return Pair(sentences[0], sentences[1], gold)


def column_reader(
    *names: str,
    rows: Callable[..., Rows] = tsv_rows,
    labels: Mapping[str, float] | None = None,
    partly: bool = False,
) -> Reader:
    """A reader of a table's columns, by its header: perhaps the subset, then two texts and their grade."""

    def read(subset: str, path: Path) -> Iterator[Pair]:
        for number, (*subsets, first, second, grade) in columns(path, rows(path), names):
            if subsets in ([], [subset]) and (grade.strip() or not partly):
                yield checked_pair(f"{path} line {number}", (first, second), grade, labels)

    return read


def read_benchmarks(
    suite: str, score: Callable[..., Result] | None = None, **readers: Reader
) -> tuple[Benchmark, ...]:
    """The sets that a suite's YAML file declares; a layout names one of the readers, or has `columns`."""
    return tuple(
        Benchmark(
            **values | {"layouts": [_layout(layout, readers) for layout in values["layouts"]]}, score=score
        )
        for values in declared(suite)
    )


def _layout(values: Mapping[str, Any], readers: Mapping[str, Reader]) -> Layout:
    columns, labels = values.get("columns", ()), values.get("labels")
    read = readers[values["read"]] if "read" in values else column_reader(*columns, labels=labels)
    return Layout(values["folders"], values["files"], read, values.get("beside", ()))


def read_pairs(benchmark: Benchmark, data: str) -> Pairs | Missing:
    """Read a benchmark from a folder, or say what is missing; raises InputError for a bad copy."""
    reasons = []
    for layout in benchmark.layouts:
        names = [name.format(subset) for subset in benchmark.sizes for name in layout.files]
        paths = find_files(names, layout.folders, data, layout.beside)
        if not isinstance(paths, str):
            return _read_files(benchmark, layout, dict(zip(dict.fromkeys(names), paths, strict=True)))
        reasons.append(paths)
    return Missing(benchmark.name, benchmark.title, reasons[0], benchmark.where)


def _read_files(benchmark: Benchmark, layout: Layout, paths: Mapping[str, Path]) -> Pairs:
    folder, counted = next(iter(paths.values())).parent, benchmark.counted
    notes = [benchmark.note] if benchmark.note else []
    subsets: dict[str, tuple[Pair, ...]] = {}
    for name, expected in benchmark.sizes.items():
        pairs = tuple(layout.read(name, *(paths[file.format(name)] for file in layout.files)))
        # Fewer than two pairs have no correlation.
        if benchmark.exact or len(pairs) < 2:
            check_count(f"{benchmark.title} {name} in {folder}", len(pairs), expected, "graded pairs")
        elif len(pairs) != expected:
            counted = False
            notes.append(
                f"{len(pairs)} graded pairs in this copy, the papers speak of {expected}: not averaged"
            )
        subsets[name.removeprefix("surprise.")] = pairs
    rows = [(name, pair) for name, pairs in subsets.items() for pair in pairs]
    if benchmark.cased:
        ends = [pair.first.endswith(" .") for _, pair in rows if pair.first.endswith(".")]
        # SentEval's copy has a space before the full stops.
        notes.append(TOKENISED if 2 * sum(ends) > len(ends) else AS_WRITTEN)
    firsts, seconds = [pair.first for _, pair in rows], [pair.second for _, pair in rows]
    lines = [f"{name}\t{pair.gold:g}\t{pair.first}\t{pair.second}\n" for name, pair in rows]
    return Pairs(
        sides=(firsts, seconds) if benchmark.two_sided else None,
        name=benchmark.name,
        title=benchmark.title,
        subsets=subsets,
        source=str(folder),
        size=len(rows),
        counted=counted,
        note="; ".join(notes) or None,
        texts=[text for _, pair in rows for text in pair[:2]],
        lines=[line.removeprefix("\t") for line in lines],
        score=partial(benchmark.score or score_pairs, subsets),
    )
