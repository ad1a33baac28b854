"""Candidates of one sentence and its views, and of two sentences or a view of each, as a seed draws."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from augment.errors import InputError
from pipelines.pairs.nli import NLI_LABELS
from pipelines.pairs.pair import BLOCK_ROWS, ORIGINAL, SECOND, Candidate, Sentence
from pipelines.storage.dataset import Dataset

Numbers: TypeAlias = NDArray[np.int64]
Texts: TypeAlias = tuple[str | None, str | None]
"""Those of the two sides of a candidate."""
RowPairs: TypeAlias = tuple[Numbers, Numbers, str]
"""Candidates: the numbers of left and of right sentences (-1: none), and why one without a right side is
dropped."""


@dataclass(frozen=True)
class ViewPairs:
    """Which sides of a sentence are paired.

    Attributes:
        couples: The names of two sides each.
        alternatives: The views of which all texts are paired, not the first alone: the n-th of one side with
            the n-th of the other, and the side with fewer texts begins again.
        has_spares: Whether a sentence without a pair gets spare candidates: with an alternative on one side,
            and with the sentence itself on the left.
        negative: The view that is the negative, where it is "ok".
        is_best: Whether only the best one of a sentence's candidates becomes a pair.
    """

    couples: Sequence[tuple[str, str]]
    alternatives: Collection[str] = ()
    has_spares: bool = False
    negative: str | None = None
    is_best: bool = False

    def __call__(self, sentence: Sentence) -> Iterator[Candidate]:
        """The candidates of a sentence, couple by couple."""
        for names in self.couples:
            left, right = (sentence.texts(name) for name in names)
            lefts, rights = (
                len(texts) if name in self.alternatives else 1
                for name, texts in zip(names, (left, right), strict=True)
            )
            unused = len(left) + len(right) - lefts - rights
            for turn in range(max(lefts, rights)):
                texts = left[turn % lefts], right[turn % rights]
                yield self._candidate(sentence, names, texts, unused=0 if turn else unused)
            for spare_names, texts, number in self._spares(sentence, names) if self.has_spares else ():
                spare = self._candidate(sentence, spare_names, texts, unused=number)
                spare.is_spare = True
                yield spare

    def _spares(
        self, sentence: Sentence, names: tuple[str, str]
    ) -> Iterator[tuple[tuple[str, str], Texts, int]]:
        """The names, the texts, and the number of unused alternatives of each spare candidate."""
        left, right = (sentence.texts(name) for name in names)
        further = len(left) + len(right) - 2
        if not self.alternatives:
            replaced = [(left[0], text) for text in right[1:2]] + [(text, right[0]) for text in left[1:2]]
            yield from ((names, texts, further - 1) for texts in replaced)
        for name, texts in zip(names, (left, right), strict=True):
            yield (ORIGINAL, name), (sentence.text, texts[0]), further

    def _candidate(
        self, sentence: Sentence, names: tuple[str, str], texts: Texts, *, unused: int
    ) -> Candidate:
        reason = sentence.problem(names[0]) or sentence.problem(names[1])
        # a side that equals the sentence is to be named so
        if reason is None and (self.has_spares or self.is_best):
            sides = zip(names, texts, strict=True)
            same = (name for name, text in sides if name != ORIGINAL and text == sentence.text)
            reason = next((f"{name} left it unchanged" for name in same), None)
        return Candidate(
            *(sentence.id, sentence.text, *texts, *names),
            label=sentence.label,
            negative=negative_of(sentence, self.negative),
            reason=reason,
            unused=unused,
        )


def negative_of(sentence: Sentence, name: str | None) -> str | None:
    """The text of a sentence's view of this name where that is "ok"."""
    view = sentence.views[name] if name is not None else None
    return view.text if view is not None and view.status == "ok" else None


def column_row_pairs(sentences: Dataset, rows: int) -> Iterator[RowPairs]:
    """The first `rows` sentences, each with itself; raises InputError for sentences without second texts, or of NLI."""
    table = sentences.read(0, min(rows, BLOCK_ROWS))
    if SECOND not in table.schema.names:
        raise InputError(f"{sentences.path} has no second texts: ingest with --pair-column NAME")
    if "label" in table.schema.names and set(table["label"].to_pylist()) <= NLI_LABELS:
        raise InputError(f"{sentences.path} has the labels of an NLI corpus: see --pairs entailment")
    blocks = (np.arange(start, min(start + BLOCK_ROWS, rows)) for start in range(0, rows, BLOCK_ROWS))
    return ((block, block, "no second text") for block in blocks)


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
