"""Replace one random span of the sentence by the mask token (Mirror-BERT, section 2.2: five characters)."""

import random
from collections.abc import Sequence
from typing import Literal, Self

import regex
from pydantic import Field

from augment.edits import words
from augment.errors import InputError
from augment.keep import Span, WordView, touches
from augment.view import Edit, Runtime, Viewed, seeded
from augment.words import rounded

MASK = "[MASK]"
"""How a mask is stored, whatever the encoder; trainers replace it by their tokenizer's own mask token."""
LENGTH = 5
"""Mirror-BERT's length, in characters."""
COMPAT_LEAST_CHARACTERS = 30
"""Mirror-BERT's published code masks no shorter strings."""


class SpanMask(WordView):
    """The view. A text no longer than the span is "unchanged", with the reason "too-short".

    A character is a grapheme cluster: a letter with its accents, an emoji of several code points. `compat` counts code
    points, as the published code did. A rate is rounded up or down by the row's own draw, so that the mean over
    sentences equals it.
    """

    name = "span-mask"
    keeps_masks = True

    length: int | None = Field(default=None, ge=1, description=f"units to mask; {LENGTH} without --rate")
    rate: float | None = Field(default=None, gt=0, le=1, description="share of the units to mask; one always stays")
    unit: Literal["character", "word"] = Field(default="character", description="what length and rate count")
    compat: bool = Field(
        default=False, description="as Mirror-BERT's published code: 30 characters or more, spaces around the mask"
    )

    def build(self, runtime: Runtime) -> Self:
        """The view with its terms; raises InputError where options contradict each other."""
        if self.length is not None and self.rate is not None:
            raise InputError(f"span-mask: length={self.length} and rate={self.rate}: give one of them")
        if self.compat and (self.rate is not None or self.unit != "character" or self.keep or self.keep_pattern):
            given = f"rate={self.rate}, unit={self.unit}, keep={self.keep or self.keep_pattern}"
            raise InputError(f"span-mask: compat with {given}: the published code masks a length in characters only")
        view = super().build(runtime)
        if self.rate is None:
            view.length = self.length or LENGTH
        return view

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text by its own seed."""
        one = self._published if self.compat else self._view
        return [one(text, draw) for text, draw in zip(texts, seeded(seeds), strict=True)]

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
        share = length / len(units)
        return _masked(text, *draw.choice(free), MASK, self.rate or share, share)

    def _published(self, text: str, draw: random.Random) -> Viewed:
        length = self.length or LENGTH
        if len(text) < max(COMPAT_LEAST_CHARACTERS, length + 1):
            return Viewed(text, "unchanged", "too-short")
        drawn = draw.randrange(len(text) - length)
        start = text.index(text[drawn : drawn + length])
        share = length / len(text)
        return _masked(text, start, start + length, f" {MASK} ", share, share)

    def _units(self, text: str) -> Sequence[Span]:
        """Words, or grapheme clusters as in Unicode's annex 29."""
        if self.unit == "word":
            return [(word.start, word.end) for word in words(text)]
        if text.isascii() and "\r" not in text:
            return [(place, place + 1) for place in range(len(text))]
        return [match.span() for match in regex.finditer(r"\X", text)]


def _masked(text: str, start: int, end: int, mask: str, target: float, achieved: float) -> Viewed:
    edit = Edit(start, end, text[start:end], mask)
    return Viewed(text[:start] + mask + text[end:], "ok", None, None, (edit,), target, achieved)
