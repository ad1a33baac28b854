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
from augment.text.negation import is_negation
from augment.text.words import FUNCTION_WORDS, in_capitals, replaceable, rounded, word_groups
from augment.view import Edit, Runtime, ViewResult

ARTICLES = frozenset(["a", "an"])
LISTED = frozenset(
    word.lower()
    for name, separator in (("names", ", "), ("numbers", " "))
    for _, words in word_groups(name, separator)
    for word in words
)
FIXED_WORDS = LISTED | ARTICLES | frozenset(["unable", "dont", "cant", "wont", "isnt", "wasnt", "didnt", "doesnt"])
"""Words that are neither masked nor filled in, beside negations, which reverse the meaning: names, numbers, and
articles, which agree with the next word."""
LEAST_WEIGHT = 0.05
"""The least probability of a filled in word, as a share of the likeliest one's."""
SPARE_PROPOSALS = 16
"""Beyond the top k, because some do not fit."""


class _Row(NamedTuple):
    """A text's masked row, its tokens, the places of the masked words, and the numbers of eligible and of all words."""

    masked: Masked
    tokens: list[Token]
    places: list[int]
    eligible_count: int
    word_count: int


class MlmFill(ProtectedTermsView):
    """The view.

    A word is eligible if `augment.text.words.replaceable` allows it, `is_fixed` does not hold, the model sees it
    whole (not cut off, not sharing a token with a neighbour), and the vocabulary has words in its script. `fraction`
    and `achieved_fraction` are shares of all words that the model sees, with numbers and names, as in the paper. The
    number of words is rounded up or down by the row's own draw, so that the mean over sentences equals the fraction.
    """

    name = "mlm-fill"
    runs_model = True
    libraries = ("inflect", "tokenizers")
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
        rngs = [random.Random(seed) for seed in seeds]
        rows = [self._mask(text, rng) for text, rng in zip(texts, rngs, strict=True)]
        proposals = self._model.propose([row.masked for row in rows], self.top_k + SPARE_PROPOSALS)
        return [self._fill(*row) for row in zip(texts, rows, proposals, rngs, strict=True)]

    def _mask(self, text: str, rng: random.Random) -> _Row:
        ids, offsets = self._model.encoded(text)
        words, protected_spans = tokens(text), self.protected_spans(text)
        eligible: dict[int, tuple[int, int, Slot]] = {}
        for index in replaceable(words):
            start, end, word, _ = words[index]
            span = token_span(offsets, start, end)
            if span is None or is_fixed(word) or touches(protected_spans, start, end):
                continue
            slot = self._model.words.slot(word, self._model.tokenizer.convert_ids_to_tokens(ids[span[0]]))
            if self._model.words.serves(slot):
                eligible[index] = (*span, slot)
        seen_end = max((end for _, end in offsets), default=0)
        word_count = sum(token.kind != "other" and token.end <= seen_end for token in words)
        places = _draw_places(sorted(eligible), max(self.at_least, rounded(self.fraction * word_count, rng)), rng)
        masked_ids, mask_places, following = [], [], 0
        for first, last, _ in map(eligible.__getitem__, places):
            masked_ids += ids[following:first]
            mask_places.append(len(masked_ids))
            masked_ids.append(self._model.tokenizer.mask_token_id)
            following = last + 1
        slots, originals = [eligible[place][2] for place in places], [words[place].text for place in places]
        masked = Masked(masked_ids + ids[following:], mask_places, slots, originals)
        return _Row(masked, words, places, len(eligible), word_count)

    def _fill(self, text: str, row: _Row, proposals: Sequence[Proposals], rng: random.Random) -> ViewResult:
        edits: list[Edit] = []
        texts = [token.text for token in row.tokens]
        for place, place_proposals in zip(row.places, proposals, strict=True):
            words = _fitting(place_proposals, texts, place)[: self.top_k]
            words = [(form, logit) for form, logit in words if logit - words[0][1] >= math.log(LEAST_WEIGHT)]
            if words:
                weights = [math.exp((logit - words[0][1]) / self.temperature) for _, logit in words]
                word = row.tokens[place]
                texts[place] = matching_case(word.text, rng.choices(words, weights)[0][0])
                edits.append(Edit(word.start, word.end, word.text, texts[place]))
        if not edits:
            reason = "capitals" if in_capitals(text) else "no-eligible-word"
            reason = "no-proposal" if row.places else "none-drawn" if row.eligible_count else reason
            return ViewResult(text, "unchanged", reason, None, (), self.fraction, 0.0)
        share = len(edits) / row.word_count
        return ViewResult(apply_edits(text, edits), "ok", None, None, tuple(edits), self.fraction, share)


def is_fixed(word: str) -> bool:
    """Whether a word is neither masked nor filled in; one with a capital may be a name, if it is no function word."""
    lower = word.lower()
    return is_negation(lower) or lower in FIXED_WORDS or (word != lower and lower not in FUNCTION_WORDS)


def _draw_places(eligible: Sequence[int], number: int, rng: random.Random) -> list[int]:
    """`number` of the places at most, sorted; neighbours, which a model fills independently, only if need be."""
    shuffled = rng.sample(eligible, len(eligible))
    places: set[int] = set()
    for avoid_neighbours in (True, False):
        for place in shuffled:
            if len(places) < number and not (avoid_neighbours and places & {place - 1, place + 1}):
                places.add(place)
    return sorted(places)


def _fitting(proposals: Proposals, words: Sequence[str], place: int) -> Proposals:
    """The proposals without negations, copies of the neighbours, and words that disagree with an "a" or "an"."""
    previous = words[place - 1].lower() if place else ""
    neighbours = {folded(word) for word in (previous, *words[place + 1 : place + 2])}
    return [
        (word, logit)
        for word, logit in proposals
        if not is_fixed(word)
        and folded(word) not in neighbours
        and (previous not in ARTICLES or wants_an(word) == (previous == "an"))
    ]
