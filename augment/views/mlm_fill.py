"""Mask a share of the words and let a masked language model fill in others (BSL, section 4.4: 20%)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import Field, PrivateAttr

from augment.edits import Token, apply_edits, matching_case, tokens
from augment.inflect import wants_an
from augment.keep import Span, WordView, touches
from augment.masked import FillModel, Masked, Proposals, folded, token_span
from augment.view import Edit, Runtime, Viewed
from augment.vocabulary import Slot
from augment.weights import find_encoder
from augment.words import NEGATIONS, replaceable, rounded

ARTICLES = frozenset(["a", "an"])
KEPT = NEGATIONS | ARTICLES
"""Words that are neither masked nor filled in: one turns the meaning around, the other must agree with what follows."""
SPARE = 16
"""Proposals that are asked for beyond the top k, as some do not fit where they go."""


class _MaskedRow(NamedTuple):
    """A row with its masked words: what goes to the model, the words by their place, and how many words count."""

    masked: Masked
    found: list[Token]
    picked: list[int]
    eligible: int
    counted: int


class MlmFill(WordView):
    """The view.

    Eligible is a word that `augment.words.replaceable` leaves (no digits, single letters, acronyms or names), that is
    no negation and no article, that the model sees whole (neither cut off nor in one token with a neighbour), and in
    whose script the model's vocabulary has words. `fraction` is of all words of the sentence, numbers and names among
    them, so that 0.2 masks as many words as the paper does; with `of="eligible"` it is of the eligible words.
    `achieved_fraction` counts the same way. The number of words is rounded up or down by the row's own draw, so that
    the mean over sentences meets the fraction; a row that draws none is "unchanged" with the reason "none-drawn".
    """

    name = "mlm-fill"

    fraction: float = Field(default=0.2, gt=0, le=1, description="share of the words to mask")
    of: Literal["words", "eligible"] = Field(
        default="words", description="what the share is of: all words, or those that may be masked (no names, digits)"
    )
    at_least: int = Field(default=0, ge=0, description="mask so many words where there are as many")
    top_k: int = Field(default=10, ge=1, le=1000, description="sample from so many likeliest words")
    temperature: float = Field(default=1.0, gt=0, description="below 1 prefers the likelier of them")
    encoder: str = Field(
        default="starter", description="masked language model: starter, a folder, or a name on the Hub"
    )
    revision: str | None = Field(default=None, description="hold the model to this revision")

    _model: FillModel = PrivateAttr()

    def build(self, runtime: Runtime) -> MlmFill:
        """The view with its model and terms; raises InputError where one is missing, or the model has no mask token."""
        weights = find_encoder(self.encoder, self.revision)
        view = self.keeping().model_copy(update={"revision": weights.revision})
        view._model = FillModel(weights.path, device=runtime.device, batch_tokens=runtime.batch_tokens)
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text by its own seed; all masked words of all rows are filled by one pass over the batches."""
        draws = [random.Random(seed) for seed in seeds]
        rows = [self._mask(text, draw) for text, draw in zip(texts, draws, strict=True)]
        banned = [[row.found[index].text for index in row.picked] for row in rows]
        proposals = self._model.propose([row.masked for row in rows], banned, self.top_k + SPARE)
        return [self._fill(*row) for row in zip(texts, rows, proposals, draws, strict=True)]

    def _mask(self, text: str, draw: random.Random) -> _MaskedRow:
        ids, offsets = self._model.encoded(text)
        found = tokens(text)
        spans = self._eligible(ids, offsets, found, self.kept(text))
        counted = len(spans) if self.of == "eligible" else sum(token.kind != "other" for token in found)
        wanted = max(self.at_least, rounded(self.fraction * counted, draw))
        picked = _apart(sorted(spans), wanted, draw)
        masked, places, copied = [], [], 0
        for index in picked:
            first, last, _ = spans[index]
            masked += ids[copied:first]
            places.append(len(masked))
            masked.append(self._model.tokenizer.mask_token_id)
            copied = last + 1
        slots = [spans[index][2] for index in picked]
        return _MaskedRow(Masked(masked + ids[copied:], places, slots), found, picked, len(spans), counted)

    def _eligible(
        self, ids: Sequence[int], offsets: Sequence[Span], found: Sequence[Token], kept: Sequence[Span]
    ) -> dict[int, tuple[int, int, Slot]]:
        """Places of the eligible words among `found`, each with its first and last token and the kind of its place."""
        spans = {}
        for index in replaceable(found):
            span = token_span(offsets, found[index].start, found[index].end)
            if span is None or found[index].text.lower() in KEPT or touches(kept, *found[index][:2]):
                continue
            first = str(self._model.tokenizer.convert_ids_to_tokens(ids[span[0]]))
            slot = self._model.words.slot(found[index].text, first)
            if self._model.words.serves(slot):
                spans[index] = (*span, slot)
        return spans

    def _fill(self, text: str, row: _MaskedRow, proposals: Sequence[Proposals], draw: random.Random) -> Viewed:
        target = self.fraction
        if not row.picked:
            reason = "none-drawn" if row.eligible else "no-eligible-word"
            return Viewed(text, "unchanged", reason, None, (), target, 0.0)
        edits: list[Edit] = []
        now = [token.text for token in row.found]
        for index, proposed in zip(row.picked, proposals, strict=True):
            words = _fitting(proposed, now, index)[: self.top_k]
            if words:
                best = max(logit for _, logit in words)
                weights = [math.exp((logit - best) / self.temperature) for _, logit in words]
                word = row.found[index]
                now[index] = matching_case(word.text, draw.choices(words, weights)[0][0])
                edits.append(Edit(word.start, word.end, word.text, now[index]))
        if not edits:
            return Viewed(text, "unchanged", "no-proposal", None, (), target, 0.0)
        return Viewed(apply_edits(text, edits), "ok", None, None, tuple(edits), target, len(edits) / row.counted)


def _apart(eligible: Sequence[int], wanted: int, draw: random.Random) -> list[int]:
    """`wanted` of the places (all where there are fewer), sorted; neighbours only where there is no other way.

    A model fills two masks side by side without a look at each other's word.
    """
    shuffled = draw.sample(eligible, len(eligible))
    picked: set[int] = set()
    for alone in (True, False):
        for place in shuffled:
            if len(picked) < wanted and not (alone and picked & {place - 1, place + 1}):
                picked.add(place)
    return sorted(picked)


def _fitting(proposed: Proposals, now: Sequence[str], index: int) -> list[tuple[str, float]]:
    """The proposals that read well where they go, with their logits.

    Left out: negations, the words to the left and right once more, and what does not agree with an "a" or "an".
    """
    before = now[index - 1].lower() if index else ""
    beside = {folded(word) for word in (before, *now[index + 1 : index + 2])}
    return [
        (word, logit)
        for word, logit in zip(proposed.words, proposed.logits, strict=True)
        if word not in KEPT
        and folded(word) not in beside
        and (before not in ARTICLES or wants_an(word) == (before == "an"))
    ]
