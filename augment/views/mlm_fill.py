"""Let a masked language model replace a share of the words, by synonyms or by any (BSL, section 4.4: 20%)."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from itertools import chain
from typing import Literal, NamedTuple, Self

from pydantic import Field

from augment.errors import warn_once
from augment.lexicon import wordnet
from augment.lexicon.phrases import phrases
from augment.lexicon.synonyms import English, Weighted, english, tags_of
from augment.models.masked_lm import FillModel, Place, Proposals, Row, folded, token_span
from augment.models.weights import find_encoder
from augment.protected_terms import ProtectedTermsView, touches
from augment.text.edits import Token, apply_edits, matching_case, tokens
from augment.text.english import is_english, wants_an
from augment.text.facts import Change
from augment.text.negation import is_negation
from augment.text.words import FUNCTION_WORDS, in_capitals, replaceable, rounded, word_groups
from augment.view import JSON, Edit, Runtime, ViewResult

ARTICLES = frozenset(["a", "an"])
LISTED = frozenset(
    word.lower()
    for name, separator in (("names", ", "), ("numbers", " "))
    for _, words in word_groups(name, separator)
    for word in words
)
FIXED_WORDS = (
    LISTED | ARTICLES | frozenset(["unable", "dont", "cant", "wont", "isnt", "wasnt", "didnt", "doesnt"])
)
"""Words that are neither masked nor filled in, beside negations: names, numbers, and articles, which agree."""
LEAST_WEIGHT = 0.05
"""The least probability of a filled in word, as a share of the likeliest one's, or of what a change replaces."""
SPARE_PROPOSALS = 16
"""Beyond the top k, because some do not fit."""


class _Text(NamedTuple):
    """A text with its tokens, its row with all eligible places, and how many words the model sees."""

    text: str
    tokens: list[Token]
    row: Row
    word_count: int


class MlmFill(ProtectedTermsView):
    """The view.

    A word is eligible if `augment.text.words.replaceable` allows it, `is_fixed` does not hold, the model sees
    it whole (not cut off, not sharing a token with a neighbour), and the vocabulary has words in its script.
    `fraction` and `achieved_fraction` are shares of all words that the model sees, with numbers and names, as
    in the paper.

    With `words` "reviewed", a reviewed word or expression becomes another one where the model finds that it
    fits, and an expression counts as one word; fewer are then replaced than `fraction` asks for.
    """

    name = "mlm-fill"
    runs_model = True
    draws, floor, judged = 4, 0.85, 0
    libraries = ("inflect", "tokenizers")

    fraction: float = Field(default=0.2, gt=0, le=1)
    """share of the words to replace"""
    at_least: int = Field(default=0, ge=0)
    """least number of words to replace, if as many are eligible"""
    words: Literal["reviewed", "any"] | None = None
    """reviewed words and expressions where the model finds that they fit, or any word for a mask [reviewed if
    it is starter]"""
    top_k: int = Field(default=10, ge=1, le=1000)
    """sample from this many likeliest words or changes"""
    temperature: float = Field(default=1.0, gt=0)
    """below 1 prefers the likelier of them"""
    encoder: str = "starter"
    """model: starter, a folder, or a name on the Hub"""
    revision: str | None = None
    """hold the model to this revision"""

    _model: FillModel
    _english: English | None = None

    @property
    def keeps_meaning(self) -> bool:  # type: ignore[override]
        """Whether only synonyms are filled in: any word is none that means the same."""
        return self._usual_words == "reviewed"

    @property
    def _usual_words(self) -> str:
        return self.words or ("reviewed" if self.encoder == "starter" else "any")

    @property
    def versions(self) -> dict[str, JSON]:
        """The versions of its libraries, and of what has the synonyms."""
        own = {"wordnet": wordnet.revision(wordnet.find()), "lemminflect": version("lemminflect")}
        return {**super().versions, **(own if self.keeps_meaning else {})}

    def build(self, runtime: Runtime) -> Self:
        """The view with its model, word lists and terms; raises InputError if one is missing."""
        weights = find_encoder(self.encoder, self.revision)
        view = self.model_copy(update={"revision": weights.revision, "words": self._usual_words})
        view = super(MlmFill, view).build(runtime)
        view._model = FillModel(weights.path, runtime)
        view._english = english(wordnet.find()) if view.keeps_meaning else None
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed; each goes through the model at most once, as do its changes."""
        rngs, sentences = [random.Random(seed) for seed in seeds], {text: tokens(text) for text in texts}
        if self._english is None:
            prepared = {text: self._prepared(text, words) for text, words in sentences.items()}
            masked = [self._masked(prepared[text], rng) for text, rng in zip(texts, rngs, strict=True)]
            proposals = self._model.propose(masked, self.top_k + SPARE_PROPOSALS)
            return [*map(self._fill, map(prepared.__getitem__, texts), proposals, rngs)]
        if not is_english([*sentences.values()]):
            warn_once(
                "mlm-fill: most words are not English; fill in any word with --words any and a model of theirs"
            )
        changes = self._changes(self._english, sentences)
        return [
            self._changed(text, sentences[text], changes[text], rng)
            for text, rng in zip(texts, rngs, strict=True)
        ]

    def _changes(
        self, words: English, sentences: Mapping[str, list[Token]]
    ) -> dict[str, dict[tuple[Change, ...], float | None]]:
        """What the reviewed words and expressions of each text may become, and how well it fits, if it does."""
        rows = [*sentences.values()]
        readings = zip(sentences, rows, words.choices(rows), map(phrases, rows, tags_of(rows)), strict=True)
        choices = [
            (text, change, edits[0])
            for text, row, synonyms, expressions in readings
            for change in [*_word_changes(row, synonyms), *expressions]
            if (edits := self.free_edits(text, row, [change]))
        ]
        ids = cache(lambda text: tuple(self._model.encoded(text)[0]))
        pairs = [(ids(text), ids(apply_edits(text, edits))) for text, _, edits in choices]
        changes: dict[str, dict[tuple[Change, ...], float | None]] = {text: {} for text in sentences}
        for (text, change, _), fit in zip(
            choices, self._model.fits(pairs, math.log(LEAST_WEIGHT)), strict=True
        ):
            changes[text][change] = fit
        return changes

    def _changed(
        self,
        text: str,
        words: Sequence[Token],
        changes: Mapping[tuple[Change, ...], float | None],
        rng: random.Random,
    ) -> ViewResult:
        """Make as many of the changes that fit as are drawn, the likelier ones rather."""
        word_count = sum(token.kind != "other" for token in words)
        number = max(self.at_least, rounded(self.fraction * word_count, rng))
        fitting = [(fit, change) for change, fit in changes.items() if fit is not None]
        # In the order of such times they are as drawn by their weights, one after another.
        times = {
            change: math.log(rng.expovariate(1) or 1) - fit / self.temperature
            for fit, change in sorted(fitting, reverse=True)[: self.top_k]
        }
        drawn = self.free_edits(text, words, sorted(times, key=times.__getitem__))[:number]
        if not drawn:
            reason = "no-proposal" if changes else "capitals" if in_capitals(text) else "no-eligible-word"
            reason = "none-drawn" if fitting else reason
            return ViewResult(text, "unchanged", reason, None, (), self.fraction, 0.0)
        edits = tuple(sorted(chain.from_iterable(drawn)))
        return ViewResult(
            apply_edits(text, edits), "ok", None, None, edits, self.fraction, len(drawn) / word_count
        )

    def _prepared(self, text: str, words: list[Token]) -> _Text:
        """A text with its eligible words."""
        ids, offsets = self._model.encoded(text)
        protected_spans = self.protected_spans(text)
        places: list[Place] = []
        for index in replaceable(words):
            start, end, word, _ = words[index]
            span = token_span(offsets, start, end)
            if span is None or is_fixed(word) or touches(protected_spans, start, end):
                continue
            token = ids[span[0]]
            slot = self._model.words.slot(word, self._model.tokenizer.convert_ids_to_tokens(token))
            if self._model.words.serves(slot):
                places.append(Place(index, *span, token, slot, word))
        seen_end = max((end for _, end in offsets), default=0)
        word_count = sum(token.kind != "other" and token.end <= seen_end for token in words)
        return _Text(text, words, Row(ids, places), word_count)

    def _draw(self, text: _Text, eligible: Sequence[Place], rng: random.Random) -> list[Place]:
        """Places to fill, in order; neighbours, which a model fills independently, only if need be."""
        number = max(self.at_least, rounded(self.fraction * text.word_count, rng))
        shuffled = rng.sample(eligible, len(eligible))
        drawn: dict[int, Place] = {}
        for avoid_neighbours in (True, False):
            for place in shuffled:
                has_neighbour = not drawn.keys().isdisjoint((place.number - 1, place.number + 1))
                if len(drawn) < number and not (avoid_neighbours and has_neighbour):
                    drawn[place.number] = place
        return sorted(drawn.values())

    def _masked(self, text: _Text, rng: random.Random) -> Row:
        """A row with as many of its places as are to be filled, each as one mask."""
        ids, places, end = list[int](), list[Place](), 0
        for place in self._draw(text, text.row.places, rng):
            ids += text.row.ids[end : place.first]
            places.append(place._replace(first=len(ids)))
            ids.append(self._model.tokenizer.mask_token_id)
            end = place.last + 1
        return Row(ids + text.row.ids[end:], places)

    def _fill(self, text: _Text, proposals: Mapping[Place, Proposals], rng: random.Random) -> ViewResult:
        edits: list[Edit] = []
        texts = [token.text for token in text.tokens]
        for place, place_proposals in sorted(proposals.items()):
            words = _fitting(place_proposals, texts, place.number)[: self.top_k]
            words = [(form, logit) for form, logit in words if logit - words[0][1] >= math.log(LEAST_WEIGHT)]
            if words:
                weights = [math.exp((logit - words[0][1]) / self.temperature) for _, logit in words]
                texts[place.number] = matching_case(place.word, rng.choices(words, weights)[0][0])
                edits.append(text.tokens[place.number].becomes(texts[place.number]))
        if not edits:
            reason = "capitals" if in_capitals(text.text) else "no-eligible-word"
            reason = "no-proposal" if proposals else "none-drawn" if text.row.places else reason
            return ViewResult(text.text, "unchanged", reason, None, (), self.fraction, 0.0)
        share = len(edits) / text.word_count
        return ViewResult(apply_edits(text.text, edits), "ok", None, None, tuple(edits), self.fraction, share)


def _word_changes(words: Sequence[Token], synonyms: Mapping[int, Weighted]) -> Iterator[tuple[Change]]:
    """The words that each word with synonyms may become, if it is not fixed."""
    for place, forms in synonyms.items():
        if not is_fixed(words[place].text):
            yield from ((Change(place, place + 1, form),) for form, _ in forms)


def is_fixed(word: str) -> bool:
    """Whether a word is neither masked nor filled in.

    One with a capital may be a name, if it is no function word.
    """
    lower = word.lower()
    return is_negation(lower) or lower in FIXED_WORDS or (word != lower and lower not in FUNCTION_WORDS)


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
