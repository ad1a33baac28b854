"""The module lists of our encoders, from sentence-transformers' own modules: its plain loader can read what we save."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from pipelines.base.console import InputError

if TYPE_CHECKING:  # it takes seconds to import, and `--help` does without
    from sentence_transformers import SentenceTransformer

Encoder: TypeAlias = "SentenceTransformer"
"""A list of modules: the transformer first, then its pooling, then maybe layers that take sentence vectors."""
HEADS = ("Dense", "LayerNorm", "Dropout", "Normalize")  # modules after the pooling that can be trained
MASK = "[MASK]"  # how a mask is written in stored text, whatever the tokenizer's own token


def pooling_at(encoder: Encoder) -> int:
    """Return the place of the first pooling module, the number of modules if there is none."""
    places = (place for place, module in enumerate(encoder) if type(module).__name__ == "Pooling")
    return next(places, len(encoder))


def pooling_of(encoder: Encoder) -> str:
    """Return the name of an encoder's pooling, "none" if it has none; several are joined by a plus."""
    modes = [module.pooling_mode for module in encoder if type(module).__name__ == "Pooling"]
    name = "+".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes)
    kinds = [_kind(module) for module in list(encoder)[1 : pooling_at(encoder)]]
    return next((kind for kind in ("first-last", "padded-mean") if kind in kinds), name or "none")


def prompt_of(encoder: Encoder) -> str:
    """Return what an encoder puts before every text of which nothing else is known."""
    return encoder.prompts[encoder.default_prompt_name] if encoder.default_prompt_name else ""


def includes_prompt(encoder: Encoder) -> bool:
    """Whether the pooling takes the tokens of a prompt too."""
    return all(getattr(module, "include_prompt", True) for module in encoder)


def width_of(encoder: Encoder) -> int:
    """Return the length of an encoder's vectors before they are truncated."""
    with encoder.truncate_embeddings(None):
        return int(encoder.get_embedding_dimension() or 0)


def add_layer(encoder: Encoder, layer: nn.Module, name: str | None = None) -> None:
    """Put a layer behind an encoder.

    Vectors that had length 1 have it again, as indexes built on them rely on it.
    """
    from sentence_transformers.sentence_transformer.modules import Normalize

    is_unit = isinstance(encoder[-1], Normalize)
    encoder.add_module(name or str(len(encoder)), layer)
    if is_unit:
        encoder.append(Normalize())


def is_padded(encoder: Encoder) -> bool:
    """Whether padding affects the vectors: every text is padded to the encoder's `max_seq_length`."""
    return any(getattr(module, "module_output_name", None) == "attention_mask" for module in encoder)


def set_max_tokens(encoder: Encoder, max_tokens: int) -> None:
    """Cut texts at `max_tokens` when the encoder is used, and pad them to that length if padding counts."""
    encoder.max_seq_length = max_tokens
    if is_padded(encoder):
        encoder[0].processing_kwargs = {"text": {"padding": "max_length", "max_length": max_tokens}}


def parts_of(encoder: Encoder, name: str) -> dict[str, Any]:
    """Return an encoder's `cnn` (or None), `relu` and `head` for `assemble`.

    Raises InputError for unknown modules.
    """
    place = pooling_at(encoder)
    before, head = list(encoder)[1:place], list(encoder)[place + 1 :]
    kinds = [_kind(module) for module in before]
    unsupported = [module for module, kind in zip(before, kinds, strict=True) if kind is None]
    if type(encoder[0]).__name__ != "Transformer":
        unsupported = [encoder[0]]
    width = int(encoder[place].embedding_dimension) if place < len(encoder) else 0
    for module in head:
        on_tokens = getattr(module, "module_input_name", None) == "token_embeddings"
        if type(module).__name__ not in HEADS or on_tokens or getattr(module, "in_features", width) != width:
            unsupported.append(module)
        width = int(getattr(module, "out_features", width))
    if unsupported:
        problem = (
            f"{name} has a {type(unsupported[0]).__name__} (module {list(encoder).index(unsupported[0])})"
        )
        advice = "start from its transformer alone, without modules.json"
        if unsupported[0] is encoder[0]:
            advice = "it can be evaluated as it is; train an encoder that begins with a transformer"
        raise InputError(f"{problem} that cannot be trained here with this pooling: {advice}")
    cnn = before[kinds.index("cnn")] if "cnn" in kinds else None
    return {"cnn": cnn, "relu": "relu" in kinds, "head": head}


def assemble(
    encoder: Encoder,
    pooling: str,
    *,
    cnn: Any = None,  # noqa: ANN401 - a module of sentence-transformers
    relu: bool = False,
    head: Sequence[nn.Module] = (),
) -> Encoder:
    """An encoder's transformer and settings, not copied, with these parts; InputError if they do not fit.

    If padding counts, `set_max_tokens` says how long texts are padded.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    if cnn is not None and pooling not in ("mean", "cls"):
        raise InputError(
            f"--pooling {pooling} is for a bare transformer, the encoder has a CNN: use --pooling mean"
        )
    transformer: Any = encoder[0]
    transformer.model.config.output_hidden_states = pooling == "first-last"
    if is_padded(encoder):
        transformer.processing_kwargs = {}
    # What follows may need rows of one length; with flash attention they would be one row.
    transformer.unpad_inputs = False if cnn is not None or pooling in ("first-last", "padded-mean") else None
    width = (cnn or transformer).get_embedding_dimension()
    # Their first weights, which are replaced, must not change what is drawn next.
    with torch.random.fork_rng(devices=[]):
        adapters = _before_pooling(transformer.model.config, pooling, cnn, relu, width)
    if pooling == "cls" and cnn is None and is_causal(transformer):
        problem = f"a {type(transformer.model).__name__}'s first token sees none of the others"
        raise InputError(
            f"--pooling cls: {problem}, all texts that begin alike are one: give --pooling lasttoken"
        )
    mode: Any = "mean" if pooling in ("first-last", "padded-mean") else pooling
    modules = [transformer, *adapters, Pooling(width, mode, includes_prompt(encoder)), *head]
    prompts = {"prompts": encoder.prompts, "default_prompt_name": encoder.default_prompt_name}
    model = SentenceTransformer(modules=modules, device=str(encoder.device), **prompts)
    model.truncate_dim, model.similarity_fn_name = encoder.truncate_dim, encoder.similarity_fn_name
    return model


@torch.no_grad()
def is_causal(transformer: Any) -> bool:  # noqa: ANN401 - modules.Transformer, untyped
    """Whether the vector of a transformer's first token stays the same whatever follows."""
    ids = torch.tensor([[1, 2], [1, 3]], device=next(transformer.parameters()).device)
    first, second = transformer({"input_ids": ids, "attention_mask": torch.ones_like(ids)})[
        "token_embeddings"
    ][:, 0]
    return torch.allclose(first, second, rtol=1e-4, atol=1e-6)


def _before_pooling(config: Any, pooling: str, cnn: Any, relu: bool, width: int) -> list[nn.Module]:  # noqa: ANN401
    from sentence_transformers.sentence_transformer import modules

    if cnn is not None:
        # With all weights 1 this module only multiplies by the mask, so that padding is zero before the
        # convolutions. Only the number of words matters; a list of them would flood print(encoder).
        mask = modules.WordWeights(" " * config.vocab_size, {}, 1).requires_grad_(False)
        if not relu:
            return [mask, cnn]
        dense = modules.Dense(
            width, width, False, nn.ReLU(), torch.eye(width), module_input_name="token_embeddings"
        )
        # The saved directory needs the product with the identity; here it would only cost time.
        dense.forward = lambda features: {**features, "token_embeddings": features["token_embeddings"].relu()}
        return [mask, cnn, dense.requires_grad_(False)]
    if pooling == "first-last":
        layers = int(config.num_hidden_layers)
        weights = nn.Parameter(torch.tensor(_first_and_last(layers)))
        return [modules.WeightedLayerPooling(width, layers, 1, weights).requires_grad_(False)]
    if pooling == "padded-mean":
        # Pooling takes all positions if the mask does not fit the tokens: this makes one of a single position.
        names = {"module_input_name": "token_embeddings", "module_output_name": "attention_mask"}
        ones = modules.Dense(width, 1, True, nn.Identity(), torch.zeros(1, width), torch.ones(1), **names)
        return [ones.requires_grad_(False)]
    return []


def with_cnn(encoder: Encoder, widths: Sequence[int], filters: int, *, relu: bool) -> Encoder:
    """Put a fresh CNN between an encoder's transformer and its pooling; one of the same kind stays as it is.

    `c_i = f(w . h_(i-k/2 .. i+k/2) + b)` for every width k, concatenated; f is ReLU or nothing (Eq. 1 of Zhang
    et al. 2020). Raises InputError: the encoder has another CNN, or layers that the CNN's vectors do not fit.
    """
    from sentence_transformers.sentence_transformer.modules import CNN

    parts = parts_of(encoder, "the encoder")
    new_cnn = CNN(encoder[0].get_embedding_dimension(), filters, list(widths))
    cnn, head = parts["cnn"], parts["head"]
    if cnn is not None and (cnn.kernel_sizes, cnn.out_channels, parts["relu"]) == (
        list(widths),
        filters,
        relu,
    ):
        return encoder
    for module in (cnn, *head):
        if type(module).__name__ in ("CNN", "Dense", "LayerNorm"):
            kind = f"widths {widths}, {filters} filters each, {'with' if relu else 'no'} ReLU"
            raise InputError(
                f"the encoder has a {type(module).__name__}, not a CNN of {kind}: start from another one"
            )
    return assemble(encoder, pooling_of(encoder), cnn=new_cnn, relu=relu, head=head)


def _first_and_last(layers: int) -> list[float]:
    return [float(layer in (0, layers - 1)) for layer in range(layers)]


def _kind(module: Any) -> str | None:  # noqa: ANN401 - a module of sentence-transformers
    """Return what a module before the pooling does in our encoders, None if it is not one of ours."""
    from sentence_transformers.sentence_transformer import modules

    match module:
        case modules.CNN() if set(module.stride_sizes) == {1}:
            return "cnn"
        case modules.WordWeights() if not module.word_weights and module.unknown_word_weight == 1:
            return "mask"
        case modules.WeightedLayerPooling() if module.layer_start == 1:
            weights = module.layer_weights.tolist()
            return "first-last" if weights == _first_and_last(len(weights)) else None
        case modules.Dense(module_output_name="attention_mask"):
            return "padded-mean"
        case modules.Dense(module_input_name="token_embeddings", activation_function=nn.ReLU()):
            weight = module.linear.weight.detach().cpu()
            return (
                "relu" if module.linear.bias is None and torch.equal(weight, torch.eye(len(weight))) else None
            )
    return None


def set_dropout(model: nn.Module, rate: float) -> None:
    """Set every dropout of a transformer to `rate`, also that of the attention weights, but not the configuration."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            # ModernBERT builds an identity where its attention dropout is 0.
            if rate > 0 and type(child) is nn.Identity and "drop" in name:
                setattr(module, name, nn.Dropout(rate).train(module.training))
        for name, value in list(vars(module).items()):
            is_rate = name == "p" and isinstance(module, _DropoutNd)
            if is_rate or ("dropout" in name and type(value) in (int, float)):
                setattr(module, name, rate)
