"""Vectors of any sentence-transformers or transformers model: what decides them, and those of a training's teacher."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import get_device_name

from augment.errors import one_line
from augment.models.device import quiet_transformers
from augment.models.encoder import load_encoder
from pipelines.base.console import InputError, note, progress
from pipelines.base.files import atomic_write
from trainers.encoders.loading import PADDED, position_limit, repooled
from trainers.encoders.location import Source, locate
from trainers.encoders.modules import MASK, is_padded, pooling_of, set_max_tokens
from trainers.encoders.vectors import BATCH_SIZE, CHUNK, Advance, Matrix, Similarity, check, still, unit
from trainers.processes import is_first, of_first, process_rank, processes
from trainers.settings import POOLINGS, Pooling

Precision = Literal["fp32", "bf16"]
BATCH_TOKENS = 16_384  # most tokens in a batch, padding included
CPU_BATCH_TOKENS = 2048  # fewer on a CPU, where a batch that fits in its caches is faster

_POOLING = ("Transformer", "Pooling", "WeightedLayerPooling")


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A loaded model, and where it was loaded from, None in a training."""

    model: SentenceTransformer
    source: Source | None = None
    precision: Precision = "fp32"

    @property
    def name(self) -> str:
        """The model as the user named it."""
        return self.source.name if self.source else "the encoder"

    @property
    def revision(self) -> str | None:
        """What identifies the weights: a Hub commit or a hash of the files."""
        return self.source.revision if self.source else None

    @property
    def directory(self) -> Path | None:
        """The folder of a model of one's own."""
        return None if self.source is None or self.source.is_of_hub else self.source.folder

    @property
    def title(self) -> str:
        """The model, how its vectors are made, and the number format."""
        modules = [
            module for module in self.model if getattr(module, "module_output_name", None) != "attention_mask"
        ]
        others = [type(module).__name__ for module in modules if type(module).__name__ not in _POOLING]
        parts = [
            f"pooling {pooling_of(self.model)}",
            *[f"with {', '.join(others)}"] * bool(others),
            self.prompts,
        ]
        parts += [f"searched by {self.similarity}"] * (self.similarity != "cosine") + [self.precision]
        return ", ".join([self.name, *filter(None, parts)])

    @property
    def prompts(self) -> str:
        """What precedes texts, those of searches by their side, and whether these take a route of their own."""
        # As `encode_query` and `encode_document` look them up.
        document = next(
            (name for name in ("document", "passage", "corpus") if name in self.model.prompts), None
        )
        names = {"": self.model.default_prompt_name, "query ": "query", "document ": document}
        parts = [
            f"{side}prompt {text!r}" for side, name in names.items() if (text := self.model.prompts.get(name))
        ]
        routed = any(type(module).__name__ == "Router" for module in self.model)
        return ", ".join([*parts, *["queries and documents routed"] * routed])

    @property
    def similarity(self) -> Similarity:
        """What the model is searched by: the similarity that it declares, of which Manhattan's is not offered."""
        declared = str(self.model.similarity_fn_name)
        return declared if declared in ("dot", "euclidean") else "cosine"  # type: ignore[return-value]

    @property
    def device(self) -> str:
        """Where the model runs."""
        return str(self.model.device)

    def card(self) -> dict[str, Any]:
        """Return the model's name, parts and weights as JSON values."""
        return {
            "name": self.name,
            "kind": "transformer",
            "pooling": pooling_of(self.model),
            "prompts": self.prompts,
            "similarity": self.similarity,
            "modules": [type(module).__name__ for module in self.model],
            "max_tokens": self._width or self.model.max_seq_length,
            "precision": self.precision,
            "revision": self.revision,
        }

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return the texts' vectors (texts, d), float32, not normalised.

        Raises TwinviewsError for NaN or infinity.
        """
        vectors: Matrix | None = None
        # In fp32 too: without autocast a caller's own autocast would apply.
        autocast = torch.autocast(
            self.model.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"
        )
        ways = {
            "": self.model.encode,
            "query": self.model.encode_query,
            "document": self.model.encode_document,
        }
        lengths = self._lengths(texts)
        batch_tokens = CPU_BATCH_TOKENS if self.model.device.type == "cpu" else BATCH_TOKENS
        with autocast:
            for side, encode in ways.items():
                side_rows = [row for row, text in enumerate(texts) if getattr(text, "side", "") == side]
                for batch in pack([lengths[row] for row in side_rows], BATCH_SIZE, batch_tokens):
                    rows = [side_rows[number] for number in batch]
                    part = [str(texts[row]) for row in rows]
                    output = encode(part, batch_size=len(part), show_progress_bar=False)
                    check(output, part, self.name)
                    if vectors is None:
                        vectors = np.empty((len(texts), output.shape[1]), np.float32)
                    vectors[rows] = output
                    advance(len(rows))
        if vectors is None:
            return np.zeros((0, self.model.get_embedding_dimension() or 1), np.float32)
        return vectors

    def unit_vectors(self, texts: Sequence[str], folder: Path, role: str = "teacher") -> Matrix:
        """Return distinct texts' unit vectors (texts, d), made by all processes and mapped from a file in `folder`."""
        path = folder / "teacher.npy"  # of a run, whose recipe says which texts and which teacher
        if not of_first(path.is_file()):
            note(f"{role}: {self.title}; encoding {len(texts):,} texts, once")
            token = getattr(self.model.tokenizer, "mask_token", None) or MASK
            texts = [text.replace(MASK, token) for text in texts]
            parts = {folder / "teacher-parts" / f"{start}.npy": start for start in range(0, len(texts), CHUNK)}
            with progress(role, len(texts), unit="texts") as advance:
                for part in [*parts][process_rank() :: processes()]:
                    chunk = texts[parts[part] : parts[part] + CHUNK]
                    if not part.is_file():  # of a run that was interrupted
                        save_array(part, unit(self.encode(chunk)))
                    advance(len(chunk))
            of_first(None)  # until all parts are on the disk
            if is_first():
                save_array(path, np.concatenate([np.load(part) for part in parts]))
                shutil.rmtree(folder / "teacher-parts")
            of_first(None)
        return np.load(path, mmap_mode="r")  # type: ignore[no-any-return]

    @property
    def _width(self) -> int | None:
        """Tokens that every text is padded to; None if padding does not affect the vectors."""
        return self.model.max_seq_length or PADDED if is_padded(self.model) else None

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        if self._width is not None or not texts:
            return [self._width or 0] * len(texts)
        tokenizer = self.model.tokenizer
        if not callable(tokenizer):  # static word vectors, which need no padding
            return [1 + len(text.split()) for text in texts]
        limit = self.model.max_seq_length
        with quiet_transformers():
            ids = tokenizer(list(texts), add_special_tokens=True, return_attention_mask=False)["input_ids"]
        return [min(len(row), limit) if limit else len(row) for row in ids]


def pack(lengths: Sequence[int], batch_size: int, batch_tokens: int) -> Iterator[list[int]]:
    """Yield batches of row numbers, longest texts first, within both limits.

    A text too long is a batch of its own.

    sentence-transformers sorts by characters; equal numbers of tokens save a fifth of the time on names and
    sentences.
    """
    batch: list[int] = []
    # Longest first: a batch too large for the memory fails at once, not after an hour.
    for row in sorted(range(len(lengths)), key=lambda position: -lengths[position]):
        if batch and (len(batch) == batch_size or lengths[batch[0]] * (len(batch) + 1) > batch_tokens):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array as a file of NumPy's, whole or not at all.

    Raises TwinviewsError if it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # NumPy writes to a real file through C, and misses a full disk.
    with atomic_write(path) as stream:
        np.save(SimpleNamespace(write=stream.write), array)


def load_model(
    name: str,
    *,
    pooling: Pooling | None = None,
    precision: Precision = "fp32",
    device: str = "auto",
    max_tokens: int | None = None,
) -> EmbeddingModel:
    """Load a model to embed with it, perhaps repooled.

    Raises InputError if it or the device cannot be used.
    """
    try:
        torch.empty(1, device="cpu" if device == "auto" else device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"--device {device} cannot be used here ({one_line(error, 200)}): take auto or cpu"
        ) from None
    source = locate(name)
    model = load_encoder(source.folder, None if device == "auto" else device)
    if pooling is not None:
        model = repooled(model, pooling)
    elif not source.modules():
        note(
            f"{name} is a plain transformers model, with {pooling_of(model)} pooling (--pooling {'|'.join(POOLINGS)})"
        )
    if max_tokens is not None or pooling == "padded-mean":
        set_max_tokens(model, min(max_tokens or PADDED, position_limit(model, max_tokens)))
    return EmbeddingModel(model, source, precision)


def starting_model(encoder: SentenceTransformer, source: Source, max_tokens: int) -> EmbeddingModel:
    """An encoder as a training begins with it, cut at `max_tokens`; it is moved to a device, not copied."""
    set_max_tokens(encoder, max_tokens)
    return EmbeddingModel(encoder.to(get_device_name()), source)
