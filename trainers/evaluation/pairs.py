"""Graded pairs of texts: what is known of a benchmark before it is read, its pairs, and how cosines agree with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from pipelines.console import InputError
from trainers.evaluation.metrics import AGGREGATIONS, aggregate, auc, score
from trainers.evaluation.reading import check_count, first_line, hub_columns, plain_or_gzipped, whole_folder
from trainers.evaluation.task import HUB, Missing, Predictions, Result, Task
from trainers.files import file_sha256

if TYPE_CHECKING:
    from trainers.embedding.vectors import Vectors

METRICS = (*AGGREGATIONS, "pearson")
"""Spearman x 100 under each aggregation, and Pearson x 100 over all pairs."""

HUB_COLUMNS = ("sentence1", "sentence2", ("score", "similarity_score"))
TOKENISED = "tokenised, lower-cased text as in SentEval"
AS_WRITTEN = "the untokenised text; most papers' figures are of SentEval's tokenised copy"


class Pair(NamedTuple):
    """Two texts and their grade: the mean of human grades, or 1 and 0 for yes and no."""

    first: str
    second: str
    gold: float


Reader: TypeAlias = Callable[..., Iterator[Pair]]
"""From the name of a subset and the paths of its files to its pairs; raises InputError for a broken line."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: `sizes` maps each subset, by the name in its files, to its number of graded pairs.

    Attributes:
        name: As in `Task`.
        title: As in `Task`.
        sizes: The pairs of each subset.
        folders: The folder's usual names below a data folder.
        where: Where it can be had.
        read: The reader of its files.
        file: Its one file; without it each subset has two files of its own, of texts and of grades.
        beside: What is read together with `file`, there or in one of the folders `beside_in`.
        beside_in: Folders, relative to the benchmark's.
        copies: Other distributions of the same pairs, read where this one is absent.
        hub: The data set's name below an organisation (`mteb`) and the split, None where it is not on the Hub.
        hub_config: Its configuration there.
        hub_rows: The pairs of that copy, where it is of another extent.
        hub_names: Its columns there, as `hub_columns` takes them.
        hub_labels: What its grades there mean, where they are labels.
        counted: Part of the suite's average.
        exact: False where only a rounded size is published, so that another count is not an error, but not averaged.
        cased: The pairs circulate as they were written and tokenised, so that the note says which were read.
        binary: The grades are 1 and 0, and the metric is the area under the ROC curve.
        note: What a reader of its scores must know.
    """

    name: str
    title: str
    sizes: Mapping[str, int]
    folders: tuple[str, ...]
    where: str
    read: Reader
    file: str | None = None
    beside: tuple[str, ...] = ()
    beside_in: tuple[str, ...] = ()
    copies: tuple[Benchmark, ...] = ()
    hub: tuple[str, str] | None = None
    hub_config: str | None = None
    hub_rows: int | None = None
    hub_names: tuple[str | tuple[str, ...], ...] = HUB_COLUMNS
    hub_labels: Mapping[object, float] | None = None
    counted: bool = True
    exact: bool = True
    cased: bool = False
    binary: bool = False
    note: str | None = None

    @property
    def pairs(self) -> int:
        """The published number of graded pairs."""
        return sum(self.sizes.values())

    def files(self, folder: Path) -> dict[str, tuple[Path, ...]]:
        """Return each subset's files below a folder, gzipped or not, or where they should be."""
        if self.file is not None:
            beside = (folder, *(folder / other for other in self.beside_in))
            paths = [(self.file, (folder,)), *((name, beside) for name in self.beside)]
            found = tuple(plain_or_gzipped(name, places) or places[0] / name for name, places in paths)
            return dict.fromkeys(self.sizes, found)
        # The original archive of 2016 has the year in its file names.
        prefix = "STS2016" if (folder / f"STS2016.gs.{next(iter(self.sizes))}.txt").exists() else "STS"
        return {
            name: (folder / f"{prefix}.input.{name}.txt", folder / f"{prefix}.gs.{name}.txt") for name in self.sizes
        }


@dataclass(frozen=True, kw_only=True)
class Pairs(Task):
    """A benchmark's pairs by subset.

    Without subset names in the source there is one subset, and `whole` says that only `all` can be computed of it.
    """

    subsets: Mapping[str, tuple[Pair, ...]]
    whole: bool = False
    statistic: Literal["spearman", "auc"] = "spearman"

    @property
    def size(self) -> int:
        """The number of graded pairs."""
        return sum(map(len, self.subsets.values()))

    def texts(self) -> Iterable[str]:
        """Yield both sides of every pair."""
        return (text for pairs in self.subsets.values() for pair in pairs for text in pair[:2])

    def lines(self) -> Iterable[str]:
        """Yield subset, grade and both texts of every pair."""
        for name, pairs in self.subsets.items():
            subset = f"{name}\t" if name else ""
            yield from (f"{subset}{pair.gold:g}\t{pair.first}\t{pair.second}\n" for pair in pairs)

    def score(self, vectors: Vectors, seed: int) -> Result:
        """Return how the grades agree with the cosines, x 100, and the correlations of every subset.

        Spearman as `all`, `mean` and `weighted` (`metrics.aggregate`), Pearson as `pearson`, `pearson-mean` and
        `pearson-weighted`; a `whole` set has `all` and `pearson` alone. Of grades that are 1 and 0 the area under the
        ROC curve, `auc`: no training, as Li et al. 2020 and Mirror-BERT score QNLI.
        """
        compared = {name: _compared(pairs, vectors) for name, pairs in self.subsets.items()}
        gold, predicted = (np.concatenate([part[side] for part in compared.values()]) for side in (0, 1))
        predictions = Predictions(self.statistic, gold, predicted)
        if self.statistic == "auc":
            area = auc(gold, predicted)
            return Result({"auc": None if area is None else 100 * area}, predictions)
        joined = aggregate(list(compared.values()))
        shown = {"all": joined["all"]} if self.whole else joined
        metrics = {how: item.spearman for how, item in shown.items()}
        metrics |= {f"pearson-{how}".removesuffix("-all"): item.pearson for how, item in shown.items()}
        singles = {name: score(*part) for name, part in compared.items()} if len(compared) > 1 else {}
        parts = {name: {"spearman": item.spearman, "pearson": item.pearson} for name, item in singles.items()}
        return Result(metrics, predictions, parts)


def _compared(pairs: Sequence[Pair], vectors: Vectors) -> tuple[np.ndarray, np.ndarray]:
    gold = np.array([pair.gold for pair in pairs], dtype=np.float64)
    return gold, vectors.cosines([pair.first for pair in pairs], [pair.second for pair in pairs])


def checked_pair(path: Path, number: int, texts: Sequence[str], grade: str) -> Pair:
    """Return a pair of texts with its grade; raises InputError unless there are two, and a number."""
    if len(texts) != 2 or not all(text.strip() for text in texts):
        raise InputError(f"{path} line {number}: expected two sentences, got {texts!r}")
    try:
        gold = float(grade)
    except ValueError:
        gold = math.nan
    if not math.isfinite(gold):
        raise InputError(f"{path} line {number}: the score {grade!r} is no number")
    return Pair(texts[0].strip(), texts[1].strip(), gold)


def read_all(benchmarks: Sequence[Benchmark], data: str) -> tuple[list[Pairs], list[Missing]]:
    """Return the benchmarks that are in a folder, or on the Hub where `data` is `hf:ORGANISATION`, and the others.

    Raises:
        InputError: A file is malformed, or a count is not the published one.
    """
    read = [read_pairs(benchmark, data) for benchmark in benchmarks]
    return [item for item in read if isinstance(item, Pairs)], [item for item in read if isinstance(item, Missing)]


def read_pairs(benchmark: Benchmark, data: str) -> Pairs | Missing:
    """Read one benchmark from a folder or from `hf:ORGANISATION`, or say what is missing; raises as `read_all`."""
    if data.startswith(HUB):
        return _read_hub(benchmark, data.removeprefix(HUB))
    reasons = []
    for copy in (benchmark, *benchmark.copies):
        found = whole_folder(copy.folders, Path(data).expanduser(), partial(_absent, copy))
        if not isinstance(found, str):
            return read_folder(benchmark, copy, found)
        reasons.append(found)
    return Missing(benchmark.name, benchmark.title, reasons[0], benchmark.where)


def read_folder(benchmark: Benchmark, copy: Benchmark, folder: Path) -> Pairs:
    """Read a benchmark, or a copy of it, from the folder that has its files; raises as `read_all`."""
    files = copy.files(folder)
    subsets = {_label(name): tuple(copy.read(name, *paths)) for name, paths in files.items()}
    notes, counted = [copy.note] if copy.note else [], benchmark.counted
    for name, expected in benchmark.sizes.items():
        found = len(subsets[_label(name)])
        # Of fewer than two pairs there is no correlation.
        if benchmark.exact or found < 2:
            what = " ".join(filter(None, (benchmark.title, name, "in", str(folder))))
            check_count(what, found, expected, "graded pairs", files="original files")
        elif found != expected:
            notes.append(f"{found} graded pairs in this copy, the papers speak of {expected}: not averaged")
            counted = False
    checksums = {path.name: file_sha256(path) for paths in files.values() for path in paths}
    return _pairs(benchmark, subsets, str(folder), checksums, notes, counted=counted)


def _read_hub(benchmark: Benchmark, organisation: str) -> Pairs | Missing:
    """Read one benchmark from `organisation/<its name>`, e.g. `mteb/sts12-sts`, or say why it cannot be had.

    These copies have no column for the subset, so that of STS12-16 only the aggregation `all` can be computed.
    `organisation` may also be a folder that holds such data sets.
    """
    missing = partial(Missing, benchmark.name, benchmark.title)
    if benchmark.hub is None:
        return missing("not on the Hub in the form that is read", benchmark.where)
    name, split = benchmark.hub
    source = f"{organisation}/{name}"
    try:
        rows, revision = hub_columns(source, benchmark.hub_config, split, benchmark.hub_names)
    except (OSError, ValueError) as error:
        where = benchmark.where if Path(organisation).is_dir() else f"https://huggingface.co/datasets/{source}"
        return missing(f"cannot load {source} ({first_line(error)})", where)
    pairs = tuple(_hub_pair(benchmark, f"{source} row {number}", *row) for number, row in enumerate(rows))
    expected = benchmark.hub_rows or benchmark.pairs
    if len(pairs) != expected:
        raise InputError(f"{source} ({split}): {len(pairs)} graded pairs, expected {expected}: another copy is needed")
    notes = [benchmark.note] if benchmark.note else []
    whole = len(benchmark.sizes) > 1
    if whole:
        notes.append("no subset column in this copy: only `all`")
    if benchmark.hub_rows:
        notes.append(f"all {expected} pairs, train and trial too, not the {benchmark.pairs} of the test: not averaged")
    subsets = {"" if benchmark.binary else split: pairs}
    counted = benchmark.counted and benchmark.hub_rows is None
    return _pairs(benchmark, subsets, f"{HUB}{source}", revision, notes, counted=counted, whole=whole)


def _pairs(
    benchmark: Benchmark, subsets: Mapping[str, tuple[Pair, ...]], source: str, files: Mapping[str, str],
    notes: list[str], *, counted: bool, whole: bool = False,
) -> Pairs:  # fmt: skip
    if benchmark.cased:
        notes.append(_which_text([pair.first for pairs in subsets.values() for pair in pairs]))
    return Pairs(
        name=benchmark.name, title=benchmark.title, subsets=subsets, source=source, files=files, counted=counted,
        note="; ".join(notes) or None, whole=whole, statistic="auc" if benchmark.binary else "spearman",
    )  # fmt: skip


def _which_text(texts: Sequence[str]) -> str:
    """Return a remark on which copy of the text this is: in SentEval's the full stops at the ends stand alone."""
    stops = [text.endswith(" .") for text in texts if text.endswith(".")]
    return TOKENISED if 2 * sum(stops) > len(stops) else AS_WRITTEN


def _label(subset: str) -> str:
    """Return a subset's name as papers print it."""
    return subset.removeprefix("surprise.")


def _absent(benchmark: Benchmark, folder: Path) -> list[str]:
    paths = [path for paths in benchmark.files(folder).values() for path in paths]
    return list(dict.fromkeys(path.name for path in paths if not path.is_file()))


def _hub_pair(benchmark: Benchmark, place: str, first: object, second: object, grade: object) -> Pair:
    texts = [text.strip() if isinstance(text, str) else "" for text in (first, second)]
    if not all(texts):
        raise InputError(f"{place}: expected two sentences, got {first!r} and {second!r}")
    labels = benchmark.hub_labels
    if labels is not None and grade not in labels:
        raise InputError(f"{place}: the label {grade!r} is none of {', '.join(map(str, labels))}")
    gold = labels[grade] if labels is not None else grade
    if not isinstance(gold, int | float) or not math.isfinite(gold):
        raise InputError(f"{place}: the score {gold!r} is no number")
    return Pair(texts[0], texts[1], float(gold))
