"""Replace one random span of the sentence by the mask token (Mirror-BERT, section 2.2: five characters)."""

import random
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import regex
from pydantic import Field

from augment.edits import words
from augment.errors import InputError
from augment.keep import Span, WordView, touches
from augment.view import Edit, Runtime, Viewed
from augment.words import rounded

MASK = "[MASK]"
"""How a mask is stored, whatever the encoder; trainers replace it by their tokenizer's own mask token."""
LENGTH = 5
"""Mirror-BERT's length, in characters."""


class SpanMask(WordView):
    """The view. A text no longer than the span is "unchanged", with the reason "too-short".

    A character is a grapheme cluster: a letter with its accents, an emoji of several code points. A rate is rounded up
    or down by the row's own draw, so that the mean over sentences equals it.
    """

    name = "span-mask"
    keeps_masks = True
    constants: ClassVar = {"compat": False}

    length: int | None = Field(default=None, ge=1, description=f"units to mask; {LENGTH} without --rate")
    rate: float | None = Field(default=None, gt=0, le=1, description="share of the units to mask; one always stays")
    unit: Literal["character", "word"] = Field(default="character", description="what length and rate count")

    def build(self, runtime: Runtime) -> Self:
        """The view with its terms; raises InputError where options contradict each other."""
        if self.length is not None and self.rate is not None:
            raise InputError(f"span-mask: length={self.length} and rate={self.rate}: give one of them")
        view = super().build(runtime)
        if self.rate is None:
            view.length = self.length or LENGTH
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text by its own seed."""
        return [self._view(text, random.Random(seed)) for text, seed in zip(texts, seeds, strict=True)]

    def _view(self, text: str, draw: random.Random) -> Viewed:
        units = self._units(text)
        length = self.length or max(1, min(rounded((self.rate or 0) * len(units), draw), len(units) - 1))
        if len(units) <= length:
            return Viewed(text, "unchanged", "too-short")
        kept = self.kept(text)
        spans = [(first[0], last[1]) for first, last in zip(units, units[length - 1 :], strict=False)]
        free = [span for span in spans if not touches(kept, *span)] if kept else spans
        if not free:
            return Viewed(text, "unchanged", "all-kept")
        start, end = draw.choice(free)
        share = length / len(units)
        edit = Edit(start, end, text[start:end], MASK)
        return Viewed(text[:start] + MASK + text[end:], "ok", None, None, (edit,), self.rate or share, share)

    def _units(self, text: str) -> Sequence[Span]:
        """Words, or grapheme clusters as in Unicode's annex 29."""
        if self.unit == "word":
            return [(word.start, word.end) for word in words(text)]
        if text.isascii() and "\r" not in text:
            return [(place, place + 1) for place in range(len(text))]
        return [match.span() for match in regex.finditer(r"\X", text)]
