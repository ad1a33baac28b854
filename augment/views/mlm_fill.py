"""Let a masked language model replace a share of the words, by synonyms or by any (BSL, section 4.4: 20%)."""

import math
import random
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from itertools import accumulate, chain, islice
from typing import NamedTuple, Self

from pydantic import Field, PrivateAttr

from augment.errors import warn_once
from augment.lexicon import wordnet
from augment.lexicon.synonyms import English, english
from augment.models.masked_lm import FillModel, Masked, Proposals, Slot, folded, token_span
from augment.models.weights import find_encoder
from augment.protected_terms import ProtectedTermsView, touches
from augment.text.edits import Token, apply_edits, matching_case, tokens
from augment.text.english import is_english, wants_an
from augment.text.negation import is_negation
from augment.text.words import FUNCTION_WORDS, in_capitals, replaceable, rounded, word_groups
from augment.types import JSON, row_seed
from augment.view import Edit, Runtime, ViewResult

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
"""The least probability of a filled in word, as a share of the likeliest one's."""
SPARE_PROPOSALS = 16
"""Beyond the top k, because some do not fit."""


class _Row(NamedTuple):
    """A text's row for the model, tokens, places to fill and each's last token, numbers of eligible and all words."""

    masked: Masked
    tokens: list[Token]
    places: list[int]
    lasts: Sequence[int]
    eligible_count: int
    word_count: int


class MlmFill(ProtectedTermsView):
    """The view.

    A word is eligible if `augment.text.words.replaceable` allows it, `is_fixed` does not hold, the model sees
    it whole (not cut off, not sharing a token with a neighbour), and the vocabulary has words in its script.
    `fraction` and `achieved_fraction` are shares of all words that the model sees, with numbers and names, as
    in the paper.

    With `related`, the model sees the sentence unmasked, and only words of one token are eligible for which
    WordNet has synonyms that fit; fewer words are then replaced than `fraction` asks for.
    """

    name = "mlm-fill"
    runs_model = True
    draws, floor, judged = 4, 0.9, 0
    libraries = ("inflect", "tokenizers")

    fraction: float = Field(default=0.2, gt=0, le=1, description="share of the words to replace")
    at_least: int = Field(
        default=0, ge=0, description="least number of words to replace, if as many are eligible"
    )
    related: bool | None = Field(
        default=None,
        description="fill in only synonyms by WordNet of the word, which the model sees; else any, for a mask "
        "[with the starter model]",
    )
    top_k: int = Field(default=10, ge=1, le=1000, description="sample from this many likeliest words")
    temperature: float = Field(default=1.0, gt=0, description="below 1 prefers the likelier of them")
    encoder: str = Field(default="starter", description="model: starter, a folder, or a name on the Hub")
    revision: str | None = Field(default=None, description="hold the model to this revision")

    _model: FillModel = PrivateAttr()
    _english: English | None = PrivateAttr(default=None)

    @property
    def keeps_meaning(self) -> bool:  # type: ignore[override]
        """Whether only synonyms are filled in: any word is none that means the same."""
        return self.related if self.related is not None else self.encoder == "starter"

    @property
    def versions(self) -> dict[str, JSON]:
        """The versions of its libraries, and of what has the synonyms."""
        own = {"wordnet": wordnet.revision(wordnet.find()), "lemminflect": version("lemminflect")}
        return {**super().versions, **(own if self.keeps_meaning else {})}

    def build(self, runtime: Runtime) -> Self:
        """The view with its model, word lists and terms; raises InputError if one is missing."""
        weights = find_encoder(self.encoder, self.revision)
        view = self.model_copy(update={"revision": weights.revision, "related": self.keeps_meaning})
        view = super(MlmFill, view).build(runtime)
        view._model = FillModel(weights.path, runtime)
        view._english = english(wordnet.find()) if view.related else None
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed; each row goes through the model once, in parts if it is longer than that."""
        parts = [self._model.windows(text) for text in texts]
        part_seeds = [
            seed if not number else row_seed(seed, str(number), "")
            for seed, row in zip(seeds, parts, strict=True)
            for number in range(len(row))
        ]
        views = iter(self._views([*chain.from_iterable(parts)], part_seeds))
        return [self._joined(row, [*islice(views, len(row))]) for row in parts]

    def _joined(self, parts: Sequence[str], views: Sequence[ViewResult]) -> ViewResult:
        """The view of a text that was viewed in parts; terms that lie across two of them stay too."""
        if len(parts) == 1:
            return views[0]
        text, starts = "".join(parts), accumulate(map(len, parts), initial=0)
        moved = [
            edit._replace(start=start + edit.start, end=start + edit.end)
            for start, view in zip(starts, views, strict=False)
            for edit in view.edits
        ]
        spans = self.protected_spans(text)
        edits = tuple(edit for edit in moved if not touches(spans, edit.start, edit.end))
        if not edits:
            return views[0]._replace(
                text=text, status="unchanged", reason=views[0].reason or "none-drawn", edits=()
            )
        share = len(edits) / sum(token.kind != "other" for token in tokens(text))
        return ViewResult(apply_edits(text, edits), "ok", None, None, edits, self.fraction, share)

    def _views(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        rngs, distinct = [random.Random(seed) for seed in seeds], [*dict.fromkeys(texts)]
        sentences = [*map(tokens, distinct)]
        if self._english is None:
            rows = dict(
                zip(distinct, map(self._row, distinct, sentences, map(replaceable, sentences)), strict=True)
            )
            masked = [self._masked(rows[text], rng) for text, rng in zip(texts, rngs, strict=True)]
            proposals = self._model.propose([row.masked for row in masked], self.top_k + SPARE_PROPOSALS)
            return [self._fill(*row) for row in zip(texts, masked, proposals, rngs, strict=True)]
        if not is_english(sentences):
            advice = "fill in any word with --no-related and a model of theirs"
            warn_once(f"mlm-fill: most words are not English; {advice}")
        places = [
            {place: dict(words) for place, words in row.items()} for row in self._english.choices(sentences)
        ]
        rows = dict(zip(distinct, map(self._row, distinct, sentences, places), strict=True))
        words = [
            [related[place] for place in row.places]
            for row, related in zip(rows.values(), places, strict=True)
        ]
        fills = dict(
            zip(rows, self._model.substitutes([row.masked for row in rows.values()], words), strict=True)
        )
        return [
            self._fill(text, *self._drawn(rows[text], fills[text], rng), rng)
            for text, rng in zip(texts, rngs, strict=True)
        ]

    def _row(self, text: str, words: list[Token], places: Iterable[int]) -> _Row:
        """The eligible ones of some places, in the unmasked text."""
        ids, offsets = self._model.encoded(text)
        protected_spans = self.protected_spans(text)
        eligible: dict[int, tuple[int, int, Slot]] = {}
        for index in places:
            start, end, word, _ = words[index]
            span = token_span(offsets, start, end)
            if span is None or is_fixed(word) or touches(protected_spans, start, end):
                continue
            slot = self._model.words.slot(word, self._model.tokenizer.convert_ids_to_tokens(ids[span[0]]))
            if self._model.words.serves(slot) and (self._english is None or span[0] == span[1]):
                eligible[index] = (*span, slot)
        seen_end = max((end for _, end in offsets), default=0)
        word_count = sum(token.kind != "other" and token.end <= seen_end for token in words)
        originals = [words[place].text for place in eligible]
        firsts, lasts, slots = zip(*eligible.values(), strict=True) if eligible else ((), (), ())
        return _Row(
            Masked(ids, [*firsts], slots, originals), words, [*eligible], lasts, len(eligible), word_count
        )

    def _drawn(
        self, row: _Row, proposals: list[Proposals], rng: random.Random
    ) -> tuple[_Row, list[Proposals]]:
        """A row with as many of its places as are to be filled, of those that have proposals, and these."""
        fitting = {place: words for place, words in zip(row.places, proposals, strict=True) if words}
        places = _draw_places([*fitting], self._number(row, rng), rng)
        return row._replace(places=places), [fitting[place] for place in places]

    def _number(self, row: _Row, rng: random.Random) -> int:
        return max(self.at_least, rounded(self.fraction * row.word_count, rng))

    def _masked(self, row: _Row, rng: random.Random) -> _Row:
        """A row with as many of its places as are to be filled, each as one mask."""
        chosen = {*_draw_places(row.places, self._number(row, rng), rng)}
        ids, masked_ids, mask_places, following = row.masked.ids, list[int](), list[int](), 0
        kept = [index for index, place in enumerate(row.places) if place in chosen]
        for index in kept:
            first = row.masked.places[index]
            masked_ids += ids[following:first]
            mask_places.append(len(masked_ids))
            masked_ids.append(self._model.tokenizer.mask_token_id)
            following = row.lasts[index] + 1
        slots, originals = (
            [row.masked.slots[index] for index in kept],
            [row.masked.originals[index] for index in kept],
        )
        masked = Masked(masked_ids + ids[following:], mask_places, slots, originals)
        return row._replace(masked=masked, places=[row.places[index] for index in kept])

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
