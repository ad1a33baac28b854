"""A bundled smoke test, no benchmark: 300 pairs that show whether a model loads, encodes and has not collapsed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

from trainers.evaluation.pairs import METRICS as METRICS
from trainers.evaluation.pairs import Benchmark, Pair, Pairs, checked_pair, read_folder
from trainers.evaluation.reading import tsv_rows
from trainers.evaluation.task import Missing

COUNTED = 0


def read_sample(subset: str, path: Path) -> Iterator[Pair]:
    """The bundled pairs: a header line, then grade and two sentences, separated by tabs."""
    for number, (grade, *texts) in tsv_rows(path)[1:]:
        yield checked_pair(path, number, texts, grade)


SAMPLE = Benchmark(
    "sample", "smoke test", {"sample": 300}, (), "part of this package", read_sample, "pairs.tsv", counted=False,
    note="written for this project; no benchmark, its figures compare with nothing else",
)  # fmt: skip


def find(data: str) -> tuple[list[Pairs], list[Missing]]:
    """Read the bundled pairs, whatever `data` is."""
    folder = Path(str(resources.files("trainers.evaluation").joinpath("sample")))
    return [replace(read_folder(SAMPLE, SAMPLE, folder), source="bundled")], []
