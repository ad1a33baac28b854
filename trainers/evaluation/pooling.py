"""Poolings that papers report of untrained encoders, and how a loaded model is made to pool or to cut otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from torch import Tensor, nn

from pipelines.console import InputError, note
from trainers.encoders.loading import position_limit

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def masked_mean(tokens: Tensor, attention_mask: Tensor) -> Tensor:
    """Return the mean (sentences, d) of the token vectors (sentences, tokens, d) that the mask keeps."""
    weights = attention_mask.unsqueeze(-1).to(tokens.dtype)
    return (tokens * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


PoolingMode = Literal["mean", "cls", "first-last", "padded-mean"]
POOLINGS: tuple[PoolingMode, ...] = get_args(PoolingMode)

PADDED = 64
"""Tokens that `padded-mean` pads and cuts every text to unless told otherwise, as in Mirror-BERT's evaluation."""


class FirstLast(nn.Module):
    """The mean of the masked means of the first and of the last layer's token vectors.

    The first layer is the output of the first transformer block, not the word embeddings: so SimCSE and
    BERT-whitening define it (`first-last avg.`), and so BERT-flow's code computes what its paper calls the average of
    the last two layers.
    """

    pooling_mode = "first-last"

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Add `sentence_embedding` (texts, d) to features with every layer's token vectors and the mask."""
        layers, mask = features["all_layer_embeddings"], features["attention_mask"]
        features["sentence_embedding"] = (masked_mean(layers[1], mask) + masked_mean(layers[-1], mask)) / 2
        return features


class PaddedMean(nn.Module):
    """The mean over all positions that a text is padded to, padding included, as Mirror-BERT's code has it.

    Right only for comparing with figures that were made so: a text's padding is no part of it.
    """

    pooling_mode = "padded-mean"

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Add `sentence_embedding` (texts, d) to features whose token vectors (texts, positions, d) are padded."""
        features["sentence_embedding"] = features["token_embeddings"].mean(dim=1)
        return features


def repooled(model: SentenceTransformer, pooling: PoolingMode) -> SentenceTransformer:
    """Return a model of the first module of another, its transformer, and a pooling.

    Raises:
        InputError: It gives no token vectors.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    first = model[0]
    width = getattr(first, "get_embedding_dimension", lambda: None)()
    if width is None or getattr(first, "module_output_name", None) != "token_embeddings":
        raise InputError(f"{type(first).__name__} gives no token vectors to pool: leave --pooling out")
    dropped = [type(module).__name__ for module in list(model)[1:] if type(module).__name__ != "Pooling"]
    if dropped:
        note(f"--pooling {pooling} leaves out the model's own {', '.join(dropped)}")
    pool: Any
    if pooling == "first-last":
        first.model.config.output_hidden_states = True
        pool = FirstLast()
    elif pooling == "padded-mean":
        pool = PaddedMean()
    else:
        prompted = all(getattr(module, "include_prompt", True) for module in model)
        pool = Pooling(width, pooling, include_prompt=prompted)
    return SentenceTransformer(
        modules=[first, pool],
        device=str(model.device),
        prompts=model.prompts,
        default_prompt_name=model.default_prompt_name,
        truncate_dim=model.truncate_dim,
    )


def cut(model: SentenceTransformer, max_tokens: int | None) -> None:
    """Cut texts at `max_tokens`, or at `PADDED` if the model has so many positions, whatever it was saved with.

    Raises:
        InputError: The model has fewer positions, or none.
    """
    transformer = getattr(model[0], "model", None)
    if not hasattr(transformer, "config"):
        raise InputError(f"--max-tokens {max_tokens}: {type(model[0]).__name__} has no positions: leave it out")
    limit = position_limit(model)
    if max_tokens is not None and max_tokens > limit:
        raise InputError(f"--max-tokens {max_tokens} is more than the encoder's {limit} positions: ask for fewer")
    model.max_seq_length = min(max_tokens or PADDED, limit)
