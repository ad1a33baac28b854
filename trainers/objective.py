"""An objective: the encoder, what helps to train it, and the loss, in one module that Trainer can train."""

from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint

from augment.models.device import has_fast_bf16
from pipelines.base.console import InputError
from trainers.data.examples import Columns, Examples, Rows, token_ids
from trainers.encoders.linear import LINEAR, add_linear, fit_linear
from trainers.encoders.loading import load_for_training, save_encoder
from trainers.encoders.location import Source
from trainers.encoders.modules import (
    MASK,
    Encoder,
    includes_prompt,
    is_padded,
    pooling_at,
    prompt_of,
    set_dropout,
)
from trainers.settings import Training

MAX_WHITENING_ROWS = 10_000
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
COLUMNS = ("view_a", "view_b", "negative")  # what may have a prompt of its own
GROUP = 8  # fewest sentences worth a forward pass of their own
MOST_GROUPS = 8  # most such passes in a batch
EVEN = 4  # tokens by which the lengths of a batch differ at most that is not worth splitting

Group = tuple[Tensor, dict[str, Any]]
"""The row numbers (n,) of some sentences of a batch, and their features before the pooling: `token_embeddings`
(n, tokens, d), float32, and `attention_mask` (n, tokens)."""


class Objective(nn.Module):
    """Owns the encoder, which cuts training texts at `max_tokens`, and its helpers (predictor, target, head).

    A subclass defines `add_helpers`, if it has any, and `forward(**batch)` of what `collate` returns, for
    `loss`, a scalar, parts that are logged as means, and `vectors` (m, d), detached: the sentence vectors of
    the batch of all processes, rows i and m / 2 + i two views of one sentence if `paired`. A checkpoint is
    this module's `state_dict`.
    """

    paired = True
    cacheable = True
    """Whether `forward` uses the encoder only through `embed`, so that a batch can be embedded in parts."""
    whitenable = True
    """Whether a linear layer behind the encoder is trained with it."""
    alike = 0.99
    """The cosine of different texts above which nothing tells them apart."""
    encoder: Encoder
    # Trainer asks for it, as the second names of shared tensors are in no checkpoint.
    _keys_to_ignore_on_save = None

    def __init__(self, params: Any, settings: Training, source: Source) -> None:  # noqa: ANN401 - its own PARAMS
        """Load the encoder from `source` and add the helpers; raises InputError if they do not fit."""
        super().__init__()
        self.params, self.settings, self.source = params, settings, source
        self.max_tokens = settings.max_tokens
        self.load_encoder()
        self.prompts = self._chosen_prompts()
        self.add_helpers()
        self.register_state_dict_post_hook(drop_aliases)  # type: ignore[no-untyped-call]

    def load_encoder(self) -> None:
        """Set `encoder`, with the `dropout` of the options and the linear layer that the settings ask for."""
        self.encoder = load_for_training(self.source, self.settings.pooling, self.max_tokens)
        if (dropout := getattr(self.params, "dropout", None)) is not None:
            set_dropout(self.encoder[0].model, dropout)
        if self.settings.begins_linear and self.whitenable:
            add_linear(self.encoder)

    def _chosen_prompts(self) -> dict[str, str]:
        """Return what precedes the texts of a column, instead of the default prompt, by column."""
        known = self.encoder.prompts
        chosen = dict(entry.partition("=")[::2] for entry in self.settings.prompts)
        for column, name in chosen.items():
            if column not in COLUMNS or name not in known:
                raise InputError(
                    f"--prompts {column}={name}: columns are {', '.join(COLUMNS)}, "
                    f"the encoder's prompts {', '.join(known) or 'none'}"
                )
        if chosen and not includes_prompt(self.encoder):
            raise InputError(
                "--prompts: the encoder's pooling leaves out its prompt, of which it can have one here"
            )
        return {column: known[name] for column, name in chosen.items()}

    def add_helpers(self) -> None:
        """Add what helps to train the encoder, and what belongs to it.

        Raises InputError if that does not fit.
        """

    @property
    def dimension(self) -> int:
        """Length of a sentence's vector."""
        return int(self.encoder.get_embedding_dimension())

    def columns(self, examples: Examples) -> Columns:
        """Tokenise ahead: return what `collate` needs of n rows; here the ids of both views."""
        left = self.tokenize(examples.left, column="view_a")
        is_alone = examples.right is examples.left and not self.prompts
        right = left if is_alone else self.tokenize(examples.right, column="view_b")
        return Columns((left, right))

    def collate(self, batch: Columns) -> dict[str, Tensor]:
        """Turn n rows into the arguments of `forward`.

        `input_ids` and `attention_mask` (sides * n, tokens), all first sides first, and the rows' `values` (n,
        ...) by their names.
        """
        values = {name: torch.from_numpy(column) for name, column in batch.values.items()}
        return {**self.pad([*chain.from_iterable(batch.sides)]), **values}

    def mask_token(self) -> str | None:
        """Return what a `[MASK]` in a text becomes, the tokenizer's own; None if it has none."""
        return self.encoder.tokenizer.mask_token  # type: ignore[no-any-return]

    def tokenize(
        self, texts: Sequence[str], limit: int | None = None, column: str = ""
    ) -> Sequence[list[int]]:
        """Return each text's ids, after its column's or the default prompt, cut at `limit`, with the own mask token."""
        prompt = self.prompts.get(column, prompt_of(self.encoder))
        mask = self.mask_token()

        def read(text: str) -> str:
            if mask is None and MASK in text:
                raise InputError(
                    f"the encoder's tokenizer has no mask token for {text[:60]!r}: use views without masks"
                )
            return prompt + text.replace(MASK, mask or MASK)

        length = limit or self.max_tokens
        return token_ids(self.encoder.tokenizer, map(read, texts), truncation=True, max_length=length)

    def pad(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """Return `input_ids` and `attention_mask` (rows, longest row) of ragged ids."""
        ids = pad_sequence([torch.tensor(row) for row in rows], True, self.encoder.tokenizer.pad_token_id)
        lengths = torch.tensor([len(row) for row in rows])
        return {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long()}

    def embed(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The vectors (sentences, d), not normalised, of padded ids (sentences, tokens), with gradients.

        With `--cached`, in parts whose activations are dropped and recomputed in the backward pass, with the
        same dropout (GradCache, arXiv:2101.06983): the gradients are those of the whole batch, the memory that
        of a part.
        """
        size = self.settings.cached
        if size is None or size >= len(input_ids):
            return embed(self.encoder, input_ids, attention_mask, self.max_tokens)
        parts = zip(torch.split(input_ids, size), torch.split(attention_mask, size), strict=True)
        embed_part = partial(checkpoint, embed, self.encoder, max_tokens=self.max_tokens, use_reentrant=False)
        return torch.cat([embed_part(*part) for part in parts])

    @torch.no_grad()
    def encode(
        self, texts: Sequence[str] | Sequence[list[int]], batch_size: int = 64, before: str | None = None
    ) -> Tensor:
        """The vectors (texts, d) of texts or their ids in evaluation mode, cut as in training, on the CPU."""
        mode, device = self.encoder.training, self.encoder.device
        width = int(self.encoder.max_seq_length) if is_padded(self.encoder) else self.max_tokens
        self.encoder.eval()
        vectors = []
        for start in range(0, len(texts), batch_size):
            part: Any = texts[start : start + batch_size]
            ids = list(self.tokenize(part, limit=width)) if isinstance(part[0], str) else part
            batch = {name: value.to(device) for name, value in self.pad(ids).items()}
            vectors.append(embed(self.encoder, **batch, max_tokens=width, before=before).cpu())
        self.encoder.train(mode)
        return torch.cat(vectors)

    def before_training(self, folder: Path) -> None:
        """Compute what a run needs besides its rows, or find it in `folder`; by default, do nothing."""

    def before_first_step(self, rows: Rows) -> None:
        """Prepare what is trained besides the encoder, once in a run: here, fit the linear layer, if any."""
        if not self.settings.begins_linear:
            return
        ids: Sequence[list[int]]
        numbers = torch.randperm(len(rows.corpus or rows))[:MAX_WHITENING_ROWS].tolist()
        if rows.corpus:
            ids = self.tokenize([rows.corpus[number] for number in numbers])
        else:
            ids = [rows.columns.sides[0][number] for number in numbers]
        with autocast(self.encoder.device, self.settings.precision):
            vectors = self.encode(sorted(ids, key=len), batch_size=256, before=LINEAR)  # little padding
        fit_linear(self.encoder.get_submodule(LINEAR), vectors, self.settings.sharpen or None)

    def takes_prompts(self) -> bool:
        """Whether columns of pairs may have prompts of their own."""
        return True

    def rate_of(self, parameter: str) -> float:
        """Return the factor on the learning rate of a parameter of this name."""
        return 1.0

    def after_step(self, step: int, total: int) -> None:
        """Act on parameters and buffers after step `step` (from 1) of `total`; by default, do nothing."""

    def chance_loss(self) -> float | None:
        """Return the loss of an encoder to which all texts are the same; None if that depends on the texts."""
        return None

    def is_collapsed(self, texts: Sequence[str]) -> bool:
        """Whether different texts all have nearly one direction."""
        unit = nn.functional.normalize(self.encode(texts), dim=-1)
        return bool((unit @ unit.T).min() > self.alike)

    def save(self, path: Path, card: str) -> None:
        """Write the trained encoder as a sentence-transformers directory with `card` as its README."""
        save_encoder(self.encoder, path, card)


def embed(
    encoder: Encoder, input_ids: Tensor, attention_mask: Tensor, max_tokens: int, before: str | None = None
) -> Tensor:
    """The sentence vectors (sentences, d), float32, of ids and mask (sentences, tokens), padded on the right.

    Padding affects only `padded-mean`. `before` names a layer whose input is returned instead of the last
    output.
    """
    features = {
        "sentence_embedding": pool(encoder, group_tokens(encoder, input_ids, attention_mask, max_tokens))
    }
    for name, module in list(encoder.named_children())[pooling_at(encoder) + 1 :]:
        if name == before:
            break
        features = module(features)
    return features["sentence_embedding"].float()[:, : None if before else encoder.truncate_dim]


def group_tokens(encoder: Encoder, input_ids: Tensor, attention_mask: Tensor, max_tokens: int) -> list[Group]:
    """The token vectors that are pooled, in groups of similar length; the arguments are those of `embed`."""
    parts = by_length(attention_mask)
    if is_padded(encoder):
        missing = (0, max_tokens - input_ids.shape[1])
        input_ids = nn.functional.pad(input_ids, missing, value=encoder.tokenizer.pad_token_id)
        attention_mask = nn.functional.pad(attention_mask, missing)
        parts = [(torch.arange(len(input_ids), device=input_ids.device), max_tokens)]
    token_groups = []
    prompt_length = skipped(encoder)
    for rows, width in parts:
        features: dict[str, Any] = {
            "input_ids": input_ids[rows, :width],
            "attention_mask": attention_mask[rows, :width],
        }
        if prompt_length:
            features["prompt_length"] = prompt_length
        for module in list(encoder)[: pooling_at(encoder)]:
            features = module(features)
            # Sums and means are float32 whatever is autocast.
            features["token_embeddings"] = features["token_embeddings"].float()
        token_groups.append((rows, features))
    return token_groups


def skipped(encoder: Encoder) -> int:
    """Return how many tokens, those of its default prompt and before it, an encoder's pooling leaves out."""
    prompt = prompt_of(encoder)
    if not prompt or includes_prompt(encoder):
        return 0
    return int(encoder.preprocess([prompt], prompt=prompt).get("prompt_length") or 0)


def pool(encoder: Encoder, token_groups: Sequence[Group]) -> Tensor:
    """Return the sentences' pooled vectors (sentences, d), in the order of the batch."""
    pooling = encoder[pooling_at(encoder)]
    order = torch.cat([rows for rows, _ in token_groups])
    return torch.cat([pooling(dict(features))["sentence_embedding"] for _, features in token_groups])[
        order.argsort()
    ]


def by_length(attention_mask: Tensor) -> list[tuple[Tensor, int]]:
    """Split a batch into groups of similar length: their row numbers and the width that holds them."""
    count, width = attention_mask.shape
    # On a GPU, splitting would have to wait for the lengths.
    if attention_mask.device.type != "cpu" or count < 2 * GROUP:
        return [(torch.arange(count, device=attention_mask.device), width)]
    lengths = attention_mask.sum(dim=1)
    if lengths.max() - lengths.min() <= EVEN:
        return [(torch.arange(count), width)]
    parts = lengths.argsort(stable=True).chunk(min(count // GROUP, MOST_GROUPS))
    return [(rows, int(lengths[rows[-1]])) for rows in parts]


def drop_aliases(module: nn.Module, state: dict[str, Any], prefix: str, _metadata: dict[str, Any]) -> None:
    """State-dict hook: write tensors that are shared inside `module` once, as safetensors requires."""
    first_names: dict[int, str] = {}
    tensors = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    for name, tensor in tensors:
        if first_names.setdefault(id(tensor), name) != name:
            state.pop(prefix + name, None)


def float32(device: torch.device) -> torch.autocast:
    """Return a context without autocast, for the parts that need full precision."""
    return torch.autocast(device.type, enabled=False)


def resolve_precision(precision: str) -> str:
    """Return the format to autocast to, "auto" being bf16 where that is fast.

    Raises InputError if it cannot be had.
    """
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    if precision == "auto":
        return "bf16" if has_fast_bf16(kind) else "fp32"
    if kind == "cuda" and precision == "bf16" and not has_fast_bf16(kind):
        raise InputError("this GPU does not support --precision bf16: use fp16 or fp32")
    if kind == "cpu" and precision == "fp16":
        raise InputError("--precision fp16 needs a GPU: use bf16 or fp32")
    return precision


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Return the context in which an encoder runs on `device`."""
    dtype = DTYPES.get(precision)
    return torch.autocast(device.type, dtype=dtype, enabled=dtype is not None)
