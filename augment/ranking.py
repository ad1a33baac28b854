"""Candidates for words in their sentences, ranked by a masked language model: fit to the context, similar meaning.

Lexical substitution as in Melamud et al. 2015 and Zhou et al. 2019, with one forward pass a word and piece count.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from augment.device import pack
from augment.edits import matching_case
from augment.masked import FillModel, Masked, token_span

if TYPE_CHECKING:
    import torch

    from augment.synonyms import Weighted

FIT = 0.5
SIMILARITY = 20.0
"""How much the log-probability of a candidate's pieces and the cosine of its vector count beside the log of its sense
weight. Chosen on captions and STS-B training sentences, by two encoders' similarity of sentence and view."""

Scores = dict[str, float]
"""The score of each candidate of a slot; empty where the model does not see the word whole."""


class Slot(NamedTuple):
    """A word of a text that is to be replaced: its characters, and what may stand there, each with its sense weight."""

    start: int
    end: int
    candidates: Weighted


class _Question(NamedTuple):
    """A row with masks for one word, and where scores go.

    The candidates are those of as many pieces, each with these and the part of its score that no sentence changes.
    """

    masked: Masked
    candidates: dict[str, tuple[list[int], float]]
    scores: Scores


class Ranking:
    """Scores the candidates for words in their sentences, by a masked language model."""

    def __init__(self, model: FillModel) -> None:
        self._fill = model
        self._pieces_of: dict[tuple[str, str], list[int]] = {}

    def best(self, texts: Sequence[str], slots: Sequence[Sequence[Slot]]) -> list[list[str | None]]:
        """The candidate that scores best for every slot of every text; None where the model does not see the word."""
        return [[_best(scores) for scores in row] for row in self.scores(texts, slots)]

    def scores(self, texts: Sequence[str], slots: Sequence[Sequence[Slot]]) -> list[list[Scores]]:
        """The score of each candidate for every slot of every text.

        It is log w + f / 2 + 20 c: w the sense weight, f the log-probability of the candidate's pieces in as many
        masks, in the text as it is otherwise, and c the cosine of its and the word's input embeddings.

        Returns:
            One dict a slot; empty where the model does not see the word whole (cut off, or joined with another).
        """
        questions: list[_Question] = []
        found: list[list[Scores]] = [[{} for _ in row] for row in slots]
        for text, row, row_scores in zip(texts, slots, found, strict=True):
            encoded = self._fill.encoded(text) if row else ([], [])
            for slot, scores in zip(row, row_scores, strict=True):
                questions += self._questions(text, *encoded, slot, scores)
        self._answer(questions)
        return found

    def _questions(
        self, text: str, ids: list[int], offsets: Sequence[tuple[int, int]], slot: Slot, scores: Scores
    ) -> list[_Question]:
        """A question for each number of pieces that candidates have; none where the word is not seen whole."""
        span = token_span(offsets, slot.start, slot.end)
        if span is None:
            return []
        first, last = span
        word, lead = text[slot.start : slot.end], _lead(text, slot.start)
        pieces = [self._pieces(matching_case(word, form), lead) for form, _ in slot.candidates]
        similarities = self._similarities(ids[first : last + 1], pieces)
        by_size: dict[int, dict[str, tuple[list[int], float]]] = defaultdict(dict)
        for (form, weight), own, similarity in zip(slot.candidates, pieces, similarities, strict=True):
            by_size[len(own)][form] = own, math.log(weight) + SIMILARITY * similarity
        questions = []
        for size, candidates in by_size.items():
            masked = [*ids[:first], *[self._fill.tokenizer.mask_token_id] * size, *ids[last + 1 :]]
            if size and len(masked) <= self._fill.limit:
                questions.append(_Question(Masked(masked, list(range(first, first + size))), candidates, scores))
        return questions

    def _answer(self, questions: Sequence[_Question]) -> None:
        """Score all candidates, questions of equal width in one forward pass."""
        if not questions:
            return
        widths = [self._fill.width(len(question.masked.ids)) for question in questions]
        for batch in pack(widths, self._fill.batch_tokens):
            rows = [questions[number] for number in batch]
            logits = self._fill.logits([row.masked for row in rows]).log_softmax(-1).cpu()
            first = 0
            for masked, candidates, scores in rows:
                places = range(first, first + len(masked.places))
                for form, (pieces, known) in candidates.items():
                    scores[form] = known + FIT * float(logits[places, pieces].sum())
                first = places.stop

    def _similarities(self, word: Sequence[int], forms: Sequence[Sequence[int]]) -> list[float]:
        """Cosines of the mean input embeddings of a word's pieces and those of each form."""
        import torch

        vectors = torch.stack([self._embeddings[list(pieces)].mean(0) for pieces in (word, *forms)])
        values: list[float] = torch.cosine_similarity(vectors[:1], vectors[1:]).tolist()
        return values

    @cached_property
    def _embeddings(self) -> torch.Tensor:
        weight: torch.Tensor = self._fill.model.get_input_embeddings().weight.detach().float().cpu()
        return weight

    def _pieces(self, form: str, lead: str) -> list[int]:
        """The tokens of a form where `lead` stands before it."""
        key = (form, lead)
        if key not in self._pieces_of:
            batch = self._fill.tokenizer(lead + form, add_special_tokens=False, return_offsets_mapping=True)
            pairs = zip(batch["input_ids"], batch["offset_mapping"], strict=True)
            self._pieces_of[key] = [number for number, (_, end) in pairs if end > len(lead)]
        return self._pieces_of[key]


def _best(scores: Mapping[str, float]) -> str | None:
    """The form that scores best; rounded, as the last digits may differ between batches."""
    return max(scores, key=lambda form: (round(scores[form], 3), form)) if scores else None


def _lead(text: str, start: int) -> str:
    """What stands for all that precedes a place in a text: tokenizers tell words after a space from others."""
    if start == 0:
        return ""
    return "a " if text[start - 1].isspace() else "("
