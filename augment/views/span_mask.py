"""Replace one random span of the sentence by the mask token (Mirror-BERT, section 2.2: five characters)."""

import random
from collections.abc import Sequence
from typing import Literal, Self

import regex
import xxhash
from pydantic import Field

from augment.errors import InputError
from augment.models.masked_lm import FillModel
from augment.models.weights import find_encoder
from augment.protected_terms import ProtectedTermsView, touches
from augment.text.edits import words
from augment.view import Edit, Runtime, ViewResult, ViewSpec

MASK = "[MASK]"
"""How a mask is stored for every encoder; trainers replace it by their tokenizer's own mask token."""
COMPAT_MIN_CHARACTERS = 30
"""Mirror-BERT's published code leaves shorter strings unchanged."""


class SpanMask(ProtectedTermsView):
    """The view. A text no longer than the span is "unchanged" with the reason "too-short".

    A character is a grapheme cluster (a letter with its accents, a joined emoji), or with `compat` a code
    point.
    """

    name = "span-mask"

    length: int = Field(default=5, ge=1)
    """units to mask"""
    unit: Literal["character", "word", "token"] = "character"
    """what length counts"""
    compat: bool = False
    """as Mirror-BERT's published code: 30 characters or more, spaces around the mask"""
    encoder: str = "starter"
    """whose tokens unit token counts: starter, a folder, a name"""
    revision: str | None = None
    """hold the encoder's tokenizer to this revision"""

    _encoder: FillModel

    def build(self, runtime: Runtime) -> Self:
        """The view with its terms and tokenizer; raises InputError if one is missing or options contradict."""
        if self.compat and (self.unit != "character" or self.keep or self.keep_pattern):
            options = f"unit={self.unit}, keep={self.keep or self.keep_pattern}"
            raise InputError(
                f"span-mask: compat with {options}: the published code masks a length in characters only"
            )
        if self.unit != "token" and (self.encoder != "starter" or self.revision is not None):
            options = f"encoder={self.encoder}, revision={self.revision}"
            raise InputError(f"span-mask: {options}: these are for unit=token; give that too, or neither")
        view = super().build(runtime)
        if self.unit == "token":
            weights = find_encoder(self.encoder, self.revision)
            view.revision, view._encoder = weights.revision, FillModel(weights.path, runtime)
        return view

    @property
    def spec(self) -> ViewSpec:
        """All parameters; the encoder is one of them if its tokens are counted."""
        unused = set() if self.unit == "token" else {"encoder", "revision"}
        return ViewSpec(self.name, self.model_dump(exclude=unused))

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[ViewResult]:
        """View every text by its own seed."""
        return [*map(self._published if self.compat else self._view, texts, seeds)]

    def _view(self, text: str, seed: int) -> ViewResult:
        (starts, ends), length = self._units(text), self.length
        if len(starts) <= length:
            return ViewResult(text, "unchanged", "too-short")
        places: Sequence[int] = range(len(starts) - length + 1)
        if spans := self.protected_spans(text):
            places = [first for first in places if not touches(spans, starts[first], ends[first + length - 1])]
        if not places:
            return ViewResult(text, "unchanged", "all-kept")
        # A hash, uniform in [0, 2^64), takes a tenth of the time that seeding Python's generator does.
        first = places[xxhash.xxh64_intdigest(b"", seed) * len(places) >> 64]
        return _masked(text, starts[first], ends[first + length - 1], MASK, length / len(starts))

    def _published(self, text: str, seed: int) -> ViewResult:
        """Mirror-BERT's published function, which masks the first occurrence of the drawn characters."""
        if len(text) < max(COMPAT_MIN_CHARACTERS, self.length + 1):
            return ViewResult(text, "unchanged", "too-short")
        place = random.Random(seed).randrange(len(text) - self.length)
        start = text.index(text[place : place + self.length])
        return _masked(text, start, start + self.length, f" {MASK} ", self.length / len(text))

    def _units(self, text: str) -> tuple[Sequence[int], Sequence[int]]:
        if self.unit == "character":
            return _characters(text)
        if self.unit == "word":
            tokens = words(text)
            return [token.start for token in tokens], [token.end for token in tokens]
        offsets = self._encoder.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
        # Byte-level tokenizers cut emoji and rare letters into pieces; these are joined again.
        characters, starts, ends = {*_characters(text)[0]}, list[int](), list[int]()
        for start, end in offsets:
            last = ends[-1] if ends else 0
            if end > start and (start < last or (start == last and start not in characters)):
                ends[-1] = max(end, last)
            elif end > start:
                starts.append(start)
                ends.append(end)
        return starts, ends


def _characters(text: str) -> tuple[Sequence[int], Sequence[int]]:
    """Where grapheme clusters start and end, as in Unicode's annex 29."""
    if text.isascii() and "\r" not in text:
        return range(len(text)), range(1, len(text) + 1)
    starts = [match.start() for match in regex.finditer(r"\X", text)]
    return starts, [*starts[1:], len(text)]


def _masked(text: str, start: int, end: int, mask: str, share: float) -> ViewResult:
    edit = Edit(start, end, text[start:end], mask)
    return ViewResult(text[:start] + mask + text[end:], "ok", None, None, (edit,), share, share)
