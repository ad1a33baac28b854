"""What makes two forward passes of one sentence differ: dropout at any rate, drophead, or the same masks twice."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from pipelines.console import InputError
from trainers.encoders.batches import GROUP, by_length

OUTPUT_PROJECTION = re.compile(
    r"(^|\.)(attention\.(output\.dense|out_lin|dense|o_proj)|attn\.(Wo|o|o_proj)|self_attn\.o_proj)$"
)
"""The names of the layers that take the concatenated heads of an attention: of BERT and its kin, ModernBERT, MPNet,
DistilBERT, ALBERT, and others in the manner of Llama."""


def set_dropout(model: nn.Module, rate: float) -> None:
    """Set every dropout of a transformer to `rate`, that of the attention weights included.

    Reached are dropout modules, rates that a module keeps as a number and hands to the attention function, and
    places that were built without dropout because the configured rate was 0. The configuration stays as it is.
    """
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            # ModernBERT builds an identity where its attention dropout is 0.
            if rate > 0 and type(child) is nn.Identity and "drop" in name:
                setattr(module, name, nn.Dropout(rate).train(module.training))
        if isinstance(module, _DropoutNd):
            module.p = rate
            continue
        for name, value in list(vars(module).items()):
            if "dropout" in name and isinstance(value, int | float) and not isinstance(value, bool):
                setattr(module, name, rate)


def set_drophead(model: nn.Module, rate: float) -> None:
    """Drop whole attention heads in training mode (Zhou et al. 2020), anew for each sentence in each layer.

    A head is dropped with probability `rate`; those of H heads that are kept are multiplied by H / kept, so that the
    expected output is the full one. One head is always kept. The weights and their files know nothing of it. Raises
    InputError where the architecture's heads are not known.
    """
    if rate == 0:
        return
    projections = [
        module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and OUTPUT_PROJECTION.search(name)
    ]
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
    # The luckiest head stays even where all were to go: which one that is, chance decides alike for all heads.
    kept = (drawn >= rate) | (drawn == drawn.amax(dim=1, keepdim=True))
    return kept * (heads / kept.sum(dim=1, keepdim=True))


def same_masks(embed: Callable[[Tensor, Tensor], Tensor], input_ids: Tensor, attention_mask: Tensor) -> Tensor:
    """Encode both halves of a batch under the same dropout (controlled dropout of Liu et al. 2021, Table 8).

    Row i and row n + i see the same masks, position by position, those of drophead too: the two halves are encoded
    one after the other, cut to one width, from one state of the random numbers. The arguments (2n, tokens) are those of
    `embed`, which gives the vectors; so are the vectors (2n, d) that are returned.
    """
    sides = list(zip(input_ids.chunk(2), attention_mask.chunk(2), strict=True))
    device = input_ids.device
    first, second, order = [], [], []
    # The encoder would group each half by its own lengths, and so tear twins apart: fewer rows it leaves together.
    for rows, width in by_length(torch.maximum(sides[0][1], sides[1][1])):
        for part in torch.split(rows, 2 * GROUP - 1 if device.type == "cpu" else len(rows)):
            halves = [(ids[part, :width], mask[part, :width]) for ids, mask in sides]
            with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
                first.append(embed(*halves[0]))
            second.append(embed(*halves[1]))
            order.append(part)
    back = torch.cat(order).argsort()
    return torch.cat([torch.cat(first)[back], torch.cat(second)[back]])
