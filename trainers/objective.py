"""An objective: the encoder, what helps to train it, and the loss, in one module that Trainer can train."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint

from pipelines.terminal.console import InputError
from trainers.data.examples import Examples, number_texts
from trainers.encoders import batches
from trainers.encoders.loading import load_for_training, save_encoder
from trainers.encoders.location import Source
from trainers.encoders.modules import WHITENING, Encoder, is_padded, sharpen, whiten
from trainers.settings import Training, side_limits

Row = Mapping[str, Any]
MAX_WHITENING_ROWS = 10_000
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
SIDES = ("left", "right", "negative", "alone")  # columns of ids to embed, in their order in a batch


class Objective(nn.Module):
    """Owns the encoder, which cuts training texts at `max_tokens`, and its helpers (predictor, target, head).

    A subclass defines `forward(**batch)`, which returns `loss`, a scalar; parts that are logged as means; and `vectors`
    (m, d), detached: the sentence vectors of the batch of all processes, whose geometry is logged. If `paired`, rows i
    and m / 2 + i are two views of one sentence. `batch` is what `collate` returns. A checkpoint is this module's
    `state_dict`; tensors that it shares inside itself are written once.
    """

    paired = True
    cacheable = True
    """Whether `forward` uses the encoder only through `embed`, so that a batch can be embedded in parts."""
    keyed = False
    """Whether a batch has `keys` (n, 3): a row's source, left and right string as numbers, equal for equal ones."""
    whitenable = True
    """Whether a linear layer behind the encoder is trained with it."""
    unused = False
    """Whether a step may leave parameters without a gradient; several processes then look for these in every step."""
    literal_mask = False
    """Whether a `[MASK]` in a text stays as written, instead of becoming the tokenizer's mask token."""
    batch_size = 1
    """Rows in a batch of the training, over all processes."""

    def __init__(self, encoder: Encoder, max_tokens: int, params: Any = None) -> None:  # noqa: ANN401
        super().__init__()
        self.encoder, self.max_tokens, self.params = encoder, max_tokens, params
        self.cached: int | None = None
        """Texts to embed at a time; None for the whole batch."""
        self.rates: Mapping[str, float] = {}
        """Factors on the learning rate by the prefix of the parameters' names; 1 for all others."""
        self.teachers: list[Callable[[Sequence[str], Path], NDArray[np.float32]]] = []
        """Each returns its unit vectors of distinct texts, and keeps them in a folder."""
        self.texts: list[str] = []
        """The texts that the teachers encode, set by `columns`."""
        self.taught: list[NDArray[np.float32]] = []
        """Each teacher's vectors of the texts, mapped from the disk."""
        self.register_state_dict_post_hook(drop_aliases)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_pre_hook(restore_aliases)  # type: ignore[no-untyped-call]

    @classmethod
    def build(cls, options: Any, training: Training, source: Source) -> Self:  # noqa: ANN401 - its own PARAMS
        """Load the encoder, with the `dropout` of the options if they have one, and add fresh helpers.

        Args:
            options: The objective's own `PARAMS`.
            training: Optimiser, batches and lengths.
            source: Where the encoder is.

        Raises:
            InputError: The encoder cannot be loaded, or an option does not fit it.
        """
        dropout, layer = getattr(options, "dropout", None), training.begins_linear and cls.whitenable
        encoder = load_for_training(source, training.pooling, training.max_tokens, dropout=dropout, layer=layer)
        objective = cls(encoder, training.max_tokens, options)
        objective.batch_size = training.batch_size
        return objective

    @property
    def dimension(self) -> int:
        """Length of a sentence's vector."""
        return int(self.encoder.get_embedding_dimension())

    def columns(self, examples: Examples) -> dict[str, Any]:
        """Tokenise ahead of time: return columns of what `collate` needs of each row.

        Args:
            examples: n rows of texts: the sentence, both views, and a label or a hard negative if there are any.

        Returns:
            n values a column: here the ids of both views, and the `keys` (n, 3) if the objective is `keyed`. An
            objective with teachers adds `taught`, the numbers of each row's `texts`.
        """
        left = self.tokenize(examples.left, side=0)
        is_shared = examples.right is examples.left and len(side_limits(self.max_tokens)) == 1
        right = left if is_shared else self.tokenize(examples.right)
        columns: dict[str, Any] = {"left": left, "right": right}
        if self.keyed:
            columns["keys"] = number_texts([examples.texts, examples.left, examples.right])[1]
        return columns

    def collate(self, rows: Sequence[Row]) -> dict[str, Tensor]:
        """Turn rows into the arguments of `forward`.

        Args:
            rows: n rows: the columns, and the row's `seed` in this epoch.

        Returns:
            `input_ids` and `attention_mask` (2n, tokens), rows i and n + i being the two views of a sentence, and each
            further column by its name, (n, ...). `taught` (n, k) becomes each teacher's vectors, `taught_1` (n, k, d).
        """
        batch = self.pad([row[side] for side in SIDES if side in rows[0] for row in rows])
        arrays = {name: np.stack([row[name] for row in rows]) for name in rows[0].keys() - {*SIDES, "seed"}}
        if "taught" in arrays:
            numbers = arrays.pop("taught")
            arrays |= {f"taught_{number}": vectors[numbers] for number, vectors in enumerate(self.taught, 1)}
        return {**batch, **{name: torch.from_numpy(values) for name, values in arrays.items()}}

    def tokenize(self, texts: Sequence[str], side: int = -1) -> Sequence[list[int]]:
        """Return the ids of each text, cut as left ones (side 0) or right ones (-1; see `batches.tokenize`)."""
        return batches.tokenize(self.encoder, texts, side_limits(self.max_tokens)[side], self.literal_mask)

    def pad(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        """Return `input_ids` and `attention_mask` (rows, longest row) of ragged ids."""
        ids = pad_sequence([torch.tensor(row) for row in rows], True, self.encoder.tokenizer.pad_token_id)
        lengths = torch.tensor([len(row) for row in rows])
        return {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < lengths[:, None]).long()}

    def embed(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode a batch, with gradients.

        With `cached`, in parts whose activations are dropped and recomputed in the backward pass, with the same dropout
        (GradCache, arXiv:2101.06983): the gradients are those of the whole batch, the memory that of a part.

        Args:
            input_ids: (sentences, tokens), padded.
            attention_mask: (sentences, tokens), 0 at the padding.

        Returns:
            The encoder's vectors (sentences, d), not normalised.
        """
        if self.cached is None or self.cached >= len(input_ids):
            return batches.embed(self.encoder, input_ids, attention_mask, self.max_tokens)
        parts = zip(torch.split(input_ids, self.cached), torch.split(attention_mask, self.cached), strict=True)
        embed = partial(checkpoint, batches.embed, self.encoder, max_tokens=self.max_tokens, use_reentrant=False)
        return torch.cat([embed(*part) for part in parts])

    @torch.no_grad()
    def encode(
        self, texts: Sequence[str] | Sequence[list[int]], batch_size: int = 64, before: str | None = None
    ) -> Tensor:
        """Return the vectors (texts, d) of texts or their ids in evaluation mode, cut as in training, on the CPU."""
        mode, device = self.encoder.training, next(self.encoder.parameters()).device
        width = int(self.encoder.max_seq_length) if is_padded(self.encoder) else self.max_tokens
        self.encoder.eval()
        vectors = []
        for start in range(0, len(texts), batch_size):
            part: Any = texts[start : start + batch_size]
            ids = list(batches.tokenize(self.encoder, part, width)) if isinstance(part[0], str) else part
            batch = {name: value.to(device) for name, value in self.pad(ids).items()}
            vectors.append(batches.embed(self.encoder, **batch, max_tokens=width, before=before).cpu())
        self.encoder.train(mode)
        return torch.cat(vectors)

    def before_training(self, folder: Path) -> None:
        """Compute the teachers' vectors, or find them in `folder`; raises InputError if it holds another teacher's."""
        self.taught = [vectors_of(self.texts, folder / f"teacher-{n}") for n, vectors_of in enumerate(self.teachers, 1)]
        self.teachers, self.texts = [], []

    def before_first_step(self, rows: Sequence[Row], training: Training) -> None:
        """Prepare what is trained besides the encoder, once in a run: here, fit the linear layer, if any."""
        if training.begins_linear:
            numbers = torch.randperm(len(rows))[:MAX_WHITENING_ROWS].tolist()
            ids = sorted((rows[number]["left"] for number in numbers), key=len)  # by length: little padding
            with autocast(next(self.encoder.parameters()).device, training.precision):
                vectors = self.encode(ids, batch_size=256, before=WHITENING)
            layer = self.encoder.get_submodule(WHITENING)
            whiten(layer, vectors) if training.whiten else sharpen(layer, vectors, int(training.sharpen or 0))

    def after_step(self, step: int, total: int) -> None:
        """Act on parameters and buffers after step `step` (from 1) of `total`; by default, do nothing."""

    def save(self, path: Path, card: str) -> None:
        """Write the trained encoder as a sentence-transformers directory with `card` as its README."""
        save_encoder(self.encoder, path, card)


def _aliases(module: nn.Module) -> dict[str, str]:
    """Return the other names of shared tensors, each with the first one."""
    names: dict[int, str] = {}
    tensors = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    first_names = {name: names.setdefault(id(tensor), name) for name, tensor in tensors}
    return {name: first for name, first in first_names.items() if name != first}


def drop_aliases(module: nn.Module, state: dict[str, Any], prefix: str, _metadata: dict[str, Any]) -> None:
    """State-dict hook: write tensors that are shared inside `module` once, as safetensors requires."""
    for alias in _aliases(module):
        state.pop(prefix + alias, None)


def restore_aliases(module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
    """Load hook: give shared tensors their other names back."""
    for alias, name in _aliases(module).items():
        if prefix + name in state:
            state.setdefault(prefix + alias, state[prefix + name])


def float32(device: torch.device) -> torch.autocast:
    """Return a context without autocast, for the parts that need full precision."""
    return torch.autocast(device.type, enabled=False)


def resolve_precision(precision: str) -> str:
    """Return the format to autocast to; "auto" is bf16 where the processor multiplies in it, fp32 elsewhere.

    Raises InputError for fp16 without a GPU, and for bf16 on a GPU that does not support it.
    """
    if torch.cuda.is_available():
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
        if precision == "bf16" and not has_bf16:
            raise InputError("this GPU does not support --precision bf16: use fp16 or fp32")
    else:
        has_bf16 = any(torch.cpu.get_capabilities().get(name) for name in ("amx_bf16", "avx512_bf16"))
        if precision == "fp16":
            raise InputError("--precision fp16 needs a GPU: use bf16 or fp32")
    return ("bf16" if has_bf16 else "fp32") if precision == "auto" else precision


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Return the context in which an encoder runs on `device`."""
    dtype = DTYPES.get(resolve_precision(precision))
    return torch.autocast(device.type, dtype=dtype, enabled=dtype is not None)


def enable_checkpointing(model: Any) -> None:  # noqa: ANN401 - transformers' model
    """Recompute activations in the backward pass; raises InputError if the architecture does not support it."""
    # The older name is deprecated.
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    try:
        enable({"use_reentrant": False})
    except (ValueError, NotImplementedError):
        raise InputError(f"{type(model).__name__} does not support --gradient-checkpointing: leave it out") from None
