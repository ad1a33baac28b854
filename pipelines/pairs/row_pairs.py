"""Candidates of sentences and their views: the texts of one sentence, or those that a seed draws of two sentences."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from augment.errors import InputError
from pipelines.pairs.candidates import DROPPED, ORIGINAL, RANK, TASK_ROWS, UNUSED
from pipelines.pairs.filter import SENTENCE_B, SIDES
from pipelines.pairs.nli import NLI_LABELS
from pipelines.storage.dataset import Dataset
from pipelines.storage.pair_files import NEGATIVE, PAIR_COLUMNS

PAIR = "pair"
"""The column of sentences with their second texts, and the name of such a text as a side."""
Numbers: TypeAlias = NDArray[np.int64]
RowPairs: TypeAlias = tuple[Numbers, Numbers, str]
"""Candidates: the numbers of left and of right sentences (-1: none), and why one without a right side is dropped."""


def view_candidates(
    source: Dataset, views: Mapping[str, Dataset], couples: Sequence[tuple[str, str]], columns: Sequence[str],
    paired: Collection[str], fallback: bool, negative_view: Dataset | None, task: tuple[int, int],
) -> pa.RecordBatch:  # fmt: skip
    """The pairs of each couple for each sentence from `task[0]` to `task[1]`, those of one sentence side by side.

    Where views `paired` have alternatives, the n-th text of one side goes with the n-th of the other; the side with
    fewer texts begins again. With `fallback` further pairs of a couple follow, for a sentence whose own pair is
    dropped: with an alternative on one side, and with the sentence itself as the left side. RANK counts them from 0.
    """
    sentences = pa.concat_batches(source.read(*task).select(columns).to_batches())
    size = len(sentences)
    sides = {name: _side(sentences, name, view, task[0]) for name, view in views.items()}
    sides[ORIGINAL] = sentences["text"], pa.nulls(size, pa.list_(pa.string())), pa.nulls(size, pa.string())
    batches, origins = list[pa.RecordBatch](), list[Numbers]()
    for names in couples:
        couple = [sides[name] for name in names]
        further = [pc.list_value_length(alternatives).fill_null(0).to_numpy() for _, alternatives, _ in couple]
        numbers = [1 + others * (name in paired) for name, others in zip(names, further, strict=True)]
        counts = np.maximum(*numbers)
        rows = np.repeat(np.arange(size), counts)
        turns = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        couple_turns = [turns % number[rows] for number in numbers]
        unused = sum(1 + others - number for others, number in zip(further, numbers, strict=True))
        blocks = [(names, rows, couple_turns, np.where(turns, 0, unused[rows]))]  # counted once a sentence
        for turned in (1, 0) if fallback else ():
            rows = np.flatnonzero(further[turned])
            blocks.append((names, rows, [np.full(len(rows), turned == side) * 1 for side in (0, 1)], unused[rows] - 1))
        for name in names if fallback else ():
            blocks.append(((ORIGINAL, name), np.arange(size), [np.zeros(size, int)] * 2, unused))
        for block_names, rows, block_turns, block_unused in blocks:
            pairs = {name: sentences[name].take(pa.array(rows)) for name in columns}
            for side, name, turn in zip(SIDES, block_names, block_turns, strict=True):
                texts, alternatives, _ = sides[name]
                others = pc.list_value_length(alternatives).fill_null(0).to_numpy()
                places = np.where(turn, size + (np.cumsum(others) - others)[rows] + turn - 1, rows)
                pairs[side] = pa.concat_arrays([texts, alternatives.flatten()]).take(pa.array(places))
                pairs[f"{side}_name"] = pa.repeat(name, len(rows))
            pairs[UNUSED] = block_unused
            pairs[DROPPED] = pc.coalesce(*(sides[name][2] for name in block_names)).take(pa.array(rows))
            if fallback:  # a side that equals the sentence is to be named so
                for side, name in zip(SIDES, block_names, strict=True):
                    is_same = pc.equal(pairs[side], sentences["text"].take(pa.array(rows))).fill_null(False)
                    same = pc.if_else(is_same, f"{name} left it unchanged", None)
                    pairs[DROPPED] = pairs[DROPPED] if name == ORIGINAL else pc.coalesce(pairs[DROPPED], same)
                pairs[RANK] = pa.repeat(len(batches), len(rows))
            batches.append(pa.RecordBatch.from_pydict(pairs))
            origins.append(rows)
    order = np.argsort(np.concatenate(origins), kind="stable")
    return _with_negatives(pa.concat_batches(batches).take(pa.array(order)), negative_view, task[0])


def _side(sentences: pa.RecordBatch, name: str, view: Dataset, start: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The texts of the view for the sentences from row `start` on, their alternatives, and why a text is missing."""
    numbers = np.arange(start, start + len(sentences))
    table = view.read(start, min(start + len(sentences), view.rows)) if start < view.rows else view.read(0, 1)
    places = pa.array(numbers - start, mask=numbers >= view.rows)
    columns = ("view", "status", "reason", "alternatives")
    texts, statuses, reasons, alternatives = (table[name].combine_chunks().take(places) for name in columns)
    return texts, alternatives, missing_texts(name, texts, statuses, reasons)


def column_row_pairs(sentences: Dataset, rows: int) -> Iterator[RowPairs]:
    """The first `rows` sentences, each with itself; raises InputError for sentences without second texts, or of NLI."""
    table = sentences.read(0, min(rows, TASK_ROWS))
    if PAIR not in table.schema.names:
        raise InputError(f"{sentences.path} has no second texts: ingest with --pair-column NAME")
    if "label" in table.schema.names and set(table["label"].to_pylist()) <= NLI_LABELS:
        raise InputError(f"{sentences.path} has the labels of an NLI corpus: see --pairs entailment")
    blocks = (np.arange(start, min(start + TASK_ROWS, rows)) for start in range(0, rows, TASK_ROWS))
    return ((block, block, "no second text") for block in blocks)


def row_pair_batches(
    row_pairs: Iterable[RowPairs], sentences: Dataset, views: Mapping[str, Dataset], columns: Sequence[str],
    seed: int | None, negative_view: Dataset | None, *, second_texts: bool,
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """The candidates of row pairs, with these columns of the left sentence; with `second_texts` its `pair` is right."""
    from datasets.table import IndexedTableMixin

    table = sentences.read(0, sentences.rows)
    outcomes = pa.table({name: pa.nulls(len(table), pa.string()) for name in ("status", "reason")})
    sides = {name: outcomes.add_column(0, "view", table[name]) for name in ("text", PAIR) if name in table.schema.names}
    tables = [sides["text"], *(view.read(0, view.rows).select(["view", "status", "reason"]) for view in views.values())]
    count, sizes = len(tables), np.array([len(part) for part in (*tables, table)])
    names = pa.array([ORIGINAL, *views, PAIR])
    rows = IndexedTableMixin(table.select(columns))
    texts = IndexedTableMixin(pa.concat_tables([*tables, sides.get(PAIR, sides["text"])]))

    def take(indexed: IndexedTableMixin, numbers: Numbers) -> pa.RecordBatch:
        """These rows of mapped batches, null where the number is negative; `Table.take` would copy whole columns."""
        batches = indexed.fast_gather(np.maximum(numbers, 0)).to_batches()
        return pa.concat_batches(batches).take(pa.array(np.arange(len(numbers)), mask=numbers < 0))

    def side(numbers: Numbers, choices: Numbers) -> tuple[pa.Array, pa.Array, pa.Array]:
        is_there = (numbers >= 0) & (numbers < sizes[choices])
        cells = take(texts, np.where(is_there, (np.cumsum(sizes) - sizes)[choices] + numbers, -1))
        side_names = names.take(pa.array(choices))
        return cells["view"], side_names, missing_texts(side_names, *cells.columns)

    for number, (left, right, reason) in enumerate(row_pairs):
        left_rows = take(rows, left)
        pairs = {name: left_rows[name] for name in columns}
        partners = take(rows, right)
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
        batch = pa.RecordBatch.from_pydict(
            {name: pairs[name] for name in (*PAIR_COLUMNS, *pairs.keys() - PAIR_COLUMNS)}
        )
        yield _with_negatives(batch, negative_view, number * TASK_ROWS)


def _with_negatives(pairs: pa.RecordBatch, view: Dataset | None, start: int) -> pa.RecordBatch:
    """Candidates of the sentences from row `start` on, with what the view, if any, made of each where that is ok."""
    if view is None:
        return pairs
    first = min(start, view.rows - 1)
    rows = view.read(first, min(first + TASK_ROWS, view.rows)).combine_chunks()
    texts = pc.if_else(pc.equal(rows["status"], "ok"), rows["view"], pa.scalar(None, pa.string())).combine_chunks()
    return pairs.append_column(NEGATIVE, texts.take(pc.index_in(pairs["id"], rows["id"].combine_chunks())))


def missing_texts(name: str | pa.Array, texts: pa.Array, statuses: pa.Array, reasons: pa.Array) -> pa.Array:
    """Why texts of a view are missing, by the status and reason of each; null where one is there."""
    statuses = pc.binary_join_element_wise(name, statuses.fill_null("was not made for it"), " ")
    problems = pc.binary_join_element_wise(statuses, reasons, ": ", null_handling="skip")
    return pc.if_else(texts.is_valid(), None, problems)
