"""Replace a share of the content words by WordNet synonyms (BSL, section 4.4: 30% of the words)."""

import random
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Literal, Self

from pydantic import Field

from augment.errors import warn_once
from augment.lexicon import wordnet
from augment.lexicon.phrases import phrases
from augment.lexicon.synonyms import English, Weighted, english, tags_of
from augment.protected_terms import ProtectedTermsView
from augment.text.edits import Token, apply_edits, tokens
from augment.text.english import is_english
from augment.text.facts import Change
from augment.text.words import in_capitals, rounded
from augment.view import JSON, Runtime, ViewResult

FRACTIONS = {"reviewed": 1.0, "wordnet": 0.3}
"""The share of the eligible words to replace by default: all that were reviewed, as many as in the paper."""
BLOCK_TEXTS = 256
"""Texts whose tokens are held at once: fewer are slower to tag, more to collect as garbage."""


class Synonym(ProtectedTermsView):
    """The view; its `revision` joins those of WordNet and of the language's data."""

    name = "synonym"
    sentence_language_option = "language"
    keeps_meaning = True
    draws, floor, judged = 6, 0.0, 0
    libraries = ("inflect", "wordfreq")

    words: Literal["reviewed", "wordnet"] | None = None
    """synonyms: those of a reviewed list, or all of WordNet's usual senses, in one draw [reviewed in English]"""
    fraction: float | None = Field(default=None, gt=0, le=1)
    """share of the eligible words to replace in a draw [1; 0.3 with words wordnet]"""
    at_least: int = Field(default=1, ge=0)
    """least number of words to replace, if as many are eligible"""
    language: str = "en"
    """the language of the sentences: en alone has synonyms"""
    revision: str | None = None
    """hold WordNet and its companions to this revision"""

    _english: English

    @property
    def versions(self) -> dict[str, JSON]:
        """The versions of its libraries, and its tagger."""
        return {**super().versions, "tagger": "perceptron"}

    def usual_draws(self, *, is_judged: bool) -> int:
        """One of WordNet's words, as in the paper."""
        return 1 if self.words == "wordnet" else super().usual_draws(is_judged=is_judged)

    def build(self, runtime: Runtime) -> Self:
        """The view with its word lists; raises InputError for another language, or if one is missing."""
        wordnet.check_english(self.name, self.language)
        view = super().build(runtime)
        view.words = self.words or "reviewed"
        view.fraction = self.fraction or FRACTIONS[view.words]
        view._english = english(wordnet.find(), is_reviewed=view.words == "reviewed")
        view.revision = wordnet.held_revision(self.name, self.revision)
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed."""
        views: list[ViewResult] = []
        for start in range(0, len(texts), BLOCK_TEXTS):
            block, rngs = texts[start : start + BLOCK_TEXTS], map(random.Random, seeds[start:])
            distinct = list(dict.fromkeys(block))  # several draws of a text are of the same changes
            sentences = [*map(tokens, distinct)]
            if not is_english(sentences):
                warn_once("synonym: most words are not English, which alone has synonyms")
            choices = self._english.choices(sentences)
            is_reviewed = self.words == "reviewed"
            expressions = map(phrases, sentences, tags_of(sentences)) if is_reviewed else repeat([])
            changes = dict(zip(distinct, zip(sentences, choices, expressions, strict=False), strict=True))
            views += [self._view(text, rng, *changes[text]) for text, rng in zip(block, rngs, strict=False)]
        return views

    def _view(
        self,
        text: str,
        rng: random.Random,
        words: list[Token],
        choices: Mapping[int, Weighted],
        expressions: Sequence[tuple[Change, ...]],
    ) -> ViewResult:
        """Make drawn changes: `fraction` (None: all) of the eligible ones on average, and at least `at_least`."""
        synonyms = [
            (Change(place, place + 1, rng.choices(*zip(*weighted, strict=True))[0]),)
            for place, weighted in choices.items()
        ]
        eligible = self.free_edits(text, words, [*rng.sample(expressions, len(expressions)), *synonyms])
        if not eligible:
            reason = "capitals" if in_capitals(text) else "no-eligible-word"
            return ViewResult(text, "unchanged", reason, target_fraction=self.fraction)
        fraction = self.fraction or 1
        number = max(rounded(fraction * len(eligible), rng), min(self.at_least, len(eligible)))
        share = number / len(eligible)
        if not number:
            return ViewResult(text, "unchanged", "none-drawn", None, (), self.fraction, share)
        edits = sorted(chain.from_iterable(rng.sample(eligible, number)))
        return ViewResult(apply_edits(text, edits), "ok", None, None, tuple(edits), self.fraction, share)
