"""Replace one random span of the sentence by the mask token (Mirror-BERT, section 2.2: five characters)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, PrivateAttr

from augment.edits import words
from augment.errors import InputError
from augment.keep import WordView, touches
from augment.masked import FillModel
from augment.view import Edit, Runtime, Viewed, ViewSpec, seeded
from augment.weights import find_encoder
from augment.words import rounded

MASK = "[MASK]"
"""How a mask is stored, whatever the encoder; trainers turn it into their tokenizer's own mask token."""
LENGTH = 5
"""Mirror-BERT's length, in characters."""
COMPAT_LEAST_CHARACTERS = 30
"""Mirror-BERT's published code masks no shorter strings."""


class SpanMask(WordView):
    """The view. A text without a span to spare is "unchanged", with the reason "too-short".

    Characters are what a reader takes for one: letters with their accents, an emoji of several code points. `compat`
    counts code points, as the published code did. A rate is rounded up or down by the row's own draw, so that the mean
    over sentences meets it.
    """

    name = "span-mask"
    keeps_masks = True

    length: int | None = Field(
        default=None, ge=1, description=f"length of the masked span, in units; {LENGTH} without --rate"
    )
    rate: float | None = Field(
        default=None, gt=0, le=1, description="share of the units to mask, instead of a length; one unit always stays"
    )
    unit: Literal["character", "word", "token"] = Field(
        default="character", description="what length and rate count; an accent or an emoji's parts are no characters"
    )
    compat: bool = Field(
        default=False,
        description="mask as Mirror-BERT's published code did: strings of 30 characters or more, the first occurrence "
        "of the drawn substring, spaces around the mask",
    )
    encoder: str = Field(
        default="starter", description="the encoder whose tokens are counted (unit token): starter, a folder or a name"
    )
    revision: str | None = Field(default=None, description="hold the encoder's tokenizer to this revision")

    _encoder: FillModel | None = PrivateAttr(default=None)

    def build(self, runtime: Runtime) -> SpanMask:
        """The view; unit "token" needs the encoder's tokenizer.

        Raises:
            InputError: No such encoder, a length and a rate, or compat with a rate or another unit than characters.
        """
        if self.length is not None and self.rate is not None:
            raise InputError(f"span-mask: length={self.length} and rate={self.rate}: give one of them")
        if self.compat and self.rate is not None:
            raise InputError(f"span-mask: compat with rate={self.rate}: the published code masks a length")
        if self.compat and self.unit != "character":
            raise InputError(f"span-mask: compat with unit={self.unit}: the published code masks characters only")
        if self.compat and (self.keep or self.keep_pattern):
            raise InputError("span-mask: compat with terms to keep: the published code keeps none")
        length = LENGTH if self.length is None and self.rate is None else self.length
        if self.unit != "token":
            return self.keeping().model_copy(update={"length": length})
        weights = find_encoder(self.encoder, self.revision)
        view = self.keeping().model_copy(update={"length": length, "revision": weights.revision})
        view._encoder = FillModel(weights.path)
        return view

    @property
    def spec(self) -> ViewSpec:
        """All parameters; the encoder is one of them where its tokens are counted."""
        unused = set() if self.unit == "token" else {"encoder", "revision"}
        return ViewSpec(self.name, self.model_dump(exclude=unused))

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text by its own seed."""
        one = self._published if self.compat else self._view
        return [one(text, draw) for text, draw in zip(texts, seeded(seeds), strict=True)]

    def _view(self, text: str, draw: random.Random) -> Viewed:
        starts, ends = self._units(text)
        units = len(starts)
        length, target = self._length(units, draw)
        if units <= length:
            return _unchanged(text)
        spans: Sequence[int] = range(units - length + 1)
        if kept := self.kept(text):
            spans = [first for first in spans if not touches(kept, starts[first], ends[first + length - 1])]
            if not spans:
                return Viewed(text, "unchanged", "all-kept")
        first = draw.choice(spans)
        share = length / units
        return _masked(text, starts[first], ends[first + length - 1], MASK, target or share, share)

    def _length(self, units: int, draw: random.Random) -> tuple[int, float | None]:
        """How many units to mask, and the share that was asked for."""
        rate = self.rate
        if rate is None:
            return self.length or LENGTH, None
        return max(1, min(rounded(rate * units, draw), units - 1)), rate

    def _published(self, text: str, draw: random.Random) -> Viewed:
        length = self.length or LENGTH
        if len(text) < max(COMPAT_LEAST_CHARACTERS, length + 1):
            return _unchanged(text)
        drawn = draw.randrange(len(text) - length)
        start = text.index(text[drawn : drawn + length])
        share = length / len(text)
        return _masked(text, start, start + length, f" {MASK} ", share, share)

    def _units(self, text: str) -> tuple[Sequence[int], Sequence[int]]:
        """Where units start, and where they end."""
        if self.unit == "character":
            return _characters(text)
        if self.unit == "word":
            found = words(text)
            return [word.start for word in found], [word.end for word in found]
        if self._encoder is None:
            raise ValueError("unit token without an encoder")
        offsets = self._encoder.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        whole = _whole(text, [(start, end) for start, end in offsets if end > start])
        return [start for start, _ in whole], [end for _, end in whole]


def _characters(text: str) -> tuple[Sequence[int], Sequence[int]]:
    """Where each grapheme cluster starts and ends, as Unicode's annex 29 has them."""
    if text.isascii() and "\r" not in text:
        return range(len(text)), range(1, len(text) + 1)
    import regex  # type: ignore[import-untyped, unused-ignore]

    found = [match.span() for match in regex.finditer(r"\X", text)]
    return [start for start, _ in found], [end for _, end in found]


def _whole(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Tokens with those joined that share a character: byte-level tokenizers cut emoji and rare letters in pieces."""
    if text.isascii():
        return list(spans)
    starts = {*_characters(text)[0], len(text)}
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and (start < joined[-1][1] or (start == joined[-1][1] and start not in starts)):
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _masked(text: str, start: int, end: int, mask: str, target: float, achieved: float) -> Viewed:
    edit = Edit(start, end, text[start:end], mask)
    return Viewed(text[:start] + mask + text[end:], "ok", None, None, (edit,), target, achieved)


def _unchanged(text: str) -> Viewed:
    return Viewed(text, "unchanged", "too-short")
