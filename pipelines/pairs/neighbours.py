"""`--pairs neighbours`: sentences that stand near each other in one document, under one heading."""

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from augment.errors import InputError
from pipelines.pairs.pair import BLOCK_ROWS
from pipelines.pairs.row_pairs import RowPairs
from pipelines.storage.dataset import PLACE, Dataset


def neighbour_row_pairs(sentences: Dataset, rows: int, distance: int) -> Iterator[RowPairs]:
    """Pairs of the first `rows` sentences that are at most `distance` apart in a document, the earlier one left.

    None reaches across a heading, which begins its section; dropped sentences count. Raises InputError without
    places.
    """
    if not set(PLACE[:2]) <= set(sentences.read(0, 1).schema.names):
        raise InputError(
            f"{sentences.path} does not say where its sentences stand: ingest with --split sentences"
        )
    return _row_pairs(sentences, rows, distance)


def _row_pairs(sentences: Dataset, rows: int, distance: int) -> Iterator[RowPairs]:
    step = max(1, BLOCK_ROWS // distance)
    for start in range(0, rows, step):
        stop, first = min(start + step, rows), max(start - distance, 0)
        table = sentences.read(first, min(stop + distance, rows))
        columns = [table[name] for name in PLACE if name in table.schema.names]
        documents, positions, *headings = (column.combine_chunks() for column in columns)
        sections = [documents, *(column.fill_null("") for column in headings)]
        lefts, rights = [], []
        for apart in range(1, min(distance, len(table) - 1) + 1):
            steps = pc.subtract(positions[apart:], positions[:-apart])
            is_near = pc.and_(pc.greater_equal(steps, 0), pc.less_equal(steps, distance))
            for column in sections:
                is_near = pc.and_(is_near, pc.equal(column[apart:], column[:-apart]))
            lefts.append(first + np.flatnonzero(is_near.to_numpy(zero_copy_only=False)))
            rights.append(lefts[-1] + apart)
        left, right = (np.concatenate([*sides, np.arange(0)]) for sides in (lefts, rights))
        alone = np.setdiff1d(np.arange(start, stop), np.concatenate([left, right]))
        is_own = (left >= start) & (left < stop)
        left, right = np.append(left[is_own], alone), np.append(right[is_own], np.full(len(alone), -1))
        order = np.argsort(left, kind="stable")
        if len(order):
            yield left[order], right[order], "no sentence near it"
