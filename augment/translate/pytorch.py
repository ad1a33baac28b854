"""MarianMT on transformers' `generate`: greedy search, beam search, and draws by the seed of each row."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from augment.errors import InputError
from augment.models.device import LENGTH_STEP, padded, quiet_transformers, resolve_device
from augment.models.loading import load_model
from augment.translate.decoding import Decoding, Vocabulary

if TYPE_CHECKING:
    from transformers import MarianMTModel

CPU_BATCH_TOKENS = 2_048
"""Rows stay in a batch until all have ended, so small ones of rows of nearly one length are the fastest on a
CPU."""
CUDA_BATCH_TOKENS = 16_384
DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class TransformersEngine:
    """A model on its device, with the attributes and the method of `CTranslate2Engine`."""

    length_step = LENGTH_STEP
    threads = 1

    def __init__(self, path: Path, vocabulary: Vocabulary, precision: str, device: str) -> None:
        from transformers import GenerationConfig

        self._vocabulary = vocabulary
        self._device = resolve_device(device)
        self.batch_tokens = self.beam_tokens = (
            CUDA_BATCH_TOKENS if self._device.type == "cuda" else CPU_BATCH_TOKENS
        )
        self._autocasts = self._device.type == "cpu" and precision == "bf16"
        model = load_marian(path)
        self._model: MarianMTModel = model.to(
            self._device, None if self._autocasts else DTYPES[precision]
        ).eval()
        # its own may have beams, a length and forced tokens
        self._model.generation_config = GenerationConfig()

    def search(
        self, sources: Sequence[Sequence[int]], decoding: Decoding, seeds: Sequence[int]
    ) -> list[list[list[int]]]:
        """The hypotheses of equally padded sources, the best first."""
        vocabulary, pad = self._vocabulary, self._vocabulary.pad
        width, end = padded(len(sources[0]), vocabulary.limit), vocabulary.end
        ids = torch.tensor(
            [[*source, *[pad] * (width - len(source))] for source in sources], device=self._device
        )
        lengths = torch.tensor([len(source) for source in sources], device=self._device)
        mask = torch.arange(width, device=self._device)[None] < lengths[:, None]
        most = vocabulary.max_length(width, decoding.length)
        draws = [Draws(decoding, seeds, most)] if decoding.sampled else []
        autocast = torch.autocast("cpu", dtype=torch.bfloat16) if self._autocasts else nullcontext()
        with torch.inference_mode(), autocast, quiet_transformers():
            outputs: Any = self._model.generate(
                input_ids=ids,
                attention_mask=mask.long(),
                logits_processor=draws,
                max_new_tokens=most,
                num_beams=decoding.num_beams,
                num_return_sequences=decoding.hypotheses,
                early_stopping=decoding.num_beams > 1,
                renormalize_logits=decoding.num_beams > 1,
                repetition_penalty=decoding.repetition_penalty,
                suppress_tokens=vocabulary.suppress_tokens,
                decoder_start_token_id=self._model.config.decoder_start_token_id,
                eos_token_id=end,
                pad_token_id=pad,
            )
        texts = [
            tokens[: tokens.index(end) + 1] if end in tokens else tokens for tokens in outputs[:, 1:].tolist()
        ]
        number = decoding.hypotheses
        return [texts[place : place + number] for place in range(0, len(texts), number)]


def load_marian(path: Path) -> "MarianMTModel":
    """A model in float32; raises InputError if weights are missing or cannot be read."""
    from transformers import MarianMTModel

    model, missing = load_model(MarianMTModel, path, f"--models {path}", attn_implementation="sdpa")
    if missing:
        raise InputError(f"--models {path}: not a complete MarianMT model (no {missing[0]})")
    return model


class Draws:
    """A processor of logits that leaves one token a row: a draw from softmax(logits / temperature), cut to top k or p.

    The draws of a row follow from its seed alone, so they are the same in any batch and on every device.
    """

    def __init__(self, decoding: Decoding, seeds: Sequence[int], length: int, start: int = 1) -> None:
        from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

        self._warpers: list[Any] = [TemperatureLogitsWarper(float(decoding.temperature))]
        self._warpers += [] if decoding.top_k is None else [TopKLogitsWarper(decoding.top_k)]
        self._warpers += [] if decoding.top_p is None else [TopPLogitsWarper(decoding.top_p)]
        rows = (torch.Generator().manual_seed(seed) for seed in seeds)
        self._uniform = torch.stack([torch.rand(length, generator=row, dtype=torch.float64) for row in rows])
        self._start = start

    def __call__(self, texts: Tensor, logits: Tensor) -> Tensor:
        """Logits (rows by vocabulary) of the token after `texts` (rows by tokens, the first `start` of them given)."""
        scores = logits
        for warper in self._warpers:
            scores = warper(texts, scores)
        shares = scores.double().softmax(dim=-1).cumsum(dim=-1)
        uniform = self._uniform[:, texts.shape[1] - self._start, None].to(shares.device)
        tokens = torch.searchsorted(shares, uniform * shares[:, -1:], right=True)
        return torch.full_like(logits, float("-inf")).scatter(1, tokens, 0.0)
