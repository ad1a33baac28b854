"""Pairs of two sentences with one label: on values which these are, and around that the candidates of sentences."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa
import xxhash

from augment.errors import InputError
from pipelines.pairs.pair import ORIGINAL, Candidate, blocks
from pipelines.storage.dataset import Dataset


def label_rings(sentences: Iterable[tuple[str, str]], seed: int) -> list[list[int]]:
    """The numbers of the sentences of each label, in an order that the seed draws.

    Sentences are ids with labels; those with an empty label are left out.
    """
    rings = defaultdict[str, list[tuple[int, int]]](list)
    for number, (id, label) in enumerate(sentences):
        if label:
            rings[label].append((xxhash.xxh64_intdigest(f"{seed}|{id}".encode()), number))
    return [[number for _, number in sorted(ring)] for ring in rings.values()]


def ring_pairs(rings: Sequence[Sequence[int]], per_sentence: int) -> Iterator[tuple[int, int]]:
    """Pairs within rings, each once: every ring has equally many, or all that it can have; rings take turns.

    These are `per_sentence` times the mean size of a ring. Pairs are those next to each other, then those two
    apart, and so on, so the members of a ring occur about equally often.
    """
    sizes = [len(ring) for ring in rings if len(ring) > 1]
    quota = -(-per_sentence * sum(sizes) // len(sizes))
    counts = [min(quota, len(ring) * (len(ring) - 1) // 2) for ring in rings]
    for turn in range(max(counts)):
        for ring, count in zip(rings, counts, strict=True):
            if turn < count:
                yield _ring_pair(ring, turn)


def _ring_pair(ring: Sequence[int], turn: int) -> tuple[int, int]:
    apart, place = divmod(turn, len(ring))
    if apart == 0:  # first every second place, so that few pairs reach all members
        half = (len(ring) + 1) // 2
        place = 2 * place if place < half else 2 * (place - half) + 1
    return ring[place], ring[(place + apart + 1) % len(ring)]


def label_blocks(sentences: Dataset, rows: int, per_sentence: int, seed: int) -> Iterator[list[Candidate]]:
    """The candidates of the first `rows` sentences; last, with a reason, sentences that are in no pair.

    Labels and the order of the sentences are in memory, some 150 bytes a sentence. Raises InputError for other
    labels.
    """
    table = sentences.read(0, rows)
    if "label" not in table.schema.names:
        raise InputError(
            f"{sentences.path} has no labels: ingest with --label-column NAME, one label a sentence"
        )
    labels = [(label or "").strip() for label in table["label"].to_pylist()]
    if len({*labels} - {""}) == 1:
        raise InputError(f"all sentences of {sentences.path} have one label: give two or more")
    rings = label_rings(zip(table["id"].to_pylist(), labels, strict=True), seed)
    if not any(len(ring) > 1 for ring in rings):
        raise InputError(f"no two sentences of {sentences.path} have the same label: give classes as labels")
    unlabelled = (number for number, label in enumerate(labels) if not label)
    alone = sorted(ring[0] for ring in rings if len(ring) == 1)
    numbers = chain(ring_pairs(rings, per_sentence), ((number, None) for number in chain(unlabelled, alone)))
    return ([_candidate(table, *pair) for pair in block] for block in blocks(numbers))


def _candidate(table: pa.Table, left: int, right: int | None) -> Candidate:
    """Two sentences of a table, or one that has no other."""
    id, text, label = (table[name][left].as_py() for name in ("id", "text", "label"))
    if right is None:
        reason = "no other sentence has its label" if (label or "").strip() else "no label"
        return Candidate(id, text, text, None, ORIGINAL, ORIGINAL, label=label, reason=reason)
    other = table["text"][right].as_py()
    return Candidate(id, text, text, other, ORIGINAL, ORIGINAL, label=label, sentence_b=other)
