"""The encoder that is trained: a transformer and its pooling, token ids in, sentence vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from pipelines.console import InputError
from trainers.ragged import Ragged

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MASK = "[MASK]"
"""How a mask is written in stored text, whatever the tokenizer's own token."""

GROUP = 24
"""Fewest sentences that are worth a forward pass of their own."""

MOST_GROUPS = 8

Pooling = Literal["mean", "cls"]


class Encoder(nn.Module):
    """A transformer and its pooling: token ids in, one float32 vector per sentence out."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, pooling: Pooling, max_tokens: int
    ) -> None:
        super().__init__()
        limit = min(tokenizer.model_max_length, position_limit(model))
        if max_tokens > limit:
            raise InputError(f"--max-tokens {max_tokens} is more than the encoder's {limit} positions: ask for fewer")
        self.model = model
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.max_tokens = max_tokens
        self.limit = limit
        pooler = getattr(model, "pooler", None)
        if pooler is not None:
            # Nothing here uses BERT's own pooler; it stays in the files so that others load them without a word.
            pooler.requires_grad_(False)

    @property
    def dimension(self) -> int:
        """Length of a sentence's vector."""
        return int(self.model.config.hidden_size)

    def tokens(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the last layer's token vectors (sentences, tokens, d), float32."""
        hidden: Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return hidden.float()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return (sentences, d) vectors in float32, not normalised; padding never enters the mean.

        Args:
            input_ids: (sentences, tokens).
            attention_mask: The same shape; 0 at padding, which stands on the right.
        """
        groups = by_length(attention_mask)
        vectors = [
            self._pool(self.tokens(input_ids[rows, :width], attention_mask[rows, :width]), attention_mask[rows, :width])
            for rows, width in groups
        ]
        order = torch.cat([rows for rows, _ in groups])
        return torch.cat(vectors)[order.argsort()]

    def _pool(self, tokens: Tensor, attention_mask: Tensor) -> Tensor:
        return tokens[:, 0] if self.pooling == "cls" else masked_mean(tokens, attention_mask)

    def tokenize(self, texts: Sequence[str], *, literal_mask: bool = False) -> Ragged:
        """Return the ids of each text, special tokens included, cut at `max_tokens`.

        A `[MASK]` in a text becomes the tokenizer's own mask token, unless `literal_mask` leaves it as written.

        Raises:
            InputError: A text has a mask and the tokenizer has no mask token.
        """
        if not literal_mask:
            texts = [self._own_mask(text) if MASK in text else text for text in texts]
        rows: list[list[int]] = []
        for start in range(0, len(texts), 10_000):
            rows += self.tokenizer(
                list(texts[start : start + 10_000]),
                truncation=True,
                max_length=self.max_tokens,
                return_attention_mask=False,
                return_token_type_ids=False,
            )["input_ids"]
        return Ragged.of(rows)

    def _own_mask(self, text: str) -> str:
        token = self.tokenizer.mask_token
        if token is None:
            raise InputError(f"{text[:60]!r} has a mask and the encoder's tokenizer no mask token: use other views")
        return text if token == MASK else text.replace(MASK, token)

    def pad(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """Return `input_ids` and `attention_mask` (rows, longest row) of ragged ids."""
        width = max(map(len, rows))
        padding = self.tokenizer.pad_token_id
        ids = torch.tensor([[*row, *[padding] * (width - len(row))] for row in rows])
        lengths = torch.tensor([len(row) for row in rows])
        return {"input_ids": ids, "attention_mask": (torch.arange(width) < lengths[:, None]).long()}

    @torch.no_grad()
    def encode(self, texts: Sequence[str], batch_size: int = 64) -> Tensor:
        """Return the vectors (texts, d) of `texts`, float32, in evaluation mode; the module's mode is kept."""
        mode, device = self.training, next(self.parameters()).device
        self.eval()
        ids = self.tokenize(texts)
        vectors = []
        for start in range(0, len(texts), batch_size):
            batch = self.pad([ids[row] for row in range(start, min(start + batch_size, len(texts)))])
            vectors.append(self(**{name: tensor.to(device) for name, tensor in batch.items()}).cpu())
        self.train(mode)
        return torch.cat(vectors)


def masked_mean(tokens: Tensor, attention_mask: Tensor) -> Tensor:
    """Return the mean (sentences, d) of the token vectors (sentences, tokens, d) that the mask keeps."""
    weights = attention_mask.unsqueeze(-1).to(tokens.dtype)
    return (tokens * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def by_length(attention_mask: Tensor) -> list[tuple[Tensor, int]]:
    """Split a batch into groups of like length: their row numbers and the width that holds them, no row left out.

    A transformer's vectors do not depend on the other rows, and on a CPU most of a padded batch's time would go into
    padding. A GPU takes the batch as one, since there the lengths would have to be waited for.
    """
    count, width = attention_mask.shape
    if attention_mask.device.type != "cpu" or count < 2 * GROUP:
        return [(torch.arange(count, device=attention_mask.device), width)]
    lengths = attention_mask.sum(dim=1)
    groups = lengths.argsort(stable=True).chunk(min(count // GROUP, MOST_GROUPS))
    return [(rows, int(lengths[rows[-1]])) for rows in groups]


def position_limit(model: PreTrainedModel) -> int:
    """Return how many tokens the model has positions for; RoBERTa's tables begin after its padding id."""
    config = model.config
    positions = getattr(config, "max_position_embeddings", None)
    if not positions or positions < 0:
        return 1 << 30
    embeddings = getattr(model, "embeddings", None)
    offset = config.pad_token_id + 1 if hasattr(embeddings, "padding_idx") else 0
    return int(positions) - offset
