"""MarianMT as an objective: label-smoothed cross-entropy over the real target tokens only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from trainers.marian.cross_entropy import output_cross_entropy
from trainers.objective import drop_aliases, restore_aliases

if TYPE_CHECKING:
    from transformers import MarianMTModel, MarianTokenizer


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a translation model; the defaults are the bundled models'."""

    d_model: int = 256
    ffn: int = 768
    heads: int = 4
    encoder_layers: int = 4
    decoder_layers: int = 2
    dropout: float = 0.0


def new_model(shape: Shape, tokenizer: MarianTokenizer) -> MarianMTModel:
    """Return an untrained MarianMT with Xavier-uniform matrices.

    With transformers' default (normal, 0.02) a network of this size learns to write fluent captions that ignore
    their source.
    """
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=shape.d_model,
        encoder_ffn_dim=shape.ffn,
        decoder_ffn_dim=shape.ffn,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        dropout=shape.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
        attn_implementation="eager",
    )
    model = MarianMTModel(config)
    embeddings = model.get_input_embeddings().weight
    for name, parameter in model.named_parameters():
        if parameter is not embeddings and parameter.dim() == 2 and "embed_positions" not in name:
            nn.init.xavier_uniform_(parameter)
    with torch.no_grad():
        embeddings.normal_(std=shape.d_model**-0.5)
        embeddings[tokenizer.pad_token_id].zero_()
    return model


class Translation(nn.Module):
    """The objective of `train marian`: holds the model, returns its loss."""

    def __init__(self, model: MarianMTModel, label_smoothing: float = 0.1) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.register_state_dict_post_hook(drop_aliases)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_pre_hook(restore_aliases)  # type: ignore[no-untyped-call]

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Return the mean cross-entropy in nats per target token.

        Args:
            input_ids: (sentences, source tokens).
            attention_mask: The same shape; 0 at padding.
            labels: (sentences, target tokens); -100 at padding, where no logits are computed.
        """
        config = self.model.config
        shifted = labels.new_full(labels.shape, config.pad_token_id)
        shifted[:, 1:] = labels[:, :-1].masked_fill(labels[:, :-1] == -100, config.pad_token_id)
        states = self.model.model(
            input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=shifted, use_cache=False
        ).last_hidden_state
        real = labels != -100
        loss = output_cross_entropy(
            states[real],
            self.model.lm_head.weight,
            self.model.final_logits_bias,
            labels[real],
            smoothing=self.label_smoothing,
        )
        return {"loss": loss}
