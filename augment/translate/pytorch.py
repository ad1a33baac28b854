"""MarianMT on transformers: on a GPU, for seeded sampling, and in fp64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from augment.device import quiet_transformers, resolve_device
from augment.errors import InputError
from augment.translate.decoding import Decoding
from augment.translate.search import search
from augment.translate.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import MarianMTModel

CPU_BATCH_TOKENS = 8_192
CUDA_BATCH_TOKENS = 16_384
DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class TransformersEngine:
    """A model on its device; see `CTranslate2Engine` for its parts."""

    ahead = 1

    def __init__(self, path: Path, vocabulary: Vocabulary, precision: str, device: str) -> None:
        self._vocabulary = vocabulary
        self._device = resolve_device(device)
        self.batch_tokens = CUDA_BATCH_TOKENS if self._device.type == "cuda" else CPU_BATCH_TOKENS
        self._autocasts = self._device.type == "cpu" and precision == "bf16"
        with quiet_transformers():
            model = load_model(path)
        self._model: MarianMTModel = model.to(self._device, None if self._autocasts else DTYPES[precision]).eval()

    def search(
        self, sources: Sequence[Sequence[int]], decoding: Decoding, seeds: Sequence[int]
    ) -> Callable[[], list[list[list[int]]]]:
        """The hypotheses of equally padded sources, made when they are asked for."""

        def run() -> list[list[list[int]]]:
            width, pad = self._vocabulary.width(len(sources[0])), self._vocabulary.pad
            ids = torch.tensor([[*source, *[pad] * (width - len(source))] for source in sources], device=self._device)
            lengths = torch.tensor([len(source) for source in sources], device=self._device)
            with torch.inference_mode(), self._autocast():
                return search(
                    self._model,
                    ids,
                    (torch.arange(width, device=self._device)[None] < lengths[:, None]).long(),
                    decoding,
                    max_length=self._vocabulary.max_length(width),
                    suppress_tokens=self._vocabulary.suppress_tokens,
                    seeds=seeds,
                )

        return run

    def _autocast(self) -> AbstractContextManager[object]:
        return torch.autocast("cpu", dtype=torch.bfloat16) if self._autocasts else nullcontext()


def load_model(path: Path) -> MarianMTModel:
    """A model in float32; raises InputError where weights are missing."""
    from transformers import MarianMTModel

    model, info = MarianMTModel.from_pretrained(
        path, dtype=torch.float32, use_safetensors=True, attn_implementation="sdpa", output_loading_info=True
    )
    if info["missing_keys"]:
        raise InputError(f"--models {path}: no whole MarianMT model (no {sorted(info['missing_keys'])[0]})")
    loaded: MarianMTModel = model
    return loaded
