"""`--pairs columns`: a sentence and its `pair`, or two columns of a table (see `nli`)."""

from collections.abc import Iterator

import numpy as np

from augment.errors import InputError
from pipelines.pairs.candidates import TASK_ROWS
from pipelines.pairs.nli import NLI_LABELS
from pipelines.pairs.row_pairs import PAIR, RowPairs
from pipelines.storage.dataset import Dataset


def column_row_pairs(sentences: Dataset, rows: int) -> Iterator[RowPairs]:
    """The first `rows` sentences, each with itself; raises InputError for sentences without second texts, or of NLI."""
    table = sentences.read(0, min(rows, TASK_ROWS))
    if PAIR not in table.schema.names:
        raise InputError(f"{sentences.path} has no second texts: ingest with --pair-column NAME")
    if "label" in table.schema.names and set(table["label"].to_pylist()) <= NLI_LABELS:
        raise InputError(f"{sentences.path} has the labels of an NLI corpus: see --pairs entailment")
    blocks = (np.arange(start, min(start + TASK_ROWS, rows)) for start in range(0, rows, TASK_ROWS))
    return ((block, block, "no second text") for block in blocks)
