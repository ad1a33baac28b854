"""Change the meaning by one edit that contradicts the sentence: a negation, an antonym, another number or name."""

import random
from collections.abc import Iterator, Sequence
from typing import Self

from pydantic import field_validator

from augment.lexicon import wordnet
from augment.lexicon.antonyms import antonyms
from augment.lexicon.synonyms import English, edits_of, english, tags_of
from augment.protected_terms import ProtectedTermsView, touches
from augment.text.edits import Token, apply_edits, tokens
from augment.text.facts import names, numbers
from augment.text.negation import is_negation, negations
from augment.view import Edit, Runtime, ViewResult

KINDS = ("negation", "antonym", "number", "name")
USUAL = 3
"""How many times as often the usual denial is drawn: "A man is not running", and "No man is running"."""
BLOCK_TEXTS = 256


class Contradiction(ProtectedTermsView):
    """The view; `reason` is the kind of its change, drawn among those that apply, or why there is none."""

    name = "contradiction"
    folder_option = "kinds"
    sentence_language_option = "language"
    language_option = "language"
    contradicts = True

    kinds: str | None = None
    """some of negation, antonym, number, name"""
    language: str = "en"
    """the language of the sentences: en alone has rules"""
    revision: str | None = None
    """hold WordNet and its companions to this revision"""

    _english: English

    @field_validator("kinds")
    @classmethod
    def _check_kinds(cls, value: str | None) -> str | None:
        kinds = {part.strip() for part in value.split(",")} if value is not None else {*KINDS}
        if not kinds <= {*KINDS}:
            raise ValueError(f"write some of {', '.join(KINDS)}")
        return None if kinds == {*KINDS} else ",".join(kind for kind in KINDS if kind in kinds)

    def build(self, runtime: Runtime) -> Self:
        """The view with its word lists; raises InputError for another language, or if WordNet is missing."""
        wordnet.check_english(self.name, self.language)
        view = super().build(runtime)
        view.revision = wordnet.held_revision(self.name, self.revision)
        view._english = english(wordnet.find())
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed."""
        results: list[ViewResult] = []
        for start in range(0, len(texts), BLOCK_TEXTS):
            block = texts[start : start + BLOCK_TEXTS]
            rows = [tokens(text) for text in block]
            results += map(self._view, block, rows, tags_of(rows), seeds[start : start + BLOCK_TEXTS])
        return results

    def _view(self, text: str, words: Sequence[Token], tags: Sequence[str], seed: int) -> ViewResult:
        rng, spans, is_kept = random.Random(seed), self.protected_spans(text), False
        kinds = (self.kinds or ",".join(KINDS)).split(",")
        for kind in rng.sample(kinds, len(kinds)):
            choices = [*self._choices(kind, text, words, tags, rng)]
            free = [
                edits for edits in choices if not any(touches(spans, edit.start, edit.end) for edit in edits)
            ]
            is_kept |= len(free) < len(choices)
            if free:
                weights = [USUAL if kind == "negation" and place == 0 else 1 for place in range(len(free))]
                edits = tuple(sorted(rng.choices(free, weights)[0]))
                return ViewResult(apply_edits(text, edits), "ok", kind, edits=edits)
        return ViewResult(text, "unchanged", "all-kept" if is_kept else "no-rule-applies")

    def _choices(
        self, kind: str, text: str, words: Sequence[Token], tags: Sequence[str], rng: random.Random
    ) -> Iterator[list[Edit]]:
        if kind == "negation":
            yield from negations(text, words, tags)
        elif kind in ("number", "name"):
            changes = numbers(words, tags, rng) if kind == "number" else names(words, tags, rng)
            yield from (edits_of(text, words, change) for change in changes)
        elif not any(is_negation(word.text.lower()) for word in words):
            yield from (edits_of(text, words, change) for change in antonyms(self._english, words, tags))
