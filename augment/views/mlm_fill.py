"""Mask a share of the words and let a masked language model fill in others (BSL, section 4.4: 20%)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from augment.edits import Token, apply_edits, matching_case, tokens
from augment.masked import FillModel, Masked, Proposals, folded
from augment.view import Edit, Runtime, Viewed, ViewSpec
from augment.weights import find_encoder
from augment.words import NEGATIONS, replaceable


class PARAMS(BaseModel):
    """Parameters of the MLM-fill view."""

    model_config = ConfigDict(extra="forbid")

    fraction: float = Field(default=0.2, gt=0, le=1, description="share of the eligible words to mask")
    top_k: int = Field(default=10, ge=1, le=1000, description="sample from so many likeliest words")
    temperature: float = Field(default=1.0, gt=0, description="below 1 prefers the likelier of them")
    encoder: str = Field(
        default="starter", description="masked language model: starter, a folder, or a name on the Hub"
    )
    revision: str | None = Field(default=None, description="hold the model to this revision")


class _Chosen(NamedTuple):
    """A row with its masked words: what goes to the model, the words, and how many were eligible."""

    masked: Masked
    words: list[Token]
    eligible: int


@dataclass(frozen=True)
class MlmFill:
    """The view; words that the model's tokenizer cuts off or joins with a neighbour are not eligible."""

    spec: ViewSpec
    fraction: float
    top_k: int
    temperature: float
    model: FillModel = field(repr=False)

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text by its own seed; all masked words of all rows are filled by one pass over the batches."""
        draws = [random.Random(seed) for seed in seeds]
        rows = [self._chosen(text, draw) for text, draw in zip(texts, draws, strict=True)]
        banned = [[folded(word.text) for word in row.words] for row in rows]
        proposals = self.model.propose([row.masked for row in rows], banned, self.top_k)
        return [self._filled(*row) for row in zip(texts, rows, proposals, draws, strict=True)]

    def _chosen(self, text: str, draw: random.Random) -> _Chosen:
        ids, offsets = self.model.encoded(text)
        found = tokens(text)
        spans = {}
        for index in replaceable(found):
            span = _pieces(offsets, found[index])
            if span is not None and found[index].text.lower() not in NEGATIONS:
                spans[index] = span
        if not spans:
            return _Chosen(Masked(ids, []), [], 0)
        picked = sorted(draw.sample(sorted(spans), max(1, round(self.fraction * len(spans)))))
        masked, places, copied = [], [], 0
        for index in picked:
            first, last = spans[index]
            masked += ids[copied:first]
            places.append(len(masked))
            masked.append(self.model.tokenizer.mask_token_id)
            copied = last + 1
        return _Chosen(Masked(masked + ids[copied:], places), [found[index] for index in picked], len(spans))

    def _filled(self, text: str, row: _Chosen, proposals: Sequence[Proposals], draw: random.Random) -> Viewed:
        if not row.words:
            return Viewed(text, "unchanged", "no-eligible-word", None, (), self.fraction, 0.0)
        edits = []
        for word, proposed in zip(row.words, proposals, strict=True):
            if proposed.words:
                best = max(proposed.logits)
                weights = [math.exp((logit - best) / self.temperature) for logit in proposed.logits]
                new = matching_case(word.text, draw.choices(proposed.words, weights)[0])
                edits.append(Edit(word.start, word.end, word.text, new))
        share = len(edits) / row.eligible
        if not edits:
            return Viewed(text, "unchanged", "no-proposal", None, (), self.fraction, share)
        return Viewed(apply_edits(text, edits), "ok", None, None, tuple(edits), self.fraction, share)


def build(params: PARAMS, runtime: Runtime) -> MlmFill:
    """The view for `params`; raises InputError where the model is missing or has no mask token."""
    weights = find_encoder(params.encoder, params.revision)
    resolved = {**params.model_dump(), "revision": weights.revision}
    model = FillModel(weights.path, device=runtime.device, batch_tokens=runtime.batch_tokens)
    return MlmFill(ViewSpec("mlm-fill", resolved), params.fraction, params.top_k, params.temperature, model)


def _pieces(offsets: Sequence[tuple[int, int]], word: Token) -> tuple[int, int] | None:
    """First and last token of a word; None if the tokens do not end where the word does, or were cut off."""
    inside = [
        place for place, (start, end) in enumerate(offsets) if end > start and start < word.end and end > word.start
    ]
    if not inside:
        return None
    first, last = inside[0], inside[-1]
    # Byte-level tokenizers count the space before a word as part of its first token.
    starts = (word.start, word.start - 1)
    return (first, last) if offsets[first][0] in starts and offsets[last][1] == word.end else None
