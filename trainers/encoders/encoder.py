"""The encoder that is trained: a transformer, perhaps a CNN, and a pooling; token ids in, sentence vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from pipelines.console import InputError
from trainers.data.ragged import Ragged
from trainers.encoders.convolution import Convolutions

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MASK = "[MASK]"
"""How a mask is written in stored text, whatever the tokenizer's own token."""

GROUP = 8
"""Fewest sentences that are worth a forward pass of their own."""

MOST_GROUPS = 8

Pooling = Literal["mean", "cls", "padded-mean", "first-last"]
"""How token vectors become one: their mean, the first one, the mean over all of `max_tokens` positions with their
padding (as Mirror-BERT's code has it), or the mean of the means of the first and of the last layer."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some sentences of a batch: their row numbers (n,), token vectors (n, tokens, d) and mask (n, tokens)."""

    rows: Tensor
    tokens: Tensor
    mask: Tensor


class Encoder(nn.Module):
    """A transformer, perhaps convolutions, and a pooling: token ids in, one float32 vector per sentence out.

    Args:
        model: The transformer.
        tokenizer: Its tokenizer.
        pooling: How token vectors become one.
        max_tokens: Longer texts are cut.
        cnn: Convolutions between the transformer and the pooling, trained and saved with it.
        after: Modules of sentence-transformers that follow the pooling in the encoder started from (a Dense layer,
            Normalize); they are trained and saved with it.

    Attributes:
        evaluated_tokens: What `max_tokens` is outside of training and, where padding counts, in the saved directory;
            the same unless it is set.

    Raises:
        InputError: `max_tokens` is more than the model has positions for, or the pooling does not go with a CNN.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        pooling: Pooling,
        max_tokens: int,
        cnn: Convolutions | None = None,
        after: Sequence[nn.Module] = (),
    ) -> None:
        super().__init__()
        limit = min(tokenizer.model_max_length, position_limit(model))
        if max_tokens > limit:
            raise InputError(f"--max-tokens {max_tokens} is more than the encoder's {limit} positions: ask for fewer")
        if cnn is not None and pooling not in ("mean", "cls"):
            raise InputError(f"--pooling {pooling} is for a bare transformer, the encoder has {cnn}: take mean")
        self.model = model
        self.tokenizer = tokenizer
        self.pooling: Pooling = pooling
        self.max_tokens = max_tokens
        self.limit = limit
        self.evaluated_tokens = max_tokens
        self.cnn = cnn
        self.after = nn.ModuleList(after)
        pooler = getattr(model, "pooler", None)
        if pooler is not None:
            # Nothing here uses BERT's own pooler; it stays in the files so that others load them without a word.
            pooler.requires_grad_(False)

    @property
    def dimension(self) -> int:
        """Length of a sentence's vector."""
        dimension = self.token_dimension
        for module in self.after:
            dimension = int(getattr(module, "out_features", dimension))
        return dimension

    @property
    def token_dimension(self) -> int:
        """Length of the token vectors that are pooled."""
        return int(self.model.config.hidden_size) if self.cnn is None else self.cnn.dimension

    @property
    def _most_tokens(self) -> int:
        return self.max_tokens if self.training else self.evaluated_tokens

    def tokens(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the transformer's last layer's token vectors (sentences, tokens, d), float32."""
        hidden: Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return hidden.float()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return (sentences, d) vectors in float32, not normalised unless the encoder started from did that.

        A sentence's vector does not depend on the others. Padding enters the mean of `padded-mean` alone.

        Args:
            input_ids: (sentences, tokens).
            attention_mask: The same shape; 0 at padding, which stands on the right.
        """
        return self.finish(self.pool(self.groups(input_ids, attention_mask)))

    def groups(self, input_ids: Tensor, attention_mask: Tensor) -> list[Group]:
        """Return the token vectors that are pooled, in groups of like length."""
        if self.pooling == "padded-mean":
            width = self._most_tokens
            missing = (0, width - input_ids.shape[1])
            input_ids = functional.pad(input_ids, missing, value=self.tokenizer.pad_token_id)
            attention_mask = functional.pad(attention_mask, missing)
            parts = [(torch.arange(len(input_ids), device=input_ids.device), width)]
        else:
            parts = by_length(attention_mask)
        return [self._group(rows, input_ids[rows, :width], attention_mask[rows, :width]) for rows, width in parts]

    def _group(self, rows: Tensor, input_ids: Tensor, attention_mask: Tensor) -> Group:
        if self.pooling == "first-last":
            output = self.model(input_ids=input_ids, attention_mask=attention_mask, output_hidden_states=True)
            # Number 0 is the word embeddings; the mean of two means is the mean of the means.
            tokens = (output.hidden_states[1].float() + output.hidden_states[-1].float()) / 2
        else:
            tokens = self.tokens(input_ids, attention_mask)
        if self.cnn is not None:
            tokens = self.cnn(tokens, attention_mask).float()
        return Group(rows, tokens, attention_mask)

    def pool(self, groups: Sequence[Group]) -> Tensor:
        """Return the sentences' pooled vectors (sentences, d), in the order of the batch."""
        order = torch.cat([group.rows for group in groups])
        return torch.cat([self._pooled(group) for group in groups])[order.argsort()]

    def _pooled(self, group: Group) -> Tensor:
        if self.pooling == "cls":
            return group.tokens[:, 0]
        if self.pooling == "padded-mean":
            return group.tokens.mean(dim=1)
        return masked_mean(group.tokens, group.mask)

    def finish(self, vectors: Tensor) -> Tensor:
        """Apply what follows the pooling in the encoder started from; in most, nothing."""
        features: dict[str, Any] = {"sentence_embedding": vectors}
        for module in self.after:
            features = module(features)
        finished: Tensor = features["sentence_embedding"]
        return finished.float()

    def checkpointing(self) -> None:
        """Compute activations again in the backward pass: less memory, about a third more time.

        Raises:
            InputError: The architecture cannot.
        """
        # Its older name goes away.
        enable = (
            getattr(self.model, "activation_checkpointing_enable", None) or self.model.gradient_checkpointing_enable
        )
        try:
            enable({"use_reentrant": False})
        except (ValueError, NotImplementedError):
            raise InputError(
                f"{type(self.model).__name__} has no gradient checkpointing: leave --gradient-checkpointing out"
            ) from None

    def tokenize(self, texts: Sequence[str], *, literal_mask: bool = False) -> Ragged:
        """Return the ids of each text, special tokens included, cut at `max_tokens` (in training mode).

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
                max_length=self._most_tokens,
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
