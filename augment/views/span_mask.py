"""Replace one random span of the sentence by the mask token (Mirror-BERT, section 2.2: five characters)."""

from collections.abc import Sequence
from typing import Literal

import regex
import xxhash
from pydantic import Field

from augment.protected_terms import ProtectedTermsView, touches
from augment.text.edits import words
from augment.view import Edit, ViewResult

MASK = "[MASK]"
"""How a mask is stored for every encoder; trainers replace it by their tokenizer's own mask token."""


class SpanMask(ProtectedTermsView):
    """The view. A text no longer than the span is "unchanged" with the reason "too-short".

    A character is a grapheme cluster: a letter with its accents, a joined emoji.
    """

    name = "span-mask"

    length: int = Field(default=5, ge=1)
    """units to mask"""
    unit: Literal["character", "word"] = "character"
    """what length counts"""

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed."""
        return [*map(self._view, texts, seeds)]

    def _view(self, text: str, seed: int) -> ViewResult:
        starts, ends = _characters(text) if self.unit == "character" else _words(text)
        length = self.length
        if len(starts) <= length:
            return ViewResult(text, "unchanged", "too-short")
        places: Sequence[int] = range(len(starts) - length + 1)
        if spans := self.protected_spans(text):
            places = [first for first in places if not touches(spans, starts[first], ends[first + length - 1])]
        if not places:
            return ViewResult(text, "unchanged", "all-kept")
        # A hash, uniform in [0, 2^64), takes a tenth of the time that seeding Python's generator does.
        first = places[xxhash.xxh64_intdigest(b"", seed) * len(places) >> 64]
        start, end, share = starts[first], ends[first + length - 1], length / len(starts)
        edit = Edit(start, end, text[start:end], MASK)
        return ViewResult(text[:start] + MASK + text[end:], "ok", None, None, (edit,), share, share)


def _words(text: str) -> tuple[Sequence[int], Sequence[int]]:
    """Where words start and end."""
    tokens = words(text)
    return [token.start for token in tokens], [token.end for token in tokens]


def _characters(text: str) -> tuple[Sequence[int], Sequence[int]]:
    """Where grapheme clusters start and end, as in Unicode's annex 29."""
    if text.isascii() and "\r" not in text:
        return range(len(text)), range(1, len(text) + 1)
    starts = [match.start() for match in regex.finditer(r"\X", text)]
    return starts, [*starts[1:], len(text)]
