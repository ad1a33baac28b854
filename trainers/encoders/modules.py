"""The module lists of our encoders, from sentence-transformers' own modules: its plain loader can read what we save.

Steps that it has no module for are built from others, with frozen weights.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules
from torch import Tensor, nn

from pipelines.console import InputError
from trainers.encoders.whitening import WHITENING

Pooling = Literal["mean", "cls", "first-last", "padded-mean"]
"""How token vectors become one: their mean, the first one, the mean over the first and the last layer, or the mean over
all positions that a text is padded to, padding included (as in Mirror-BERT's code)."""

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
HEADS = ("Dense", "LayerNorm", "Dropout", "Normalize")
"""Modules after the pooling that can be trained."""


def pooling_at(encoder: SentenceTransformer) -> int:
    """Return the place of the first pooling module, the number of modules where there is none."""
    places = (place for place, module in enumerate(encoder) if isinstance(module, modules.Pooling))
    return next(places, len(encoder))


def pooling_of(encoder: SentenceTransformer) -> str:
    """Return the name of an encoder's pooling, "none" where it has none; several are joined by a plus."""
    modes = [module.pooling_mode for module in encoder if isinstance(module, modules.Pooling)]
    name = "+".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes)
    kinds = [_kind(module) for module in list(encoder)[1 : pooling_at(encoder)]]
    return next((kind for kind in ("first-last", "padded-mean") if kind in kinds), name or "none")


def has_dense(encoder: SentenceTransformer) -> bool:
    """Whether a Dense layer follows the pooling, other than one that is added to whiten the vectors."""
    head = list(encoder.named_children())[pooling_at(encoder) :]
    return any(isinstance(module, modules.Dense) and name != WHITENING for name, module in head)


def is_padded(encoder: SentenceTransformer) -> bool:
    """Whether padding affects the vectors: every text is padded to the encoder's `max_seq_length`."""
    return any(getattr(module, "module_output_name", None) == "attention_mask" for module in encoder)


def set_max_tokens(encoder: SentenceTransformer, max_tokens: int) -> None:
    """Cut texts at `max_tokens` where the encoder is used, and pad them to as many where padding counts."""
    encoder.max_seq_length = max_tokens
    if is_padded(encoder):
        encoder[0].processing_kwargs = {"text": {"padding": "max_length", "max_length": max_tokens}}


def parts_of(encoder: SentenceTransformer, name: str) -> dict[str, Any]:
    """Return an encoder's `cnn` (None without one), its `relu` (whether one follows) and its `head` for `assemble`.

    Raises InputError where it has a module that cannot be trained here.
    """
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
    return {"cnn": cnn, "relu": "relu" in kinds, "head": head}


def cnn_name(cnn: Any, relu: bool) -> str:  # noqa: ANN401 - modules.CNN, untyped
    """Return a description of a CNN."""
    widths = ", ".join(map(str, cnn.kernel_sizes))
    return f"a CNN of widths {widths} with {cnn.out_channels} filters each, {'with' if relu else 'without'} ReLU"


def assemble(
    transformer: Any,  # noqa: ANN401 - modules.Transformer, untyped
    pooling: str, *, cnn: Any = None, relu: bool = False, head: Sequence[nn.Module] = (),  # noqa: ANN401
) -> SentenceTransformer:  # fmt: skip
    """Return the encoder of these parts, not copied; raises InputError where pooling and CNN do not go together."""
    if cnn is not None and pooling not in ("mean", "cls"):
        raise InputError(
            f"--pooling {pooling} is for a bare transformer, the encoder has {cnn_name(cnn, relu)}: use --pooling mean"
        )
    transformer.model.config.output_hidden_states = pooling == "first-last"
    padded = {"text": {"padding": "max_length", "max_length": transformer.max_seq_length}}
    transformer.processing_kwargs = padded if pooling == "padded-mean" else {}
    # What follows the transformer may need rows of one length, which flash attention would join into one.
    transformer.unpad_inputs = False if cnn is not None or pooling in ("first-last", "padded-mean") else None
    width = (cnn or transformer).get_embedding_dimension()
    # Their first weights, which are replaced, must not change what is drawn next.
    with torch.random.fork_rng(devices=[]):
        adapters = _before_pooling(transformer.model.config, pooling, cnn, relu, width)
    pool = modules.Pooling(width, "cls" if pooling == "cls" else "mean")
    device = str(next(transformer.parameters()).device)
    return SentenceTransformer(modules=[transformer, *adapters, pool, *head], device=device)


def _before_pooling(config: Any, pooling: str, cnn: Any, relu: bool, width: int) -> list[nn.Module]:  # noqa: ANN401
    if cnn is not None:
        # With all weights 1 this module only multiplies by the mask, so that padding is zero before the convolutions.
        # It uses only the number of words; a list of them would flood print(encoder).
        mask = modules.WordWeights(" " * config.vocab_size, {}, 1).requires_grad_(False)
        if not relu:
            return [mask, cnn]
        dense = modules.Dense(width, width, False, nn.ReLU(), torch.eye(width), module_input_name="token_embeddings")
        # The product with the identity is for the saved directory: here it would only cost time.
        dense.forward = lambda features: {**features, "token_embeddings": features["token_embeddings"].relu()}
        return [mask, cnn, dense.requires_grad_(False)]
    if pooling == "first-last":
        layers = int(config.num_hidden_layers)
        weighted = modules.WeightedLayerPooling(width, layers, 1, nn.Parameter(_first_and_last(layers)))
        return [weighted.requires_grad_(False)]
    if pooling == "padded-mean":
        # Pooling takes all positions where the mask does not fit the tokens: this makes one of a single position.
        one = {"module_input_name": "token_embeddings", "module_output_name": "attention_mask"}
        ones = modules.Dense(width, 1, True, nn.Identity(), torch.zeros(1, width), torch.ones(1), **one)
        return [ones.requires_grad_(False)]
    return []


def with_cnn(encoder: SentenceTransformer, widths: Sequence[int], filters: int, *, relu: bool) -> SentenceTransformer:
    """Put a fresh CNN between an encoder's transformer and its pooling; one of the same kind stays as it is.

    `c_i = f(w . h_(i-k/2 .. i+k/2) + b)` for every width k, concatenated; f is ReLU or nothing (Eq. 1 of Zhang et al.
    2020). Positions outside a sentence count as zeros: a token's vector depends only on its own sentence. Raises
    InputError: the encoder has another one, or layers after its pooling that a CNN's vectors do not fit.
    """
    parts = parts_of(encoder, "the encoder")
    fresh = modules.CNN(encoder[0].get_embedding_dimension(), filters, list(widths))
    names = [] if parts["cnn"] is None else [cnn_name(parts["cnn"], parts["relu"])]
    if names == [cnn_name(fresh, relu)]:
        return encoder
    kinds = [type(module).__name__ for module in parts["head"]]
    names += [f"a {kind} layer" for kind in kinds if kind in ("Dense", "LayerNorm")]
    if names:
        raise InputError(f"the encoder has {names[0]}, but {cnn_name(fresh, relu)} is needed: start from another one")
    return assemble(encoder[0], pooling_of(encoder), cnn=fresh, relu=relu, head=parts["head"])


def _first_and_last(layers: int) -> Tensor:
    """Return the weights (layers,) with which the weighted mean of all layers is that of the first and the last."""
    weights = torch.zeros(layers)
    weights[[0, -1]] = 1
    return weights


def _kind(module: Any) -> str | None:  # noqa: ANN401 - a module of sentence-transformers
    """Return what a module before the pooling does in our encoders, None where it is not one of ours."""
    match module:
        case modules.CNN() if set(module.stride_sizes) == {1}:
            return "cnn"
        case modules.WordWeights() if not module.word_weights and module.unknown_word_weight == 1:
            return "mask"
        case modules.WeightedLayerPooling() if module.layer_start == 1:
            weights = module.layer_weights.detach().cpu()
            return "first-last" if torch.equal(weights, _first_and_last(len(weights))) else None
        case modules.Dense(module_output_name="attention_mask"):
            return "padded-mean"
        case modules.Dense(module_input_name="token_embeddings", activation_function=nn.ReLU()):
            weight = module.linear.weight.detach().cpu()
            return "relu" if module.linear.bias is None and torch.equal(weight, torch.eye(len(weight))) else None
    return None
