"""Pairs of sentences by their numbers: a side is the sentence, or with views what a seed draws of it and its views."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from pipelines.pairs.candidates import DROPPED, ORIGINAL
from pipelines.pairs.filter import SENTENCE_B, SIDES
from pipelines.storage.dataset import Dataset
from pipelines.storage.pair_files import PAIR_COLUMNS

PAIR = "pair"
"""The column of sentences with their second texts, and the name of such a text as a side."""
Numbers = NDArray[np.int64]


class Couples(NamedTuple):
    """Candidates: the numbers of left sentences, and of right ones (-1: none) or second texts instead.

    `reason` says why those without a right side are dropped.
    """

    left: Numbers
    right: Numbers | pa.Array
    reason: str


class Lookup:
    """Rows of a dataset by their numbers, out of its mapped shards; of a number that it lacks, every cell is null."""

    def __init__(self, dataset: Dataset, columns: Sequence[str]) -> None:
        self._batches = dataset.read(0, dataset.rows).select(columns).to_batches()
        self._ends = np.cumsum([len(batch) for batch in self._batches])

    def take(self, rows: Numbers) -> pa.RecordBatch:
        """These rows, in this order."""
        order = np.argsort(rows, kind="stable")
        ordered = np.clip(rows[order], 0, self._ends[-1] - 1)
        numbers = np.searchsorted(self._ends, ordered, side="right")
        parts = []
        for places in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(numbers)) + 1):
            batch = self._batches[numbers[places[0]]]
            parts.append(batch.take(pa.array(ordered[places] - self._ends[numbers[places[0]]] + len(batch))))
        is_missing = (rows < 0) | (rows >= self._ends[-1])
        return pa.concat_batches(parts).take(pa.array(np.argsort(order), mask=is_missing))


def couple_batches(
    couples: Iterable[Couples], sentences: Dataset, views: Mapping[str, Dataset], columns: Sequence[str], seed: int
) -> Iterator[pa.RecordBatch]:
    """The candidates of couples, with these columns of the left sentence."""
    rows = Lookup(sentences, columns)
    sides = {ORIGINAL: Lookup(sentences, ["text"])}
    sides |= {name: Lookup(view, ["view", "status", "reason"]) for name, view in views.items()}
    for left, right, reason in couples:
        pairs = {name: column for name, column in zip(columns, rows.take(left).columns, strict=True)}
        if isinstance(right, pa.Array):
            partners = pa.RecordBatch.from_arrays([right, right], ["id", "text"])
        else:
            partners = rows.take(right).select(["id", "text"])
        count = len(sides)
        keys = zip(pairs["id"].to_pylist(), partners["id"].to_pylist(), strict=True) if views else ()
        draws = [xxhash.xxh64_intdigest(f"{seed}|{a}|{b}".encode()) % count**2 for a, b in keys]
        drawn = np.divmod(np.array(draws or [0] * len(left)), count)
        missing = [pc.if_else(partners["text"].is_valid(), None, reason)]
        for side, numbers, choices in zip(SIDES, (left, right), drawn, strict=True):
            if isinstance(numbers, pa.Array):
                names, texts = pa.repeat(PAIR, len(numbers)), numbers
            else:
                names, texts, problems = _drawn_side(sides, numbers, choices)
                missing.append(problems)
            pairs |= {side: texts, f"{side}_name": names}
        pairs |= {SENTENCE_B: partners["text"], DROPPED: pc.coalesce(*missing)}
        yield pa.RecordBatch.from_pydict({name: pairs[name] for name in (*PAIR_COLUMNS, *pairs.keys() - PAIR_COLUMNS)})


def _drawn_side(sides: Mapping[str, Lookup], rows: Numbers, choices: Numbers) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The names of the sides that were chosen by their numbers, their texts, and why a text is missing."""
    names, parts = [*sides], []
    order = np.argsort(choices, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(choices[order])) + 1):
        name = names[choices[places[0]]]
        texts, *outcome = sides[name].take(rows[places]).columns
        problems = missing_texts(name, texts, *outcome) if outcome else pa.nulls(len(texts), pa.string())
        parts.append((pa.repeat(name, len(texts)), texts, problems))
    ranks = pa.array(np.argsort(order))
    names_of, texts_of, problems_of = (pa.concat_arrays(column).take(ranks) for column in zip(*parts, strict=True))
    return names_of, texts_of, problems_of


def missing_texts(name: str, texts: pa.Array, statuses: pa.Array, reasons: pa.Array) -> pa.Array:
    """Why texts of a view are missing, by the status and reason of each; null where one is there."""
    statuses = pc.binary_join_element_wise(name, statuses.fill_null("was not made for it"), " ")
    problems = pc.binary_join_element_wise(statuses, reasons, ": ", null_handling="skip")
    return pc.if_else(texts.is_valid(), None, problems)
