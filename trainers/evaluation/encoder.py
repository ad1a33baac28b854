"""Sentence vectors of any sentence-transformers or plain transformers model, in batches of like length."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pipelines.console import InputError, note
from trainers.encoders.loading import UNREADABLE
from trainers.encoders.location import pickled
from trainers.encoders.modules import pooling_of
from trainers.evaluation.hub import first_line
from trainers.evaluation.identity import fingerprint, revision_of, weights_of
from trainers.evaluation.location import check_directory, check_vocabulary, locate, usable
from trainers.evaluation.pooling import PADDED, POOLINGS, PaddedMean, cut, repooled
from trainers.evaluation.pooling import PoolingMode as PoolingMode
from trainers.evaluation.vectors import Advance, check, still

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer

Precision = Literal["fp32", "bf16"]
BATCH_SIZE = 256
BATCH_TOKENS = 16_384
CPU_BATCH_TOKENS = 2048
"""Fewer on a processor, where a batch that stays in its caches is faster."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """A loaded model, and what a reader of its scores must know about it.

    Texts are packed into batches of at most `batch_size` texts and `batch_tokens` tokens, padding included.
    """

    model: SentenceTransformer
    name: str
    pooling: str
    precision: Precision
    directory: Path | None
    weights: dict[str, str]
    batch_size: int = BATCH_SIZE
    batch_tokens: int = BATCH_TOKENS

    @property
    def title(self) -> str:
        """The model, how its vectors are made, and the number format."""
        modules = [kind for kind in self.modules if kind not in ("Transformer", "Pooling", "FirstLast", "PaddedMean")]
        return (
            f"{self.name}, pooling {self.pooling}{', with ' + ', '.join(modules) if modules else ''}, {self.precision}"
        )

    @property
    def device(self) -> str:
        """Where the model runs."""
        return str(self.model.device)

    @property
    def modules(self) -> list[str]:
        """Kinds of the model's modules, in the order in which every text goes through all of them."""
        return [type(module).__name__ for module in self.model]

    def card(self) -> dict[str, Any]:
        """Return the model's name, parts and weights as JSON values."""
        return {
            "name": self.name,
            "kind": "transformer",
            "pooling": self.pooling,
            "modules": self.modules,
            "dimension": self.model.get_embedding_dimension(),
            "max_tokens": self._width or self.model.max_seq_length,
            "weights": self.weights,
            "fingerprint": self.fingerprint(),
        }

    def encode(self, texts: Sequence[str], advance: Advance = still) -> NDArray[np.float32]:
        """Return the texts' vectors (texts, d), float32, not normalised; `advance` hears of every batch.

        Raises:
            TwinviewsError: The model gives vectors that are not finite.
        """
        import torch

        device = self.model.device
        vectors: NDArray[np.float32] | None = None
        # Autocast off still is a context of its own: a model's own dtype then decides.
        mixed = torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16")
        self.model.eval()
        with torch.inference_mode(), mixed:
            for rows in pack(self._lengths(texts), self.batch_size, self.batch_tokens):
                batch = [texts[row] for row in rows]
                features = {
                    key: value.to(device) if torch.is_tensor(value) else value
                    for key, value in self._features(batch).items()
                }
                output = self.model(features)["sentence_embedding"].float().cpu().numpy()
                check(output, batch, self.name)
                output = output[:, : self.model.truncate_dim]
                if vectors is None:
                    vectors = np.empty((len(texts), output.shape[1]), np.float32)
                vectors[rows] = output
                advance(len(rows))
        return np.zeros((0, self.model.get_embedding_dimension() or 1), np.float32) if vectors is None else vectors

    def fingerprint(self) -> str | None:
        """Return a hash of all that decides the vectors; None for a model whose weights are not known.

        Batches are none of it: they change the last bits alone.
        """
        own = {
            "modules": [repr(module) for module in self.model],
            "pooling": self.pooling,
            "precision": self.precision,
            "max_tokens": self.model.max_seq_length,
            "prompt": self._prompt,
            "truncate": self.model.truncate_dim,
            "device": self.device.partition(":")[0],
        }
        return fingerprint(self.directory, self.weights, own)

    @property
    def _prompt(self) -> str | None:
        return self.model.prompts[self.model.default_prompt_name] if self.model.default_prompt_name else None

    def _features(self, batch: list[str]) -> dict[str, Any]:
        prompt = self._prompt
        if self._width is None:
            features: dict[str, Any] = self.model.preprocess(batch, prompt=prompt)
        else:
            sizes = {"padding": "max_length", "max_length": self._width, "truncation": True}
            features = self.model.preprocess(batch, prompt=prompt, processing_kwargs={"text": sizes})
        return features

    @property
    def _width(self) -> int | None:
        """Tokens that every text is padded to; None where padding has no part in the vectors."""
        return self.model.max_seq_length or PADDED if self.pooling == PaddedMean.pooling_mode else None

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        if self._width is not None:
            return [self._width] * len(texts)
        tokenizer = self.model.tokenizer
        if not callable(tokenizer):  # static word vectors: nothing is padded
            return [1 + len(text.split()) for text in texts]
        if not texts:
            return []
        limit = self.model.max_seq_length
        with _quiet():
            ids = tokenizer(list(texts), add_special_tokens=True, return_attention_mask=False)["input_ids"]
        return [min(len(row), limit) if limit else len(row) for row in ids]


def pack(lengths: Sequence[int], batch_size: int, batch_tokens: int) -> Iterator[list[int]]:
    """Yield batches of row numbers, longest texts first, of at most `batch_size` rows and `batch_tokens` padded tokens.

    A text longer than `batch_tokens` makes a batch of its own.
    """
    batch: list[int] = []
    width = 0
    # Longest first: a batch too large for the memory shows at once, not after an hour.
    for row in sorted(range(len(lengths)), key=lambda position: -lengths[position]):
        if batch and (len(batch) == batch_size or width * (len(batch) + 1) > batch_tokens):
            yield batch
            batch = []
        width = width if batch else lengths[row]
        batch.append(row)
    if batch:
        yield batch


def load_encoder(
    name: str, *, pooling: PoolingMode | None = None, precision: Precision = "fp32", device: str = "auto",
    batch_size: int = BATCH_SIZE, batch_tokens: int | None = None, max_tokens: int | None = None,
) -> Encoder:  # fmt: skip
    """Load a sentence-transformers directory or Hub name, or a plain transformers one (mean pooling by default).

    Weights come from safetensors, or from the pytorch_model.bin of a directory that has nothing else, and are held in
    float32; no code that came with a model is run, not even a pickle's. Every module of a sentence-transformers model
    is run (pooling, dense layers, convolutions, normalisation). Padding enters no mean but `padded-mean`. `starter`
    names the bundled encoder unless a folder of that name is here.

    Args:
        name: Directory, Hub name or `starter`.
        pooling: Pool like this instead of what the model says; whatever stood after the pooling is left out.
        precision: `bf16` runs the forward passes under bfloat16 autocast.
        device: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`.
        batch_size: Most texts in a batch.
        batch_tokens: Most tokens in a batch, padding included; by the device if not given.
        max_tokens: Cut texts at so many tokens, special ones included; as the model says if not given, but at `PADDED`
            where `padded-mean` is asked for.

    Raises:
        InputError: No such model or device, or it cannot be loaded.
    """
    chosen = usable(device)
    directory, path = locate(name)
    if directory is not None:
        check_directory(directory)
        if pooling is None and not (directory / "modules.json").exists():
            note(f"{name} is a plain transformers model: its vectors are masked means (--pooling {'|'.join(POOLINGS)})")
    from sentence_transformers import SentenceTransformer

    try:
        with _quiet():
            model = SentenceTransformer(
                path,
                device=chosen,
                trust_remote_code=False,
                local_files_only=directory is not None,
                model_kwargs={"use_safetensors": directory is None or not pickled(directory), "weights_only": True},
            )
    except (*UNREADABLE, ImportError) as error:
        raise InputError(
            f"cannot load the model {name!r} ({first_line(error)}): give a directory or a Hub name with safetensors"
        ) from error
    check_vocabulary(model.tokenizer, name)
    if pooling is not None:
        model = repooled(model, pooling)
    if max_tokens is not None or pooling == "padded-mean":
        cut(model, max_tokens)
    model.float()
    weights = revision_of(model) if directory is None else weights_of(directory)
    pooled = _pooling_name(model) if pooling is not None else pooling_of(model)
    tokens = batch_tokens or (CPU_BATCH_TOKENS if model.device.type == "cpu" else BATCH_TOKENS)
    return Encoder(model, name, pooled, precision, directory, weights, batch_size, tokens)


def _pooling_name(model: SentenceTransformer) -> str:
    modes = [module.pooling_mode for module in model if hasattr(module, "pooling_mode")]
    return "+".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes) or "none"


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what the libraries say of unused heads, default pooling and long texts: all of it is expected here."""
    from transformers.utils import logging as transformers_logging

    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    log = logging.getLogger("sentence_transformers")
    before = log.level
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
        log.setLevel(before)
