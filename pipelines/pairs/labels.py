"""`--pairs labels`: sentences with the same label, drawn by a seed, as many of each label as it has."""

import ast
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import xxhash
from numpy.typing import NDArray

from augment.errors import InputError
from pipelines.pairs.nli import NLI_LABELS
from pipelines.pairs.pair import BLOCK_ROWS
from pipelines.pairs.row_pairs import Numbers, RowPairs
from pipelines.storage.dataset import Dataset


def label_row_pairs(sentences: Dataset, rows: int, per_sentence: int, seed: int) -> Iterator[RowPairs]:
    """Pairs of the first `rows` sentences, each once: every label has equally many, or all that it can have.

    These are `per_sentence` times the mean number of sentences with a label. The members of a label, in an
    order that
    the seed draws, form a ring: pairs are those next to each other, then those two apart, and so on, so its
    sentences occur about equally often. Labels and order are in memory, 24 bytes a sentence. Raises InputError
    for other labels.
    """
    codes, keys = np.full(rows, -1, dtype=np.int64), np.zeros(rows, dtype=np.uint64)
    numbers: dict[str, int] = {}
    for start in range(0, rows, sentences.plan.shard_size):
        table = sentences.read(start, min(start + sentences.plan.shard_size, rows))
        if "label" not in table.schema.names:
            raise InputError(
                f"{sentences.path} has no labels: ingest with --label-column NAME, one label a sentence"
            )
        for row, (id, label) in enumerate(
            zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True), start
        ):
            keys[row] = xxhash.xxh64_intdigest(f"{seed}|{id}".encode())
            if label := (label or "").strip():
                codes[row] = numbers.setdefault(label, len(numbers))
    _check(sentences, numbers)
    sizes = np.bincount(codes[codes >= 0], minlength=len(numbers))
    if sizes.max() < 2:
        raise InputError(f"no two sentences of {sentences.path} have the same label: give classes as labels")
    order = np.lexsort((keys, codes))
    quota = -(-per_sentence * sizes[sizes > 1].sum() // np.count_nonzero(sizes > 1))
    counts = np.minimum(quota, sizes * (sizes - 1) // 2)
    alone = np.isin(codes, np.flatnonzero(sizes == 1))
    return _row_pairs(order, sizes, counts, {"no label": codes < 0, "no other sentence has its label": alone})


def _row_pairs(
    order: Numbers, sizes: Numbers, counts: Numbers, dropped: dict[str, NDArray[np.bool_]]
) -> Iterator[RowPairs]:
    """The first `counts` pairs of each label, label by label in turn, and then what is dropped for a reason."""
    starts = len(order) - sizes.sum() + np.cumsum(sizes) - sizes
    step = max(1, BLOCK_ROWS // len(sizes))
    for first in range(0, counts.max(), step):
        turns, labels = np.nonzero(np.arange(first, first + step)[:, None] < counts)
        apart, place = np.divmod(first + turns, sizes[labels])
        # First every second place, so that few pairs reach all members.
        half = (sizes[labels] + 1) // 2
        place = np.where(apart, place, 2 * place - np.where(place < half, 0, 2 * half - 1))
        left, right = (order[starts[labels] + offset % sizes[labels]] for offset in (place, place + apart + 1))
        yield left, right, ""
    for reason, mask in dropped.items():
        places = np.flatnonzero(mask)
        for start in range(0, len(places), BLOCK_ROWS):
            left = places[start : start + BLOCK_ROWS]
            yield left, np.full(len(left), -1), reason


def _check(sentences: Dataset, labels: dict[str, int]) -> None:
    if labels.keys() <= NLI_LABELS:
        problem = f"has the labels {', '.join(labels)} of an NLI corpus" if labels else "has only empty labels"
        raise InputError(f"{sentences.path} {problem}: give classes as labels, or see --pairs entailment")
    if len(labels) == 1:
        raise InputError(
            f"all sentences of {sentences.path} have the label {next(iter(labels))!r}: give two or more"
        )
    for label in labels:
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            if label[0] in "[{" and isinstance(ast.literal_eval(label), list | dict):
                raise InputError(
                    f"{sentences.path}: the label {label[:60]!r} is a list: give one label a sentence"
                )
