"""QNLI dev: the area under the ROC curve of the cosine between a question and a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.pairs import Benchmark, Pair, Pairs, checked_pair, read_all
from trainers.evaluation.reading import columns, tsv_rows
from trainers.evaluation.task import Missing

METRICS = ("auc",)
COUNTED = 0
LABELS = {"entailment": "1", "not_entailment": "0"}
"""The sentence holds the answer, or does not. On the Hub the labels are numbers: 0 is entailment there."""


def read_qnli(subset: str, path: Path) -> Iterator[Pair]:
    """GLUE's `QNLI/dev.tsv`: columns by the names in the header line; quotes are ordinary characters."""
    for number, (*texts, label) in columns(path, tsv_rows(path), ("question", "sentence", "label")):
        if label not in LABELS:
            raise InputError(f"{path} line {number}: the label {label!r} is neither {' nor '.join(LABELS)}")
        yield checked_pair(path, number, texts, LABELS[label])


QNLI = Benchmark(
    "qnli", "QNLI dev", {"": 5463}, ("qnli", "QNLI", "glue/QNLI", "glue_data/QNLI"),
    "https://dl.fbaipublicfiles.com/glue/data/QNLIv2.zip, or --data hf:nyu-mll", read_qnli, "dev.tsv",
    hub=("glue", "validation"), hub_config="qnli", hub_names=("question", "sentence", "label"),
    hub_labels={0: 1.0, 1: 0.0}, counted=False, binary=True,
)  # fmt: skip


def find(data: str) -> tuple[list[Pairs], list[Missing]]:
    """Read it from a folder, or from the Hub; raises InputError for a malformed file or a wrong count."""
    return read_all((QNLI,), data)
