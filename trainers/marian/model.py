"""The translation model that `train marian` begins with, and its loss: smoothed cross-entropy of the real tokens."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import MarianConfig, MarianMTModel, MarianTokenizer
from transformers.models.marian.modeling_marian import shift_tokens_right

from trainers.objective import drop_aliases, restore_aliases

BLOCK = 256  # tokens a block: 256 x 8,000 logits are 8 MB in float32


def new_model(shape: Mapping[str, Any], tokenizer: MarianTokenizer) -> MarianMTModel:
    """Return an untrained MarianMT of the recipe's `shape`, with Xavier-uniform matrices.

    With transformers' default (normal, 0.02) a network of this size learns to ignore its source.
    """
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


class Translation(nn.Module):
    """The objective of `train marian`."""

    def __init__(self, model: MarianMTModel, label_smoothing: float = 0.1) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
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
        head, bias = self.model.lm_head.weight, self.model.final_logits_bias
        loss = OutputCrossEntropy.apply(states[real], head, bias, labels[real], self.label_smoothing)  # type: ignore[no-untyped-call]
        return {"loss": loss}


class OutputCrossEntropy(torch.autograd.Function):
    """`cross_entropy(states @ weight.T + bias, labels, label_smoothing=smoothing)`: a mean in nats.

    `states`: (tokens, d); `weight`: (vocabulary, d); `bias`: (1, vocabulary), which gets no gradient; `labels`:
    (tokens,). Matrix products run in the autocast type if autocast is on, everything else in float32.

    Forward computes the gradients as well, so backward only scales them: each block's logits become gradients and are
    dropped while they are in the cache. A plain `cross_entropy` writes and reads (tokens x vocabulary) float32 values
    about ten times: 40% of a step of the starter model on a CPU.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, labels: Tensor, smoothing: float) -> Tensor:  # noqa: ANN401 - autograd's own context type is private
        """Return the loss, and keep the gradients."""
        count, vocabulary, device = len(labels), len(weight), states.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        matrix, bias = weight.to(dtype), bias.float()
        total = states.new_zeros((), dtype=torch.float32)
        states_grad = torch.empty_like(states)
        weight_grad = torch.zeros_like(weight, dtype=torch.float32)
        for start in range(0, count, BLOCK):
            block = states[start : start + BLOCK].to(dtype)
            wanted = labels[start : start + BLOCK, None]
            logits = torch.mm(block, matrix.T).float().add_(bias)
            uniform = logits.mean(1) if smoothing else 0.0
            chosen = logits.gather(1, wanted).squeeze(1)
            normaliser = logits.logsumexp(1)
            total += (normaliser - (1 - smoothing) * chosen - smoothing * uniform).sum()
            grad = logits.sub_(normaliser[:, None]).exp_()
            if smoothing:
                grad.sub_(smoothing / vocabulary)
            grad.scatter_add_(1, wanted, grad.new_full(wanted.shape, smoothing - 1))
            grad = grad.mul_(1 / count).to(dtype)
            states_grad[start : start + BLOCK] = torch.mm(grad, matrix)
            weight_grad += torch.mm(grad.T, block)
        ctx.save_for_backward(states_grad, weight_grad.to(weight.dtype))
        return total / count

    @staticmethod
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor, Tensor, None, None, None]:  # noqa: ANN401
        """Return the gradients, scaled."""
        states_grad, weight_grad = ctx.saved_tensors
        return states_grad * scale, weight_grad * scale, None, None, None
