"""Candidates for words in their sentences, ranked by a masked language model: fit to the context, likeness to the word.

Lexical substitution as in Melamud et al. 2015 and Zhou et al. 2019, with one forward pass a word and piece count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from augment.device import pack
from augment.edits import matching_case
from augment.masked import CPU_BATCH_TOKENS, CUDA_BATCH_TOKENS, FillModel, Masked, token_span

if TYPE_CHECKING:
    import torch

    from augment.synonyms import Weighted

FIT = 0.5
LIKENESS = 20.0
"""How much the log-probability of a candidate's pieces and the cosine of its vector count beside the log of its sense
weight. Chosen on captions and STS-B training sentences, by two encoders' similarity of sentence and view."""


class Slot(NamedTuple):
    """A word of a text that is to be replaced: its characters, and what may stand there, each with its sense weight."""

    start: int
    end: int
    candidates: Weighted


class _Question(NamedTuple):
    """A row with masks for one word, and the pieces that may fill them."""

    masked: Masked
    answers: list[_Scored]


@dataclass
class _Scored:
    """One candidate on its way: its log sense weight, its pieces, its likeness, and then its fit."""

    form: str
    weight: float
    pieces: list[int]
    likeness: float
    fit: float = field(default=-math.inf)

    @property
    def score(self) -> float:
        return self.weight + FIT * self.fit + LIKENESS * self.likeness


class Ranking:
    """Scores the candidates for words in their sentences.

    Args:
        model: The masked language model.
        batch_tokens: Tokens in one batch, padding included; None for the device's default.
    """

    def __init__(self, model: FillModel, *, batch_tokens: int | None = None) -> None:
        self._fill = model
        self._batch_tokens = batch_tokens
        self._pieces_of: dict[tuple[str, str], list[int]] = {}

    def best(self, texts: Sequence[str], slots: Sequence[Sequence[Slot]]) -> list[list[str | None]]:
        """The candidate that scores best for every slot of every text; None where the model does not see the word."""
        return [[_best(scores) for scores in row] for row in self.scores(texts, slots)]

    def scores(self, texts: Sequence[str], slots: Sequence[Sequence[Slot]]) -> list[list[dict[str, float]]]:
        """The score of each candidate for every slot of every text.

        It is log w + f / 2 + 20 c: w the sense weight, f the log-probability of the candidate's pieces in as many
        masks, in the text as it is otherwise, and c the cosine of its and the word's input embeddings.

        Returns:
            One dict a slot; empty where the model does not see the word whole (cut off, or joined with another).
        """
        questions: list[_Question] = []
        found: list[list[list[_Scored]]] = []
        for text, places in zip(texts, slots, strict=True):
            ids, offsets = self._fill.encoded(text) if places else ([], [])
            found.append([self._asked(text, ids, offsets, slot, questions) for slot in places])
        self._answer(questions)
        return [
            [{one.form: one.score for one in candidates if one.fit > -math.inf} for candidates in row] for row in found
        ]

    def _asked(
        self,
        text: str,
        ids: list[int],
        offsets: Sequence[tuple[int, int]],
        slot: Slot,
        questions: list[_Question],
    ) -> list[_Scored]:
        span = token_span(offsets, slot.start, slot.end)
        if span is None:
            return []
        first, last = span
        word, lead = text[slot.start : slot.end], _lead(text, slot.start)
        forms = [self._pieces(matching_case(word, form), lead) for form, _ in slot.candidates]
        likeness = self._likeness(ids[first : last + 1], forms)
        scored = [
            _Scored(form, math.log(weight), pieces, cosine)
            for (form, weight), pieces, cosine in zip(slot.candidates, forms, likeness, strict=True)
        ]
        mask = self._fill.tokenizer.mask_token_id
        for size in sorted({len(one.pieces) for one in scored}):
            answers = [one for one in scored if len(one.pieces) == size]
            masked = Masked([*ids[:first], *[mask] * size, *ids[last + 1 :]], list(range(first, first + size)))
            if size and len(masked.ids) <= self._fill.limit:
                questions.append(_Question(masked, answers))
        return scored

    def _answer(self, questions: Sequence[_Question]) -> None:
        """Fill in the fit of all candidates, questions of equal width in one forward pass."""
        if not questions:
            return
        device = self._fill.model.device
        budget = self._batch_tokens or (CUDA_BATCH_TOKENS if device.type == "cuda" else CPU_BATCH_TOKENS)
        widths = [self._fill.width(len(question.masked.ids)) for question in questions]
        for batch in pack(widths, budget, widths):
            rows = [questions[number] for number in batch]
            scores = self._fill.logits([row.masked for row in rows]).log_softmax(-1).cpu()
            first = 0
            for row in rows:
                places = range(first, first + len(row.masked.places))
                for one in row.answers:
                    one.fit = float(scores[places, one.pieces].sum())
                first = places.stop

    def _likeness(self, word: Sequence[int], forms: Sequence[Sequence[int]]) -> list[float]:
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
