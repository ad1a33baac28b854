"""Replace one random span of the sentence by the mask token (Mirror-BERT, section 2.2: five characters)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from augment.edits import apply_edits, words
from augment.errors import InputError
from augment.masked import FillModel
from augment.view import Edit, Runtime, Viewed, ViewSpec
from augment.weights import find_encoder

MASK = "[MASK]"
"""How a mask is stored, whatever the encoder; trainers turn it into their tokenizer's own mask token."""
COMPAT_LEAST_CHARACTERS = 30
"""Mirror-BERT's published code masks no shorter strings."""


class PARAMS(BaseModel):
    """Parameters of the span mask."""

    model_config = ConfigDict(extra="forbid")

    length: int = Field(default=5, ge=1, description="length of the masked span, in units")
    unit: Literal["character", "word", "token"] = Field(default="character", description="what the length counts")
    compat: bool = Field(
        default=False,
        description="mask as Mirror-BERT's published code did: strings of 30 characters or more, the first occurrence "
        "of the drawn substring, spaces around the mask",
    )
    encoder: str = Field(
        default="starter", description="the encoder whose tokens are counted (unit token): starter, a folder or a name"
    )
    revision: str | None = Field(default=None, description="hold the encoder's tokenizer to this revision")


@dataclass(frozen=True)
class SpanMask:
    """The view. A text without a span to spare is "unchanged", with the reason "too-short"."""

    spec: ViewSpec
    length: int
    unit: str
    compat: bool
    encoder: FillModel | None = field(default=None, repr=False)

    def __call__(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Viewed]:
        """View every text by its own seed."""
        one = self._published if self.compat else self._view
        return [one(text, random.Random(seed)) for text, seed in zip(texts, seeds, strict=True)]

    def _view(self, text: str, draw: random.Random) -> Viewed:
        units = self._units(text)
        if len(units) <= self.length:
            return _unchanged(text)
        first = draw.randrange(len(units) - self.length + 1)
        start, end = units[first][0], units[first + self.length - 1][1]
        return _masked(text, Edit(start, end, text[start:end], MASK), self.length / len(units))

    def _published(self, text: str, draw: random.Random) -> Viewed:
        if len(text) < max(COMPAT_LEAST_CHARACTERS, self.length + 1):
            return _unchanged(text)
        drawn = draw.randrange(len(text) - self.length)
        old = text[drawn : drawn + self.length]
        start = text.index(old)
        return _masked(text, Edit(start, start + self.length, old, f" {MASK} "), self.length / len(text))

    def _units(self, text: str) -> Sequence[tuple[int, int]]:
        if self.unit == "character":
            return [(index, index + 1) for index in range(len(text))]
        if self.unit == "word":
            return [(word.start, word.end) for word in words(text)]
        if self.encoder is None:
            raise ValueError("unit token without an encoder")
        offsets = self.encoder.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        return [(start, end) for start, end in offsets if end > start]


def build(params: PARAMS, runtime: Runtime) -> SpanMask:
    """The view for `params`; unit "token" needs the encoder's tokenizer.

    Raises:
        InputError: No such encoder, or compat with another unit than characters.
    """
    if params.compat and params.unit != "character":
        raise InputError(f"span-mask: compat with unit={params.unit}: the published code masks characters only")
    resolved: dict[str, str | int | bool] = {"length": params.length, "unit": params.unit, "compat": params.compat}
    if params.unit != "token":
        return SpanMask(ViewSpec("span-mask", resolved), params.length, params.unit, params.compat)
    weights = find_encoder(params.encoder, params.revision)
    spec = ViewSpec("span-mask", {**resolved, "encoder": params.encoder, "revision": weights.revision})
    return SpanMask(spec, params.length, params.unit, params.compat, FillModel(weights.path))


def _masked(text: str, edit: Edit, share: float) -> Viewed:
    return Viewed(apply_edits(text, [edit]), "ok", None, None, (edit,), share, share)


def _unchanged(text: str) -> Viewed:
    return Viewed(text, "unchanged", "too-short")
