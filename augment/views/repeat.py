"""Write some words of the sentence twice (ESimCSE: Wu et al. 2022, arXiv:2109.04380)."""

import random
from collections.abc import Sequence

from pydantic import Field

from augment.protected_terms import ProtectedTermsView, touches
from augment.text.edits import apply_edits, words
from augment.view import Edit, ViewResult


class Repeat(ProtectedTermsView):
    """The view: of N words, `k ~ U{0, ..., max(2, int(rate N))}` different ones are written twice."""

    name = "repeat"

    rate: float = Field(default=0.32, ge=0, le=1)
    """share of the words at most, or 2 words"""

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed."""
        return [*map(self._view, texts, map(random.Random, seeds))]

    def _view(self, text: str, rng: random.Random) -> ViewResult:
        spans = self.protected_spans(text)
        eligible = [word for word in words(text) if not touches(spans, word.start, word.end)]
        if not eligible:
            return ViewResult(text, "unchanged", "no-eligible-word")
        count = min(rng.randint(0, max(2, int(self.rate * len(eligible)))), len(eligible))
        if count == 0:
            return ViewResult(text, "unchanged", "none-drawn", achieved_fraction=0.0)
        repeated = sorted(rng.sample(eligible, count))
        edits = tuple(Edit(word.end, word.end, "", f" {word.text}") for word in repeated)
        return ViewResult(apply_edits(text, edits), edits=edits, achieved_fraction=count / len(eligible))
