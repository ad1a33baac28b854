"""The module lists of our encoders, from sentence-transformers' own modules: its plain loader can read what we save.

Where it has no module for a step, others stand in for it. They are frozen: their weights say what to do.
"""

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

    @property
    def cnn_name(self) -> str:
        """The CNN in words."""
        widths = ", ".join(map(str, self.cnn.kernel_sizes))
        relu = "with" if self.relu else "without"
        return f"a CNN of widths {widths} with {self.cnn.out_channels} filters each, {relu} ReLU"


def pooling_at(encoder: SentenceTransformer) -> int:
    """Return the place of the first pooling module, the number of modules where there is none."""
    places = (place for place, module in enumerate(encoder) if isinstance(module, modules.Pooling))
    return next(places, len(encoder))


def pooling_of(encoder: SentenceTransformer) -> str:
    """Return the name of an encoder's pooling, "none" where it has none; several are joined by a plus."""
    modes = [module.pooling_mode for module in encoder if isinstance(module, modules.Pooling)]
    name = "+".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes)
    kinds = [_kind(module) for module in list(encoder)[1 : pooling_at(encoder)]]
    for kind in ("first-last", "padded-mean"):
        if name and kind in kinds:
            return kind if name == "mean" else f"{kind} and {name}"
    return name or "none"


def has_dense(encoder: SentenceTransformer) -> bool:
    """Whether a Dense layer follows the pooling."""
    return any(isinstance(module, modules.Dense) for module in list(encoder)[pooling_at(encoder) :])


def is_padded(encoder: SentenceTransformer) -> bool:
    """Whether padding has a part in the vectors: every text is padded to the encoder's `max_seq_length`."""
    return any(getattr(module, "module_output_name", None) == "attention_mask" for module in encoder)


def set_max_tokens(encoder: SentenceTransformer, max_tokens: int) -> None:
    """Cut texts at `max_tokens` where the encoder is used, and pad them to as many where padding counts."""
    encoder.max_seq_length = max_tokens
    if is_padded(encoder):
        encoder[0].processing_kwargs = {"text": {"padding": "max_length", "max_length": max_tokens}}


def parts_of(encoder: SentenceTransformer, name: str) -> Parts:
    """Take an encoder apart; raises InputError where it has a module that cannot be trained here."""
    place = pooling_at(encoder)
    before, head = list(encoder)[1:place], list(encoder)[place + 1 :]
    kinds = [_kind(module) for module in before]
    refused = [module for module, kind in zip(before, kinds, strict=True) if kind is None]
    if not isinstance(encoder[0], modules.Transformer):
        refused = [encoder[0]]
    width = int(encoder[place].embedding_dimension) if place < len(encoder) else 0
    for module in head:
        on_tokens = getattr(module, "module_input_name", None) == "token_embeddings"
        if type(module).__name__ not in HEADS or on_tokens or getattr(module, "in_features", width) != width:
            refused.append(module)
        width = int(getattr(module, "out_features", width))
    if refused:
        raise InputError(
            f"{name} has a {type(refused[0]).__name__} (module {list(encoder).index(refused[0])}) that cannot be "
            "trained here with this pooling: start from its transformer alone, its files without modules.json"
        )
    cnn = before[kinds.index("cnn")] if "cnn" in kinds else None
    return Parts(encoder[0], pooling_of(encoder), cnn, "relu" in kinds, tuple(head))


def assemble(parts: Parts) -> SentenceTransformer:
    """Return the encoder of these parts, not copied; raises InputError where pooling and CNN do not go together."""
    transformer, pooling = parts.transformer, parts.pooling
    if parts.cnn is not None and pooling not in ("mean", "cls"):
        raise InputError(
            f"--pooling {pooling} is for a bare transformer, the encoder has {parts.cnn_name}: use --pooling mean"
        )
    transformer.model.config.output_hidden_states = pooling == "first-last"
    padded = {"text": {"padding": "max_length", "max_length": transformer.max_seq_length}}
    transformer.processing_kwargs = padded if pooling == "padded-mean" else {}
    # What follows the transformer may need rows of one length, where flash attention would string them together.
    transformer.unpad_inputs = False if parts.cnn is not None or pooling in ("first-last", "padded-mean") else None
    width = (parts.cnn or transformer).get_embedding_dimension()
    # Their first weights, which are replaced, must not change what is drawn next.
    with torch.random.fork_rng(devices=[]):
        adapters = _before_pooling(parts, width)
    pool = modules.Pooling(width, "cls" if pooling == "cls" else "mean")
    device = str(next(transformer.parameters()).device)
    return SentenceTransformer(modules=[transformer, *adapters, pool, *parts.head], device=device)


def _before_pooling(parts: Parts, width: int) -> list[nn.Module]:
    if parts.cnn is not None:
        # With all weights 1 this module only multiplies by the mask, so that padding is zero before the convolutions.
        # It looks at the number of words alone; a list of them would flood print(encoder).
        mask = modules.WordWeights(" " * parts.transformer.model.config.vocab_size, {}, 1)
        identity = torch.eye(width)
        relu = modules.Dense(width, width, False, nn.ReLU(), identity, module_input_name="token_embeddings")
        # The product with the identity is for the saved directory: here it would only cost time.
        relu.forward = _relu
        return [mask.requires_grad_(False), parts.cnn, *([relu.requires_grad_(False)] if parts.relu else [])]
    if parts.pooling == "first-last":
        layers = int(parts.transformer.model.config.num_hidden_layers)
        weighted = modules.WeightedLayerPooling(width, layers, 1, nn.Parameter(_first_and_last(layers)))
        return [weighted.requires_grad_(False)]
    if parts.pooling == "padded-mean":
        # Pooling takes all positions where the mask does not fit the tokens: this puts one of one position there.
        one = {"module_input_name": "token_embeddings", "module_output_name": "attention_mask"}
        dense = modules.Dense(width, 1, True, nn.Identity(), torch.zeros(1, width), torch.ones(1), **one)
        return [dense.requires_grad_(False)]
    return []


def with_cnn(encoder: SentenceTransformer, widths: Sequence[int], filters: int, *, relu: bool) -> SentenceTransformer:
    """Put a fresh CNN between an encoder's transformer and its pooling; one of the same kind stays as it is.

    `c_i = f(w . h_(i-k/2 .. i+k/2) + b)` for every width k, concatenated; f is ReLU or nothing (Eq. 1 of Zhang et al.
    2020). Positions outside a sentence count as zeros: a token's vector depends on its own sentence alone. Raises
    InputError: the encoder has another one, or layers after its pooling that a CNN's vectors do not fit.
    """
    parts = parts_of(encoder, "the encoder")
    width = parts.transformer.get_embedding_dimension()
    fresh = replace(parts, cnn=modules.CNN(width, filters, list(widths)), relu=relu)
    if parts.cnn is not None and parts.cnn_name == fresh.cnn_name:
        return encoder
    kinds = [type(module).__name__ for module in parts.head]
    in_the_way = [parts.cnn_name] if parts.cnn is not None else []
    in_the_way += [f"a {kind} layer" for kind in kinds if kind in ("Dense", "LayerNorm")]
    if in_the_way:
        raise InputError(f"the encoder has {in_the_way[0]}, and {fresh.cnn_name} is asked for: start from another one")
    return assemble(fresh)


def _relu(features: dict[str, Any]) -> dict[str, Any]:
    return {**features, "token_embeddings": features["token_embeddings"].relu()}


def _first_and_last(layers: int) -> Tensor:
    """Return the weights (layers,) under which the weighted mean of all layers is that of the first and the last."""
    weights = torch.zeros(layers)
    weights[[0, -1]] = 1
    return weights


def _kind(module: Any) -> str | None:  # noqa: ANN401 - a module of sentence-transformers
    """Return what a module before the pooling stands for, None where that is nothing of ours."""
    kind, ours = None, False
    if isinstance(module, modules.CNN):
        kind, ours = "cnn", set(module.stride_sizes) == {1}
    elif isinstance(module, modules.WordWeights):
        kind, ours = "mask", not module.word_weights and module.unknown_word_weight == 1
    elif isinstance(module, modules.WeightedLayerPooling):
        weights = module.layer_weights.detach().cpu()
        kind, ours = "first-last", module.layer_start == 1 and torch.equal(weights, _first_and_last(len(weights)))
    elif isinstance(module, modules.Dense) and module.module_output_name == "attention_mask":
        kind, ours = "padded-mean", True
    elif isinstance(module, modules.Dense) and module.module_input_name == "token_embeddings":
        weight = module.linear.weight.detach().cpu()
        identity = module.linear.bias is None and torch.equal(weight, torch.eye(len(weight)))
        kind, ours = "relu", identity and isinstance(module.activation_function, nn.ReLU)
    return kind if ours else None
