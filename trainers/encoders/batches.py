"""Token ids in, sentence vectors out: an encoder's batches, cut into groups of similar length.

A transformer's vectors do not depend on the other rows, and on a CPU a padded batch takes most of its time for padding.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pipelines.terminal.console import InputError
from trainers.data.examples import BLOCK, Ragged
from trainers.encoders.modules import Encoder, is_padded, pooling_at

MASK = "[MASK]"  # how a mask is written in stored text, whatever the tokenizer's own token
GROUP, MOST_GROUPS = 8, 8  # fewest sentences worth a forward pass of their own, and most such passes in a batch

Group = tuple[Tensor, dict[str, Any]]
"""The row numbers (n,) of some sentences of a batch, and their features before the pooling: `token_embeddings`
(n, tokens, d), float32, and `attention_mask` (n, tokens)."""


def tokenize(encoder: Encoder, texts: Sequence[str], max_tokens: int, literal_mask: bool = False) -> Ragged:
    """Return the ids of each text, special tokens included, cut at `max_tokens`.

    A `[MASK]` in a text becomes the tokenizer's own mask token, unless `literal_mask` leaves it as written. Raises
    InputError for a mask if the tokenizer has no such token.
    """
    tokenizer = encoder.tokenizer
    settings = {"return_attention_mask": False, "return_token_type_ids": False}

    def ids() -> Iterator[list[int]]:
        for start in range(0, len(texts), BLOCK):
            block = list(texts[start : start + BLOCK])
            masked = [] if literal_mask else [text for text in block if MASK in text]
            if masked and tokenizer.mask_token is None:
                problem = f"the encoder's tokenizer has no mask token for {masked[0][:60]!r}"
                raise InputError(f"{problem}: use views without masks")
            if masked:
                block = [text.replace(MASK, tokenizer.mask_token) for text in block]
            yield from tokenizer(block, truncation=True, max_length=max_tokens, **settings)["input_ids"]

    return Ragged(ids())


def embed(
    encoder: Encoder, input_ids: Tensor, attention_mask: Tensor, max_tokens: int, before: str | None = None
) -> Tensor:
    """Return the sentence vectors (sentences, d), float32; in training mode with dropout.

    Ids and mask are (sentences, tokens), padded on the right. Padding affects only the pooling `padded-mean`, where
    every text is padded to `max_tokens`. `before` names a layer whose input is returned instead of the last output.
    """
    features = {"sentence_embedding": pool(encoder, groups(encoder, input_ids, attention_mask, max_tokens))}
    for name, module in list(encoder.named_children())[pooling_at(encoder) + 1 :]:
        if name == before:
            break
        features = module(features)
    return features["sentence_embedding"].float()


def groups(encoder: Encoder, input_ids: Tensor, attention_mask: Tensor, max_tokens: int) -> list[Group]:
    """Return the token vectors that are pooled, in groups of similar length; the arguments are those of `embed`."""
    parts = by_length(attention_mask)
    if is_padded(encoder):
        missing = (0, max_tokens - input_ids.shape[1])
        input_ids = functional.pad(input_ids, missing, value=encoder.tokenizer.pad_token_id)
        attention_mask = functional.pad(attention_mask, missing)
        parts = [(torch.arange(len(input_ids), device=input_ids.device), max_tokens)]
    token_groups = []
    for rows, width in parts:
        features = {"input_ids": input_ids[rows, :width], "attention_mask": attention_mask[rows, :width]}
        for module in list(encoder)[: pooling_at(encoder)]:
            features = module(features)
            # Sums and means are float32 whatever is autocast.
            features["token_embeddings"] = features["token_embeddings"].float()
        token_groups.append((rows, features))
    return token_groups


def pool(encoder: Encoder, token_groups: Sequence[Group]) -> Tensor:
    """Return the sentences' pooled vectors (sentences, d), in the order of the batch."""
    pooling = encoder[pooling_at(encoder)]
    order = torch.cat([rows for rows, _ in token_groups])
    return torch.cat([pooling(dict(features))["sentence_embedding"] for _, features in token_groups])[order.argsort()]


def by_length(attention_mask: Tensor) -> list[tuple[Tensor, int]]:
    """Split a batch into groups of similar length: their row numbers and the width that holds them."""
    count, width = attention_mask.shape
    # On a GPU, splitting would have to wait for the lengths.
    if attention_mask.device.type != "cpu" or count < 2 * GROUP:
        return [(torch.arange(count, device=attention_mask.device), width)]
    lengths = attention_mask.sum(dim=1)
    parts = lengths.argsort(stable=True).chunk(min(count // GROUP, MOST_GROUPS))
    return [(rows, int(lengths[rows[-1]])) for rows in parts]
