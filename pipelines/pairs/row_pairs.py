"""Pairs of two sentences, or of a view of each: by second texts, neighbours in a document, and labels."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from augment.errors import InputError
from pipelines.pairs.nli import NLI_LABELS
from pipelines.pairs.pair import BLOCK_ROWS, ORIGINAL, SECOND, Candidate, Sentence, negative_of
from pipelines.storage.dataset import Dataset
from pipelines.storage.shards import PLACE

Numbers: TypeAlias = NDArray[np.int64]
RowPairs: TypeAlias = tuple[Numbers, Numbers, str]
"""Candidates: the numbers of left and of right sentences (-1: none), and why one without a right side is
dropped."""


def column_row_pairs(sentences: Dataset, rows: int) -> Iterator[RowPairs]:
    """The first `rows` sentences, each with itself; raises InputError for sentences without second texts, or of NLI."""
    table = sentences.read(0, min(rows, BLOCK_ROWS))
    if SECOND not in table.schema.names:
        raise InputError(f"{sentences.path} has no second texts: ingest with --pair-column NAME")
    if "label" in table.schema.names and set(table["label"].to_pylist()) <= NLI_LABELS:
        raise InputError(f"{sentences.path} has the labels of an NLI corpus: see --pairs entailment")
    blocks = (np.arange(start, min(start + BLOCK_ROWS, rows)) for start in range(0, rows, BLOCK_ROWS))
    return ((block, block, "no second text") for block in blocks)


def neighbour_row_pairs(sentences: Dataset, rows: int, distance: int) -> Iterator[RowPairs]:
    """Pairs of the first `rows` sentences that are at most `distance` apart in a document, the earlier one left.

    None reaches across a heading, which begins its section; dropped sentences count. Raises InputError without
    places.
    """
    if not set(PLACE[:2]) <= set(sentences.read(0, 1).schema.names):
        raise InputError(
            f"{sentences.path} does not say where its sentences stand: ingest with --split sentences"
        )
    return _neighbours(sentences, rows, distance)


def _neighbours(sentences: Dataset, rows: int, distance: int) -> Iterator[RowPairs]:
    step = max(1, BLOCK_ROWS // distance)
    for start in range(0, rows, step):
        stop, first = min(start + step, rows), max(start - distance, 0)
        table = sentences.read(first, min(stop + distance, rows))
        sections = [
            table[name].fill_null("").combine_chunks().dictionary_encode().indices.to_numpy()
            for name in (PLACE[0], PLACE[2])
            if name in table.schema.names
        ]
        positions = table[PLACE[1]].to_numpy()
        reach = min(distance, len(table))
        apart = np.delete(np.arange(-reach, reach + 1), reach)
        row = np.arange(start - first, stop - first).repeat(len(apart))
        other = row + np.tile(apart, stop - start)
        is_there = (other >= 0) & (other < len(table))
        row, other = row[is_there], other[is_there]
        steps = (positions[other] - positions[row]) * np.sign(other - row)
        is_near = (steps >= 0) & (steps <= distance)
        for section in sections:
            is_near &= section[row] == section[other]
        row, other = first + row[is_near], first + other[is_near]
        alone = np.setdiff1d(np.arange(start, stop), row)
        left = np.append(row[other > row], alone)
        right = np.append(other[other > row], np.full(len(alone), -1))
        order = np.argsort(left, kind="stable")
        if len(order):
            yield left[order], right[order], "no sentence near it"


def label_row_pairs(sentences: Dataset, rows: int, per_sentence: int, seed: int) -> Iterator[RowPairs]:
    """Pairs of the first `rows` sentences, each once: every label has equally many, or all that it can have.

    These are `per_sentence` times the mean number of sentences with a label. The members of a label, in an
    order that the seed draws, form a ring: pairs are those next to each other, then those two apart, and so
    on, so its sentences occur about equally often. Labels and order are in memory, 24 bytes a
    sentence. Raises InputError for other labels.
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
    _check_labels(sentences, numbers)
    sizes = np.bincount(codes[codes >= 0], minlength=len(numbers))
    if sizes.max() < 2:
        raise InputError(f"no two sentences of {sentences.path} have the same label: give classes as labels")
    order = np.lexsort((keys, codes))
    quota = -(-per_sentence * sizes[sizes > 1].sum() // np.count_nonzero(sizes > 1))
    counts = np.minimum(quota, sizes * (sizes - 1) // 2)
    alone = np.isin(codes, np.flatnonzero(sizes == 1))
    return _label_pairs(
        order, sizes, counts, {"no label": codes < 0, "no other sentence has its label": alone}
    )


def _label_pairs(
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


def _check_labels(sentences: Dataset, labels: dict[str, int]) -> None:
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


def drawn_pairs(
    row_pairs: Iterable[RowPairs],
    take: Callable[[Numbers], Sequence[Sentence]],
    views: Sequence[str],
    seed: int | None,
    negative: str | None,
    *,
    second_texts: bool,
) -> Iterator[list[Candidate]]:
    """The candidates of row pairs: each side is its sentence or one of these views, as the seed and both ids draw.

    `take` gives sentences by their numbers. With `second_texts` the right side is the second text of the left
    one.
    """
    names = [ORIGINAL, *views]
    for lefts, rights, reason in row_pairs:
        is_there = rights >= 0
        right_sentences = iter(take(rights[is_there]))
        block = list[Candidate]()
        for left, has_right in zip(take(lefts), is_there.tolist(), strict=True):
            right = next(right_sentences) if has_right else None
            draw = xxhash.xxh64_intdigest(f"{seed}|{left.id}|{right and right.id}".encode()) % len(names) ** 2
            name, right_name = names[draw // len(names)], SECOND if second_texts else names[draw % len(names)]
            text = right.texts(right_name)[0] if right is not None else None
            sentence_b = text if second_texts or right is None else right.text
            problem: str | None = reason
            if right is not None and sentence_b is not None:
                problem = left.problem(name) or right.problem(right_name)
            block.append(
                Candidate(
                    *(left.id, left.text, left.texts(name)[0], text, name, right_name),
                    label=left.label,
                    negative=negative_of(left, negative),
                    sentence_b=sentence_b,
                    reason=problem,
                )
            )
        yield block
