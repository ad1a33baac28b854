"""Read graded pairs from the Hub: one data set or configuration per benchmark, by the names of its columns."""

from __future__ import annotations

import math
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.benchmarks import Benchmark
from trainers.evaluation.graded import Graded, GradedSet
from trainers.evaluation.local import which_text
from trainers.evaluation.task import Missing

HUB = "hf:"
"""What stands before an organisation where sets are read from the Hub."""
COLUMNS = ("sentence1", "sentence2", "score")
GRADES = ("score", "similarity_score")
"""What the column of the grades may be called."""


def read_hub(benchmark: Benchmark, organisation: str) -> GradedSet | Missing:
    """Read one benchmark from `organisation/<its name>`, e.g. `mteb/sts12-sts`, or say why it cannot be had.

    These copies have no column for the subset, so that of STS12-16 only the aggregation `all` can be computed.
    The copy of SICK joins train, trial and test (9,927 pairs): it is reported, but not counted in the average.

    Args:
        benchmark: The benchmark to read.
        organisation: Prefix of the data sets' names on the Hub, or a folder that holds such data sets.

    Raises:
        InputError: The data set has other columns, or another number of rows than it should have.
    """
    if benchmark.hub is None:
        return benchmark.missing("not on the Hub in the form that is read")
    name, split = benchmark.hub
    source = f"{organisation}/{name}"
    try:
        rows, revision = _load(source, benchmark.hub_config, split)
    except (OSError, ValueError) as error:
        where = None if Path(organisation).is_dir() else f"https://huggingface.co/datasets/{source}"
        return benchmark.missing(f"cannot load {source} ({first_line(error)})", where)
    expected = benchmark.hub_rows or benchmark.pairs
    if len(rows) != expected:
        raise InputError(f"{source} ({split}): {len(rows)} graded pairs, expected {expected}: another copy is needed")
    notes = [benchmark.note] if benchmark.note else []
    if len(benchmark.sizes) > 1:
        notes.append("no subset column in this copy: only `all`")
    if benchmark.cased:
        notes.append(which_text([pair.first for pair in rows]))
    if benchmark.hub_rows:
        notes.append(f"all {expected} pairs, train and trial too, not the {benchmark.pairs} of the test: not averaged")
    return GradedSet(
        benchmark,
        {split: rows},
        f"{HUB}{source}",
        files=revision,
        note="; ".join(notes) or None,
        counted=benchmark.counted and benchmark.hub_rows is None,
        whole=len(benchmark.sizes) > 1,
    )


def load_columns(
    source: str, config: str | None, split: str, names: tuple[str, ...]
) -> tuple[list[tuple[object, ...]], dict[str, str]]:
    """Return the rows of some columns of a data set on the Hub, and its revision as `{"revision": commit}`.

    Args:
        source: Its name, or a folder that holds such a data set.
        config: Its configuration, None for its only one.
        split: Of which split.
        names: The columns; `score` may be called otherwise, as `GRADES` has it.

    Raises:
        InputError: A column is missing.
        ValueError: There is no such data set, configuration or split.
        OSError: It cannot be reached.
    """
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    try:
        data = load_dataset(source, config, split=split)
    except DatasetsError as error:
        raise ValueError(str(error)) from error
    grade = next((name for name in GRADES if name in data.column_names), GRADES[0])
    names = tuple(grade if name == GRADES[0] else name for name in names)
    absent = [name for name in names if name not in data.column_names]
    if absent:
        raise InputError(f"{source} has the columns {', '.join(data.column_names)}: no {', '.join(absent)}")
    rows = list(zip(*(data[name][:] for name in names), strict=True))
    # A Hub address ends in the commit: hf://datasets/<name>@<commit>/<file>.
    addresses = list(data.info.download_checksums or {})
    commits = {
        address.split("@", 1)[1].split("/", 1)[0]
        for address in addresses
        if address.startswith("hf://") and "@" in address
    }
    return rows, {"revision": ",".join(sorted(commits))} if commits else {}


def _load(source: str, config: str | None, split: str) -> tuple[tuple[Graded, ...], dict[str, str]]:
    rows, revision = load_columns(source, config, split, COLUMNS)
    return tuple(_graded(source, number, *row) for number, row in enumerate(rows)), revision


def _graded(source: str, row: int, first: object, second: object, grade: object) -> Graded:
    texts = [text.strip() if isinstance(text, str) else "" for text in (first, second)]
    if not all(texts):
        raise InputError(f"{source} row {row}: expected two sentences, got {first!r} and {second!r}")
    if not isinstance(grade, int | float) or not math.isfinite(grade):
        raise InputError(f"{source} row {row}: the score {grade!r} is no number")
    return Graded(texts[0], texts[1], float(grade))


def first_line(error: Exception) -> str:
    """Return the first line of what an error says that is not empty, cut to 200 characters."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:200]
