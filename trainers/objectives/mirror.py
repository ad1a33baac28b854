"""Mirror-BERT (Liu et al. 2021): tell a string and its own corrupted copy from all other strings of the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor
from torch.nn import functional

from trainers.encoder import MASK, Encoder
from trainers.examples import Examples
from trainers.objective import Objective, Row
from trainers.pretrained import Source, load_encoder
from trainers.settings import Training

READS = ("text", "views")

COMPAT_SHORTEST = 30
"""The authors' code masks nothing in strings of fewer characters."""


class PARAMS(BaseModel):
    """What Mirror-BERT can be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float = Field(0.04, gt=0, description="Temperature of the cosines.")
    span: int = Field(5, ge=0, description="Characters masked in one copy of each string; 0 masks none.")
    compat: bool = Field(
        False,
        description="Mask as the authors' code does (strings of 30 characters or more, first occurrence, literal "
        "[MASK] between spaces) and keep equal strings of a batch as negatives.",
    )


_COMMON = {"batch_size": 200, "lr": 2e-5, "schedule": "constant", "weight_decay": 0.01, "decay_all": True}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "sentence": {**_COMMON, "temperature": 0.04, "span": 5, "max_tokens": 50, "epochs": 1, "pooling": "mean"},
    "phrase": {**_COMMON, "temperature": 0.04, "span": 2, "max_tokens": 25, "epochs": 2, "pooling": "cls"},
    "word": {**_COMMON, "temperature": 0.2, "span": 0, "max_tokens": 25, "epochs": 2, "pooling": "cls"},
}


class Mirror(Objective):
    """One encoder; the two copies of a string differ by a masked span on one side and by dropout."""

    def __init__(self, encoder: Encoder, params: PARAMS) -> None:
        super().__init__(encoder)
        self.params = params

    def columns(self, examples: Examples) -> Mapping[str, Sequence[Any]]:
        """Return the ids of the left side, the text of the right side, and numbers that tell equal strings."""
        numbers: dict[str, int] = {}
        keys = [
            tuple(numbers.setdefault(text, len(numbers)) for text in row)
            for row in zip(examples.texts, examples.left, examples.right, strict=True)
        ]
        mirrored = [left == right for left, right in zip(examples.left, examples.right, strict=True)]
        left = self.encoder.tokenize(examples.left)
        return {"left": left, "right": examples.right, "mirrored": mirrored, "keys": keys}

    def collate(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Return one batch (2n, tokens), left sides first, and the `keys` (n, 3) of source, left and right string.

        A right side that only repeats the left one gets its span mask here, drawn from the row's seed.
        """
        right = [self._corrupted(row["right"], row["seed"]) if row["mirrored"] else row["right"] for row in rows]
        ids = self.encoder.tokenize(right, literal_mask=self.params.compat)
        batch = self.encoder.pad([row["left"] for row in rows] + list(ids))
        return {**batch, "keys": torch.tensor([row["keys"] for row in rows])}

    def _corrupted(self, text: str, seed: int) -> str:
        if self.params.span == 0:
            return text
        mask = mask_span_compat if self.params.compat else mask_span
        return mask(text, self.params.span, Random(seed))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, keys: Tensor) -> dict[str, Tensor]:
        """Return the mean InfoNCE loss of 2n anchors in nats, and the vectors (2n, d).

        Args:
            input_ids: (2n, tokens), row i and row n + i being the two sides of one pair.
            attention_mask: The same shape; 0 at padding.
            keys: (n, 3), see `equal_strings`.
        """
        vectors = self.encoder(input_ids, attention_mask)
        excluded = None if self.params.compat else equal_strings(keys)
        return {"loss": nt_xent(vectors, self.params.temperature, excluded), "vectors": vectors.detach()}


def nt_xent(vectors: Tensor, temperature: float, excluded: Tensor | None = None) -> Tensor:
    """Return the mean loss of 2n anchors, `-log(exp(s_pos / t) / sum over j != i of exp(s_ij / t))` (Eq. 1).

    Args:
        vectors: (2n, d), row i and row n + i being a positive pair; s is their cosine.
        temperature: t.
        excluded: (2n, 2n) boolean, true where j must not be a negative of i; positives stay whatever it says.
    """
    count = len(vectors)
    unit = functional.normalize(vectors.float(), dim=-1)
    own = torch.arange(count, device=vectors.device)
    positive = own.roll(count // 2)
    left_out = torch.eye(count, dtype=torch.bool, device=vectors.device)
    if excluded is not None:
        left_out = left_out | excluded
        left_out[own, positive] = False
    scores = (unit @ unit.T / temperature).masked_fill(left_out, float("-inf"))
    return functional.cross_entropy(scores, positive)


def equal_strings(keys: Tensor) -> Tensor:
    """Return (2n, 2n), true where string j is no true negative of anchor i.

    That is where both come from the same source, or j is the same string as i or as its positive.

    Args:
        keys: (n, 3), equal numbers for equal strings: the source, the left and the right string of each pair.
    """
    source = keys[:, 0].repeat(2)
    string = torch.cat([keys[:, 1], keys[:, 2]])
    partner = torch.cat([keys[:, 2], keys[:, 1]])
    same = (string[:, None] == string[None]) | (partner[:, None] == string[None])
    return same | (source[:, None] == source[None])


def mask_span(text: str, characters: int, random: Random) -> str:
    """Replace one random run of `characters` characters by `[MASK]`; a text no longer than that stays as it is."""
    if len(text) <= characters:
        return text
    start = random.randrange(len(text) - characters + 1)
    return text[:start] + MASK + text[start + characters :]


def mask_span_compat(text: str, characters: int, random: Random) -> str:
    """Mask as the authors' code does: the first occurrence of the drawn substring, never the last character."""
    if len(text) < max(COMPAT_SHORTEST, characters + 1):
        return text
    start = random.randrange(len(text) - characters)
    return text.replace(text[start : start + characters], f" {MASK} ", 1)


def build(options: PARAMS, training: Training, source: Source) -> Mirror:
    """Load the encoder."""
    return Mirror(load_encoder(source, pooling=training.pooling, max_tokens=training.max_tokens), options)
