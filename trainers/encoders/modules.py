"""The modules of sentence-transformers that together do what an encoder does.

They are its own modules alone, so that a saved directory loads without Twinviews and without trusting code: where it
has no module for a step, others are put together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from trainers.encoders.encoder import Encoder
from trainers.encoders.layout import first_and_last


def modules_of(encoder: Encoder, folder: Path) -> list[Any]:
    """Return the modules, the transformer first.

    Args:
        encoder: Its weights are shared or copied, never changed.
        folder: Where its transformer and tokenizer were saved.
    """
    from sentence_transformers.sentence_transformer.modules import Pooling

    pooling = Pooling(encoder.token_dimension, "cls" if encoder.pooling == "cls" else "mean")
    return [_transformer(encoder, folder), *_before_pooling(encoder), pooling, *encoder.after]


def _before_pooling(encoder: Encoder) -> list[Any]:
    from sentence_transformers.sentence_transformer.modules import CNN, Dense, WeightedLayerPooling, WordWeights

    size = encoder.token_dimension
    if encoder.cnn is not None:
        # Weights of one: all that is left of them is the mask, which zeroes the padding before the convolutions. The
        # words have no part in it, so that a string of blanks will do for them; a list would flood print(model).
        mask = WordWeights(" " * encoder.model.config.vocab_size, {}, 1)
        cnn = CNN(encoder.model.config.hidden_size, encoder.cnn.filters, list(encoder.cnn.widths))
        cnn.load_state_dict(encoder.cnn.state_dict())
        relu = Dense(size, size, False, nn.ReLU(), torch.eye(size), module_input_name="token_embeddings")
        return [mask, cnn, *([relu] if encoder.cnn.relu else [])]
    if encoder.pooling == "first-last":
        layers = encoder.model.config.num_hidden_layers
        return [WeightedLayerPooling(size, layers, 1, nn.Parameter(first_and_last(layers)))]
    if encoder.pooling == "padded-mean":
        # Pooling takes all positions where the mask does not fit the tokens: this puts one of one position there.
        one = {"module_input_name": "token_embeddings", "module_output_name": "attention_mask"}
        return [Dense(size, 1, True, nn.Identity(), torch.zeros(1, size), torch.ones(1), **one)]
    return []


def _transformer(encoder: Encoder, folder: Path) -> Any:  # noqa: ANN401 - a module of sentence-transformers
    from sentence_transformers.sentence_transformer.modules import Transformer

    limit = encoder.limit if encoder.limit < 1 << 30 else None
    if encoder.pooling == "padded-mean":
        width = encoder.evaluated_tokens
        padded = {"text": {"padding": "max_length", "max_length": width}}
        return Transformer(str(folder), max_seq_length=width, processing_kwargs=padded, unpad_inputs=False)
    # What follows the transformer may need rows of one length, where flash attention would string them together.
    strung = None if encoder.cnn is None and encoder.pooling != "first-last" else False
    return Transformer(str(folder), max_seq_length=limit, unpad_inputs=strung)


@contextmanager
def all_layers(encoder: Encoder) -> Iterator[None]:
    """Have the saved configuration give every layer's vectors, where the pooling wants the first one's."""
    config = encoder.model.config
    before = config.output_hidden_states
    config.output_hidden_states = before or encoder.pooling == "first-last"
    try:
        yield
    finally:
        config.output_hidden_states = before
