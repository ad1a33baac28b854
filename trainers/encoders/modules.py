"""The module lists of our encoders, from sentence-transformers' own modules: its plain loader can read what we save.

Where it has no module for a step, others stand in for it. They are frozen: their weights say what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules
from torch import Tensor, nn

from pipelines.console import InputError

Pooling = Literal["mean", "cls", "first-last", "padded-mean"]
"""How token vectors become one: their mean, the first one, the mean over the first and the last layer, or the mean over
all positions that a text is padded to, padding included (as Mirror-BERT's code has it)."""

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
HEADS = ("Dense", "LayerNorm", "Dropout", "Normalize")
"""Modules after the pooling that can be trained."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What tells an encoder from another: its transformer, its convolutions and what follows the pooling."""

    transformer: Any
    pooling: str
    cnn: Any = None
    relu: bool = False
    head: tuple[nn.Module, ...] = ()


def pooling_at(encoder: SentenceTransformer) -> int:
    """Return the place of the first pooling module, the number of modules where there is none."""
    places = (place for place, module in enumerate(encoder) if isinstance(module, modules.Pooling))
    return next(places, len(encoder))


def pooling_of(encoder: SentenceTransformer) -> str:
    """Return the name of an encoder's pooling, "none" where it has none; several are joined by a plus."""
    poolings = [module for module in encoder if isinstance(module, modules.Pooling)]
    if not poolings:
        return "none"
    names = [mode if isinstance(mode, str) else "+".join(mode) for mode in (one.pooling_mode for one in poolings)]
    name = "+".join(names)
    before = list(encoder)[1 : pooling_at(encoder)]
    kinds = {"first-last": map(_is_first_last, before), "padded-mean": map(_is_full_mask, before)}
    kind = next((kind for kind, found in kinds.items() if any(found)), None)
    return name if kind is None else kind if name == "mean" else f"{kind} and {name}"


def is_padded(encoder: SentenceTransformer) -> bool:
    """Whether padding has a part in the vectors: every text is padded to the encoder's `max_seq_length`."""
    return any(map(_is_full_mask, encoder))


def set_max_tokens(encoder: SentenceTransformer, max_tokens: int) -> None:
    """Cut texts at `max_tokens` where the encoder is used, and pad them to as many where padding counts."""
    encoder.max_seq_length = max_tokens
    if is_padded(encoder):
        encoder[0].processing_kwargs = {"text": {"padding": "max_length", "max_length": max_tokens}}


def parts_of(encoder: SentenceTransformer, name: str) -> Parts:
    """Take an encoder apart.

    Raises:
        InputError: It has a module that cannot be trained here, or two whose dimensions do not match.
    """
    place = pooling_at(encoder)
    parts = Parts(encoder[0], pooling_of(encoder))
    for number, module in enumerate(list(encoder)[1:place], start=1):
        if isinstance(module, modules.CNN) and parts.cnn is None and _is_plain_cnn(module):
            parts = replace(parts, cnn=module)
        elif parts.cnn is not None and _is_relu(module):
            parts = replace(parts, relu=True)
        elif not (_is_mask(module) or _is_first_last(module) or _is_full_mask(module)):
            raise _untrainable(module, number, name)
    parts = replace(parts, head=tuple(list(encoder)[place + 1 :]))
    width = token_dimension(encoder)
    for number, module in enumerate(parts.head, start=place + 1):
        if type(module).__name__ not in HEADS or getattr(module, "module_input_name", None) == "token_embeddings":
            raise _untrainable(module, number, name)
        if getattr(module, "in_features", width) != width:
            raise InputError(
                f"the {type(module).__name__} layer of {name!r} takes {module.in_features} dimensions and gets "
                f"{width}: such a pooling ({parts.pooling}) cannot be trained here"
            )
        width = int(getattr(module, "out_features", width))
    return parts


def assemble(parts: Parts) -> SentenceTransformer:
    """Return the encoder of these parts, on their device; the parts are shared, not copied.

    Raises:
        InputError: The pooling is not for an encoder with a CNN.
    """
    transformer, pooling = parts.transformer, parts.pooling
    if parts.cnn is not None and pooling not in ("mean", "cls"):
        raise InputError(
            f"--pooling {pooling} is for a bare transformer, the encoder has {cnn_name(parts)}: use --pooling mean"
        )
    transformer.model.config.output_hidden_states = pooling == "first-last"
    padded = {"text": {"padding": "max_length", "max_length": transformer.max_seq_length}}
    transformer.processing_kwargs = padded if pooling == "padded-mean" else {}
    # What follows the transformer may need rows of one length, where flash attention would string them together.
    transformer.unpad_inputs = False if parts.cnn is not None or pooling in ("first-last", "padded-mean") else None
    width = transformer.get_embedding_dimension() if parts.cnn is None else parts.cnn.get_embedding_dimension()
    # Their first weights, which are replaced, must not change what is drawn next.
    with torch.random.fork_rng(devices=[]):
        adapters = _before_pooling(parts, width)
    pool = modules.Pooling(width, "cls" if pooling == "cls" else "mean")
    device = str(next(transformer.parameters()).device)
    return SentenceTransformer(modules=[transformer, *adapters, pool, *parts.head], device=device)


def _before_pooling(parts: Parts, width: int) -> list[nn.Module]:
    if parts.cnn is not None:
        # Weights of one: only the mask is left of them, which zeroes the padding before the convolutions. The words do
        # not matter, so a string of blanks will do; a list would flood print(encoder).
        mask = modules.WordWeights(" " * parts.transformer.model.config.vocab_size, {}, 1)
        identity = torch.eye(width)
        relu = modules.Dense(width, width, False, nn.ReLU(), identity, module_input_name="token_embeddings")
        # The product with the identity is for the saved directory: here it would only cost time.
        relu.forward = _relu
        return [_frozen(mask), parts.cnn, *([_frozen(relu)] if parts.relu else [])]
    if parts.pooling == "first-last":
        layers = int(parts.transformer.model.config.num_hidden_layers)
        return [_frozen(modules.WeightedLayerPooling(width, layers, 1, nn.Parameter(_first_and_last(layers))))]
    if parts.pooling == "padded-mean":
        # Pooling takes all positions where the mask does not fit the tokens: this puts one of one position there.
        one = {"module_input_name": "token_embeddings", "module_output_name": "attention_mask"}
        return [_frozen(modules.Dense(width, 1, True, nn.Identity(), torch.zeros(1, width), torch.ones(1), **one))]
    return []


def token_dimension(encoder: SentenceTransformer) -> int:
    """Return the length of the token vectors that are pooled."""
    return int(encoder[pooling_at(encoder)].embedding_dimension)


def cnn_name(parts: Parts) -> str:
    """Return the CNN in words."""
    widths = ", ".join(map(str, parts.cnn.kernel_sizes))
    return (
        f"a CNN of widths {widths} with {parts.cnn.out_channels} filters each, with{'' if parts.relu else 'out'} ReLU"
    )


def with_cnn(encoder: SentenceTransformer, widths: Sequence[int], filters: int, *, relu: bool) -> SentenceTransformer:
    """Put a fresh CNN between an encoder's transformer and its pooling; one of the same kind stays as it is.

    `c_i = f(w . h_(i-k/2 .. i+k/2) + b)` for every width k, concatenated; f is ReLU or nothing (Eq. 1 of Zhang et al.
    2020). Positions outside a sentence count as zeros: a token's vector depends on its own sentence alone.

    Raises:
        InputError: The encoder has another one, or layers after its pooling that a CNN's vectors do not fit.
    """
    parts = parts_of(encoder, "the encoder")
    fresh = replace(
        parts, cnn=modules.CNN(parts.transformer.get_embedding_dimension(), filters, list(widths)), relu=relu
    )
    if parts.cnn is not None:
        if cnn_name(parts) != cnn_name(fresh):
            raise InputError(
                f"the encoder has {cnn_name(parts)}, and {cnn_name(fresh)} is asked for: start from another encoder"
            )
        return encoder
    for module in parts.head:
        if isinstance(module, modules.Dense | modules.LayerNorm):
            raise InputError(
                f"the encoder has a {type(module).__name__} layer after its pooling, no CNN can come before it: "
                "start from another"
            )
    return assemble(fresh)


def _relu(features: dict[str, Any]) -> dict[str, Any]:
    return {**features, "token_embeddings": features["token_embeddings"].relu()}


def _frozen(module: nn.Module) -> nn.Module:
    return module.requires_grad_(False)


def _first_and_last(layers: int) -> Tensor:
    """Return the weights (layers,) under which the weighted mean of all layers is that of the first and the last."""
    weights = torch.zeros(layers)
    weights[[0, -1]] = 1
    return weights


def _is_plain_cnn(module: Any) -> bool:  # noqa: ANN401 - a module of sentence-transformers
    return all(width % 2 for width in module.kernel_sizes) and set(module.stride_sizes) == {1}


def _is_mask(module: Any) -> bool:  # noqa: ANN401 - a module of sentence-transformers
    return isinstance(module, modules.WordWeights) and not module.word_weights and module.unknown_word_weight == 1


def _is_relu(module: Any) -> bool:  # noqa: ANN401 - a module of sentence-transformers
    if not isinstance(module, modules.Dense) or not isinstance(module.activation_function, nn.ReLU):
        return False
    weight = module.linear.weight
    plain = module.module_input_name == "token_embeddings" and module.linear.bias is None
    return plain and torch.equal(weight, torch.eye(len(weight)).to(weight))


def _is_full_mask(module: Any) -> bool:  # noqa: ANN401 - a module of sentence-transformers
    return isinstance(module, modules.Dense) and module.module_output_name == "attention_mask"


def _is_first_last(module: Any) -> bool:  # noqa: ANN401 - a module of sentence-transformers
    if not isinstance(module, modules.WeightedLayerPooling) or module.layer_start != 1:
        return False
    weights = module.layer_weights.detach()
    return torch.equal(weights, _first_and_last(len(weights)).to(weights))


def _untrainable(module: nn.Module, number: int, name: str) -> InputError:
    return InputError(
        f"{name} has a {type(module).__name__} (module {number}) that cannot be trained here: start from its "
        "transformer alone, its files without modules.json"
    )
