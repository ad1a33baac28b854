"""Mask a share of the words and let a masked language model fill in others (BSL, section 4.4: 20%)."""

import math
import random
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

from pydantic import Field, PrivateAttr

from augment.masked_lm.masking import FillModel, Masked, Proposals, Slot, folded, token_span
from augment.models.weights import find_encoder
from augment.protected_terms import ProtectedTermsView, touches
from augment.text.edits import Token, apply_edits, matching_case, tokens
from augment.text.english import wants_an
from augment.text.words import NEGATIONS, replaceable, rounded
from augment.view import Edit, Runtime, ViewResult

ARTICLES = frozenset(["a", "an"])
KEPT = NEGATIONS | ARTICLES
"""Words that are neither masked nor filled in: negations reverse the meaning; articles agree with the next word."""
SPARE = 16
"""Proposals beyond the top k, because some do not fit."""


class _Row(NamedTuple):
    """A text's masked row, its tokens, the places of the masked words, and the numbers of eligible and of all words."""

    masked: Masked
    found: list[Token]
    picked: list[int]
    eligible: int
    counted: int


class MlmFill(ProtectedTermsView):
    """The view.

    A word is eligible if `augment.text.words.replaceable` allows it, it is not a negation or an article, the model sees
    it whole (not cut off, not sharing a token with a neighbour), and the vocabulary has words in its script. `fraction`
    and `achieved_fraction` are shares of all words, with numbers and names, as in the paper. The number of words is
    rounded up or down by the row's own draw, so that the mean over sentences equals the fraction.
    """

    name = "mlm-fill"
    runs_model = True
    constants: ClassVar = {"of": "words"}

    fraction: float = Field(default=0.2, gt=0, le=1, description="share of the words to mask")
    at_least: int = Field(default=0, ge=0, description="least number of words to mask, if as many are eligible")
    top_k: int = Field(default=10, ge=1, le=1000, description="sample from this many likeliest words")
    temperature: float = Field(default=1.0, gt=0, description="below 1 prefers the likelier of them")
    encoder: str = Field(default="starter", description="model: starter, a folder, or a name on the Hub")
    revision: str | None = Field(default=None, description="hold the model to this revision")

    _model: FillModel = PrivateAttr()

    def build(self, runtime: Runtime) -> Self:
        """The view with its model and terms; raises InputError if one is missing."""
        weights = find_encoder(self.encoder, self.revision)
        view = super().build(runtime).model_copy(update={"revision": weights.revision})
        view._model = FillModel(weights.path, runtime)
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed; each row goes through the model once."""
        draws = [random.Random(seed) for seed in seeds]
        rows = [self._mask(text, draw) for text, draw in zip(texts, draws, strict=True)]
        proposals = self._model.propose([row.masked for row in rows], self.top_k + SPARE)
        return [self._fill(*row) for row in zip(texts, rows, proposals, draws, strict=True)]

    def _mask(self, text: str, draw: random.Random) -> _Row:
        ids, offsets = self._model.encoded(text)
        found, kept = tokens(text), self.kept(text)
        eligible: dict[int, tuple[int, int, Slot]] = {}
        for index in replaceable(found):
            start, end, word, _ = found[index]
            span = token_span(offsets, start, end)
            if span is None or word.lower() in KEPT or touches(kept, start, end):
                continue
            slot = self._model.words.slot(word, self._model.tokenizer.convert_ids_to_tokens(ids[span[0]]))
            if self._model.words.serves(slot):
                eligible[index] = (*span, slot)
        counted = sum(token.kind != "other" for token in found)
        picked = _apart(sorted(eligible), max(self.at_least, rounded(self.fraction * counted, draw)), draw)
        masked, places, copied = [], [], 0
        for first, last, _ in map(eligible.__getitem__, picked):
            masked += ids[copied:first]
            places.append(len(masked))
            masked.append(self._model.tokenizer.mask_token_id)
            copied = last + 1
        slots, originals = [eligible[index][2] for index in picked], [found[index].text for index in picked]
        return _Row(Masked(masked + ids[copied:], places, slots, originals), found, picked, len(eligible), counted)

    def _fill(self, text: str, row: _Row, proposals: Sequence[Proposals], draw: random.Random) -> ViewResult:
        edits: list[Edit] = []
        now = [token.text for token in row.found]
        for index, proposed in zip(row.picked, proposals, strict=True):
            words = _fitting(proposed, now, index)[: self.top_k]
            if words:
                weights = [math.exp((logit - words[0][1]) / self.temperature) for _, logit in words]
                word = row.found[index]
                now[index] = matching_case(word.text, draw.choices(words, weights)[0][0])
                edits.append(Edit(word.start, word.end, word.text, now[index]))
        if not edits:
            reason = "no-proposal" if row.picked else "none-drawn" if row.eligible else "no-eligible-word"
            return ViewResult(text, "unchanged", reason, None, (), self.fraction, 0.0)
        share = len(edits) / row.counted
        return ViewResult(apply_edits(text, edits), "ok", None, None, tuple(edits), self.fraction, share)


def _apart(eligible: Sequence[int], wanted: int, draw: random.Random) -> list[int]:
    """`wanted` of the places, or all if there are fewer, sorted; neighbours only if nothing else is left.

    A model fills adjacent masks independently of each other.
    """
    shuffled = draw.sample(eligible, len(eligible))
    picked: set[int] = set()
    for alone in (True, False):
        for place in shuffled:
            if len(picked) < wanted and not (alone and picked & {place - 1, place + 1}):
                picked.add(place)
    return sorted(picked)


def _fitting(proposed: Proposals, now: Sequence[str], index: int) -> Proposals:
    """The proposals without negations, copies of the neighbours, and words that disagree with an "a" or "an"."""
    before = now[index - 1].lower() if index else ""
    neighbours = {folded(word) for word in (before, *now[index + 1 : index + 2])}
    return [
        (word, logit)
        for word, logit in proposed
        if word not in KEPT
        and folded(word) not in neighbours
        and (before not in ARTICLES or wants_an(word) == (before == "an"))
    ]
