"""Pairs of sentences by their numbers: a side is the sentence, or with views what a seed draws of it and its views."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from pipelines.pairs.candidates import DROPPED, ORIGINAL
from pipelines.pairs.filter import SENTENCE_B
from pipelines.storage.dataset import Dataset
from pipelines.storage.pair_files import PAIR_COLUMNS

PAIR = "pair"
"""The column of sentences with their second texts, and the name of such a text as a side."""
Numbers: TypeAlias = NDArray[np.int64]
RowPairs: TypeAlias = tuple[Numbers, Numbers, str]
"""Candidates: the numbers of left and of right sentences (-1: none), and why one without a right side is dropped."""


class Lookup:
    """Rows of tables by their numbers, out of mapped batches; where the number is negative, every cell is null."""

    def __init__(self, tables: Sequence[pa.Table]) -> None:
        self._batches = [batch for table in tables for batch in table.to_batches()]
        self._ends = np.cumsum([len(batch) for batch in self._batches])

    def take(self, rows: Numbers) -> pa.RecordBatch:
        """These rows, in this order; `Table.take` would first copy whole columns."""
        order = np.argsort(rows, kind="stable")
        ordered = np.maximum(rows[order], 0)
        numbers, parts = np.searchsorted(self._ends, ordered, side="right"), []
        for places in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(numbers)) + 1):
            number = numbers[places[0]]
            batch = self._batches[number]
            parts.append(batch.take(pa.array(ordered[places] - self._ends[number] + len(batch))))
        return pa.concat_batches(parts).take(pa.array(np.argsort(order), mask=rows < 0))


def row_pair_batches(
    row_pairs: Iterable[RowPairs], sentences: Dataset, views: Mapping[str, Dataset], columns: Sequence[str],
    seed: int | None, *, second_texts: bool,
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """The candidates of row pairs, with these columns of the left sentence; with `second_texts` its `pair` is right.

    Only the rows of a batch are in memory.
    """
    table = sentences.read(0, sentences.rows)
    outcomes = pa.table({name: pa.nulls(len(table), pa.string()) for name in ("status", "reason")})
    sides = {name: outcomes.add_column(0, "view", table[name]) for name in ("text", PAIR) if name in table.schema.names}
    tables = [sides["text"], *(view.read(0, view.rows).select(["view", "status", "reason"]) for view in views.values())]
    count, sizes = len(tables), np.array([len(part) for part in (*tables, table)])
    names = pa.array([ORIGINAL, *views, PAIR])
    rows, texts = Lookup([table.select(columns)]), Lookup([*tables, sides.get(PAIR, sides["text"])])

    def side(numbers: Numbers, choices: Numbers) -> tuple[pa.Array, pa.Array, pa.Array]:
        is_there = (numbers >= 0) & (numbers < sizes[choices])
        cells = texts.take(np.where(is_there, (np.cumsum(sizes) - sizes)[choices] + numbers, -1))
        side_names = names.take(pa.array(choices))
        return cells["view"], side_names, missing_texts(side_names, *cells.columns)

    for left, right, reason in row_pairs:
        pairs = {name: rows.take(left)[name] for name in columns}
        partners = rows.take(right)
        ids = zip(pairs["id"].to_pylist(), partners["id"].to_pylist(), strict=True)
        draws = [xxhash.xxh64_intdigest(f"{seed}|{a}|{b}".encode()) % count**2 for a, b in ids]
        choices, right_choices = np.divmod(draws, count)
        pairs["view_a"], pairs["view_a_name"], problems = side(left, choices)
        if second_texts:
            right_choices = np.full(len(right), count)
        pairs["view_b"], pairs["view_b_name"], right_problems = side(right, right_choices)
        pairs[SENTENCE_B] = pairs["view_b"] if second_texts else partners["text"]
        alone = pc.if_else(pairs[SENTENCE_B].is_valid(), None, reason)
        pairs[DROPPED] = pc.coalesce(alone, problems, right_problems)
        yield pa.RecordBatch.from_pydict({name: pairs[name] for name in (*PAIR_COLUMNS, *pairs.keys() - PAIR_COLUMNS)})


def missing_texts(name: str | pa.Array, texts: pa.Array, statuses: pa.Array, reasons: pa.Array) -> pa.Array:
    """Why texts of a view are missing, by the status and reason of each; null where one is there."""
    statuses = pc.binary_join_element_wise(name, statuses.fill_null("was not made for it"), " ")
    problems = pc.binary_join_element_wise(statuses, reasons, ": ", null_handling="skip")
    return pc.if_else(texts.is_valid(), None, problems)
