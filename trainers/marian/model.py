"""The translation model that `train marian` begins with, and its loss: smoothed cross-entropy of the real tokens."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel, MarianTokenizer, TrainerCallback, TrainerControl, TrainerState
from transformers.models.marian.modeling_marian import shift_tokens_right

from trainers.objective import drop_aliases, restore_aliases
from trainers.training.directory import checkpoints, record_hashes, step_of


def new_model(shape: Mapping[str, Any], tokenizer: MarianTokenizer) -> MarianMTModel:
    """Return an untrained MarianMT of the recipe's `shape`, with Xavier-uniform matrices."""
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=shape["d_model"],
        **{f"{side}_ffn_dim": shape["ffn"] for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": shape["heads"] for side in ("encoder", "decoder")},
        **{key: shape[key] for key in ("encoder_layers", "decoder_layers", "dropout")},
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
        embeddings.normal_(std=shape["d_model"] ** -0.5)
        embeddings[tokenizer.pad_token_id].zero_()
    return model


class KeepBeforeDecay(TrainerCallback):  # type: ignore[misc] # transformers is untyped here
    """Keep the two newest checkpoints and that of `step`, after which the rate falls: more epochs continue from it."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, _: object, state: TrainerState, control: TrainerControl, **__: object) -> None:
        """Ask for a checkpoint at the step."""
        control.should_save |= state.global_step == self.step

    def on_save(self, arguments: Any, *_: object, **__: object) -> None:  # noqa: ANN401 - untyped here
        """Record the hashes of the newest, and remove what is older than the two newest."""
        newest, *others = checkpoints(Path(arguments.output_dir))
        record_hashes(newest)
        for path in others[1:]:
            if step_of(path) != self.step:
                shutil.rmtree(path)


class Translation(nn.Module):
    """The objective of `train marian`."""

    def __init__(self, model: MarianMTModel, label_smoothing: float = 0.1) -> None:
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing
        self.register_state_dict_post_hook(drop_aliases)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_pre_hook(restore_aliases)  # type: ignore[no-untyped-call]

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Return the mean cross-entropy in nats per target token.

        `input_ids`, `attention_mask`: (sentences, source tokens); `labels`: (sentences, target tokens), -100 at
        padding, where no logits are computed.
        """
        config = self.model.config
        shifted = shift_tokens_right(labels, config.pad_token_id, config.decoder_start_token_id)
        states = self.model.model(
            input_ids=input_ids, attention_mask=attention_mask, decoder_input_ids=shifted, use_cache=False
        ).last_hidden_state
        real = labels != -100
        logits = self.model.lm_head(states[real]) + self.model.final_logits_bias
        return {"loss": functional.cross_entropy(logits, labels[real], label_smoothing=self.label_smoothing)}
