"""What makes two forward passes of one sentence differ: dropout at any rate, and drophead."""

import re
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from pipelines.console import InputError

OUTPUT_PROJECTION = re.compile(
    r"(^|\.)(attention\.(output\.dense|out_lin|dense|o_proj)|attn\.(Wo|o|o_proj)|self_attn\.o_proj)$"
)
"""The names of the layers that take the concatenated heads of an attention: in BERT and its relatives, ModernBERT,
MPNet, DistilBERT, ALBERT, and models named like Llama."""


def set_dropout(model: nn.Module, rate: float) -> None:
    """Set every dropout of a transformer to `rate`, that of the attention weights included.

    This covers dropout modules, rates that a module keeps as a number and passes to the attention function, and places
    that were built without dropout because the configured rate was 0. The configuration stays as it is.
    """
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            # ModernBERT builds an identity where its attention dropout is 0.
            if rate > 0 and type(child) is nn.Identity and "drop" in name:
                setattr(module, name, nn.Dropout(rate).train(module.training))
        for name, value in list(vars(module).items()):
            own = name == "p" and isinstance(module, _DropoutNd)
            if own or ("dropout" in name and type(value) in (int, float)):
                setattr(module, name, rate)


def set_drophead(model: nn.Module, rate: float) -> None:
    """Drop whole attention heads in training mode (Zhou et al. 2020), drawn for each sentence in each layer.

    A head is dropped with probability `rate`; one is always kept. The kept ones of H heads are multiplied by H / kept,
    which preserves the expected output. The saved weights are not affected. Raises InputError if the architecture's
    heads are not known.
    """
    if rate == 0:
        return
    named = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    projections = [module for name, module in named if OUTPUT_PROJECTION.search(name)]
    heads = getattr(getattr(model, "config", None), "num_attention_heads", 0)
    if not (projections and heads and projections[0].in_features % heads == 0):
        raise InputError(
            f"--drophead {rate:g}: the attention heads of {type(model).__name__} are not known here; "
            "use --drophead 0, or an encoder like BERT, RoBERTa, XLM-R, ModernBERT, MPNet or DistilBERT"
        )
    for projection in projections:
        projection.register_forward_pre_hook(partial(_drop_heads, heads, rate))


def _drop_heads(heads: int, rate: float, projection: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Zero some heads in what an output projection takes, (sentences, tokens, heads * width), and scale the others."""
    if not projection.training:
        return None
    joined: Tensor = inputs[0]
    weights = head_weights(len(joined), heads, rate, joined.device)
    apart = joined.view(*joined.shape[:-1], heads, -1) * weights[:, None, :, None].to(joined.dtype)
    return (apart.flatten(-2), *inputs[1:])


def head_weights(sentences: int, heads: int, rate: float, device: torch.device) -> Tensor:
    """Draw (sentences, heads): 0 for a dropped head, heads / kept for a kept one; a row's sum is always `heads`."""
    drawn = torch.rand(sentences, heads, device=device)
    # The head with the highest draw stays even where all were to be dropped.
    kept = (drawn >= rate) | (drawn == drawn.amax(dim=1, keepdim=True))
    return kept * (heads / kept.sum(dim=1, keepdim=True))
