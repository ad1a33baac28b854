"""What Mirror-BERT trains: an encoder that sees a string and its own corrupted copy."""

import math
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import regex
import torch
from torch import Tensor, nn

from pipelines.base.console import InputError
from trainers.data.examples import Columns, Examples, number_texts
from trainers.encoders.loading import PADDED, position_limit
from trainers.encoders.modules import MASK, is_padded, set_max_tokens
from trainers.losses import contrast, equal_strings, multi_similarity
from trainers.objective import Objective
from trainers.processes import gather, gather_pairs

OUTPUT_PROJECTION = regex.compile(
    r"(^|\.)(attention\.(output\.dense|out_lin|dense|o_proj)|attn\.(Wo|o|o_proj)|self_attn\.o_proj)$"
)
"""Names of layers that take the concatenated heads of an attention: BERT's kin, ModernBERT, MPNet, ALBERT,
Llama."""
COMPAT_SHORTEST = 30  # the authors' code masks nothing in shorter strings (characters)


class Mirror(Objective):
    """One encoder; a string's copies differ by a masked span in one of them and by dropout (arXiv:2104.08027)."""

    def add_helpers(self) -> None:
        """Let the encoder drop heads; raises InputError for options that do not go together."""
        params = self.params
        if params.controlled and params.span:
            raise InputError(
                "--controlled: a copy with a masked span cannot have the same dropout masks: add --span 0"
            )
        if params.span and not params.compat and self.encoder.tokenizer.mask_token is None:
            raise InputError(f"--span {params.span}: the encoder's tokenizer has no mask token: give --span 0")
        if params.compat and is_padded(self.encoder):
            set_max_tokens(self.encoder, min(PADDED, position_limit(self.encoder)))
        set_drophead(self.encoder[0].model, params.drophead)

    def mask_token(self) -> str | None:
        """Leave a `[MASK]` as it is written, as the authors' code does, if asked."""
        return MASK if self.params.compat else super().mask_token()

    def columns(self, examples: Examples) -> Columns:
        """The ids of both sides and the `keys`; of right sides to mask in each epoch, the texts instead."""
        left, right = super().columns(examples).sides
        keys = number_texts([examples.texts, examples.left, examples.right])[1]
        if self.params.span and (keys[:, 1] == keys[:, 2]).any():
            right = examples.right
        return Columns((left, right), {"keys": keys})

    def collate(self, batch: Columns) -> dict[str, Tensor]:
        """Return one batch (2n, tokens), left sides first, and the `keys`; draw this epoch's masks."""
        left, right = batch.sides
        if isinstance(right[0], str):
            mask = mask_span_compat if self.params.compat else mask_span
            is_same = batch.values["keys"][:, 1] == batch.values["keys"][:, 2]
            rows = zip(right, batch.seeds, is_same, strict=True)
            texts = [mask(text, self.params.span, Random(seed)) if same else text for text, seed, same in rows]
            batch = replace(batch, sides=(left, self.tokenize(texts, column="view_b")))
        return super().collate(batch)

    def chance_loss(self) -> float | None:
        """Return InfoNCE's logarithm of how many strings an anchor is compared with."""
        return math.log(2 * self.settings.batch_size - 1) if self.params.loss == "infonce" else None

    def forward(self, input_ids: Tensor, attention_mask: Tensor, keys: Tensor) -> dict[str, Tensor]:
        """Return the mean loss of all processes' anchors, in nats for InfoNCE, and their vectors."""
        if self.params.controlled:  # one side after the other, from the same random state
            left, right = zip(input_ids.chunk(2), attention_mask.chunk(2), strict=True)
            with torch.random.fork_rng(devices=[input_ids.device] if input_ids.is_cuda else []):
                vectors = self.embed(*left)
            vectors = torch.cat([vectors, self.embed(*right)])
        else:
            vectors = self.embed(input_ids, attention_mask)
        vectors = gather_pairs(vectors)
        excluded = None if self.params.compat else equal_strings(gather(keys))
        if self.params.loss == "ms":
            loss = multi_similarity(vectors, excluded)
        else:
            loss = contrast(vectors, self.params.temperature, excluded)
        return {"loss": loss, "vectors": vectors.detach()}


def mask_span(text: str, characters: int, random: Random) -> str:
    """Replace one random run of `characters` graphemes by `[MASK]`.

    A text no longer than that stays as it is.
    """
    starts = [*(match.start() for match in regex.finditer(r"\X", text)), len(text)]
    last = len(starts) - 1 - characters
    if last <= 0:
        return text
    start = random.randrange(last + 1)
    return text[: starts[start]] + MASK + text[starts[start + characters] :]


def mask_span_compat(text: str, characters: int, random: Random) -> str:
    """Mask as the authors' code does: the first occurrence of the drawn substring, never the last character."""
    if len(text) < max(COMPAT_SHORTEST, characters + 1):
        return text
    start = random.randrange(len(text) - characters)
    return text.replace(text[start : start + characters], f" {MASK} ", 1)


def set_drophead(model: nn.Module, rate: float) -> None:
    """Drop attention heads, never all, in training (Zhou et al. 2020).

    Raises InputError if they are not known.
    """
    if rate == 0:
        return
    linears = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    projections = [module for name, module in linears if OUTPUT_PROJECTION.search(name)]
    heads = getattr(getattr(model, "config", None), "num_attention_heads", 0)
    if not (projections and heads and projections[0].in_features % heads == 0):
        raise InputError(
            f"--drophead {rate:g}: the heads of {type(model).__name__} are not known here; "
            "use --drophead 0, or an encoder like BERT, RoBERTa, XLM-R, ModernBERT, MPNet or DistilBERT"
        )
    for projection in projections:
        projection.register_forward_pre_hook(partial(_drop_heads, heads, rate))


def _drop_heads(
    heads: int, rate: float, projection: nn.Module, inputs: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """Zero some heads in what an output projection takes, (sentences, tokens, heads * width), and scale the others."""
    if not projection.training:
        return None
    joined: Tensor = inputs[0]
    weights = head_weights(len(joined), heads, rate, joined.device)
    apart = joined.view(*joined.shape[:-1], heads, -1) * weights[:, None, :, None].to(joined.dtype)
    return (apart.flatten(-2), *inputs[1:])


def head_weights(sentences: int, heads: int, rate: float, device: torch.device) -> Tensor:
    """Draw (sentences, heads): 0 for a dropped head, heads / kept for a kept one.

    A row's sum is always `heads`.
    """
    draws = torch.rand(sentences, heads, device=device)
    # The head with the highest draw stays even where all were to be dropped.
    masks = (draws >= rate) | (draws == draws.amax(dim=1, keepdim=True))
    return masks * (heads / masks.sum(dim=1, keepdim=True))
