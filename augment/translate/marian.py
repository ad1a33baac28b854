"""MarianMT on transformers: sorted, packed by token budget, each distinct sentence translated once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from augment.device import pack, quiet_transformers, resolve_device
from augment.errors import InputError
from augment.translate import Translation

if TYPE_CHECKING:
    import torch
    from transformers import GenerationConfig, MarianMTModel, MarianTokenizer

Precision = Literal["fp32", "bf16", "fp16"]

CPU_BATCH_TOKENS = 8_192
CUDA_BATCH_TOKENS = 16_384
LENGTH_STEP = 16
"""Sources are padded to a multiple of so many tokens, and only equally padded ones share a batch.

A row's own length then decides its padding and the limit on its output, so the other rows of its batch cannot
change its text: kernels that add up in another order for another width do so for the row wherever it is.
"""
REPEATS = 4
"""The same three tokens so many times make a repetition, unless the source repeats itself as well."""


def beams_of(decode: str) -> int:
    """The number of beams that "greedy" or "beam:N" asks for; raises InputError for anything else."""
    if decode == "greedy":
        return 1
    match = re.fullmatch(r"beam:([1-9][0-9]?)", decode)
    if not match:
        raise InputError(f"decode {decode!r}: not a way to decode; use greedy or beam:N, such as beam:4")
    return int(match[1])


def resolve_precision(precision: str, device: str) -> Precision:
    """The precision that is used: as asked, or for "auto" the fastest that the device is made for.

    CUDA runs bf16, or fp16 where it lacks that. A CPU with bf16 arithmetic (AMX, AVX512-BF16) runs bf16, twice as
    fast; any other runs fp32. The choice changes texts, so it belongs to a view's signature.

    Raises:
        InputError: fp16 on a CPU.
    """
    import torch

    kind = resolve_device(device).type
    if precision == "fp16" and kind == "cpu":
        raise InputError("precision 'fp16': not for a CPU; use auto, fp32 or bf16")
    if precision in ("fp32", "bf16", "fp16"):
        return precision  # type: ignore[return-value]
    if kind == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bf16" if capabilities.get("amx_bf16") or capabilities.get("avx512_bf16") else "fp32"


class MarianTranslator:
    """A MarianMT model; loaded at the first sentence.

    Args:
        path: Its folder: config.json, model.safetensors, source.spm, target.spm, vocab.json.
        prefix: Code before every source sentence, such as ">>de<<", for models with several targets.
        decode: "greedy" or "beam:N".
        precision: "auto", "fp32", "bf16" or "fp16"; see `resolve_precision`.
        device: "auto", "cpu", "cuda" or "cuda:N".
        batch_tokens: Source tokens in one batch times beams, padding included; None for the device's default.
    """

    def __init__(
        self,
        path: Path | str,
        prefix: str | None = None,
        *,
        decode: str = "greedy",
        precision: str = "auto",
        device: str = "auto",
        batch_tokens: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.prefix = prefix
        self.beams = beams_of(decode)
        self.precision = precision
        self.device = device
        self.batch_tokens = batch_tokens
        self._loaded: _Loaded | None = None

    def translate(self, texts: Sequence[str]) -> list[Translation]:
        """One translation a text, in order; equal texts are translated once."""
        if self._loaded is None:
            self._loaded = _Loaded(self)
        distinct = list(dict.fromkeys(texts))
        with quiet_transformers():
            translated = dict(zip(distinct, self._loaded.translate(distinct), strict=True))
        return [translated[text] for text in texts]


class _Loaded:
    """A model on its device, with everything that its settings decide."""

    def __init__(self, settings: MarianTranslator) -> None:
        import torch
        from transformers import MarianMTModel, MarianTokenizer

        self.device = resolve_device(settings.device)
        self.precision = resolve_precision(settings.precision, settings.device)
        self.beams = settings.beams
        default = CUDA_BATCH_TOKENS if self.device.type == "cuda" else CPU_BATCH_TOKENS
        self.batch_tokens = settings.batch_tokens or default
        self.prefix = f"{settings.prefix} " if settings.prefix else ""
        with quiet_transformers():
            self.tokenizer: MarianTokenizer = MarianTokenizer.from_pretrained(settings.path)
            model: MarianMTModel = MarianMTModel.from_pretrained(
                settings.path, dtype=torch.float32, use_safetensors=True
            )
        whole = self.device.type == "cuda" and self.precision != "fp32"
        self.model: MarianMTModel = model.to(self.device, self._dtype() if whole else None).eval()
        self.limit = min(int(model.config.max_position_embeddings), int(self.tokenizer.model_max_length))
        self.codes = [self.tokenizer.convert_tokens_to_ids(c) for c in self.tokenizer.supported_language_codes]

    def translate(self, texts: Sequence[str]) -> list[Translation]:
        sources = [self._encoded(text) for text in texts]
        done: dict[int, Translation] = {}
        rows = []
        for row, ids in enumerate(sources):
            if not texts[row].strip():
                done[row] = Translation("", "empty")
            elif len(ids) > self.limit:
                done[row] = Translation(None, "too-long")
            else:
                rows.append(row)
        lengths = [len(sources[row]) for row in rows]
        widths = [self._width(length) for length in lengths]
        for batch in pack(widths, max(1, self.batch_tokens // self.beams), widths):
            batch_rows = [rows[place] for place in batch]
            batch_sources = [sources[row] for row in batch_rows]
            done.update(zip(batch_rows, self._translate_batch(batch_sources), strict=True))
        return [done[row] for row in range(len(texts))]

    def _encoded(self, text: str) -> list[int]:
        # Without a prefix the tokenizer would take ">>...<<" at the beginning of a text for a language code.
        source = self.prefix + text if self.prefix else re.sub(r"^>>", "> >", text)
        return list(self.tokenizer(source, truncation=False)["input_ids"])

    def _translate_batch(self, sources: Sequence[Sequence[int]]) -> list[Translation]:
        import torch

        width = self._width(len(sources[0]))
        pad = self.tokenizer.pad_token_id
        ids = torch.tensor([[*source, *[pad] * (width - len(source))] for source in sources], device=self.device)
        lengths = torch.tensor([len(source) for source in sources], device=self.device)
        mask = (torch.arange(width, device=self.device)[None] < lengths[:, None]).long()
        config = self._generation(width)
        with torch.inference_mode(), self._autocast():
            outputs = self.model.generate(input_ids=ids, attention_mask=mask, generation_config=config)
        return [self._decoded(source, output) for source, output in zip(sources, outputs[:, 1:].tolist(), strict=True)]

    def _decoded(self, source: Sequence[int], output: Sequence[int]) -> Translation:
        end = self.model.config.eos_token_id
        whole = end in output
        kept = output[: output.index(end)] if whole else output
        text = self.tokenizer.decode(kept, skip_special_tokens=True, clean_up_tokenization_spaces=False).strip()
        if not text:
            return Translation("", "empty")
        if _most_repeated(kept) >= max(REPEATS, 2 * _most_repeated(source)):
            return Translation(text, "repetition")
        return Translation(text, None if whole else "no-end")

    def _width(self, length: int) -> int:
        """The padded length of a source of `length` tokens."""
        return min(-(-length // LENGTH_STEP) * LENGTH_STEP, self.limit)

    def _generation(self, width: int) -> GenerationConfig:
        """How to decode sources of up to `width` tokens: twice as many and a few more are enough in any language."""
        from transformers import GenerationConfig

        config = self.model.config
        return GenerationConfig(
            num_beams=self.beams,
            do_sample=False,
            max_new_tokens=min(2 * width + LENGTH_STEP, self.limit - 1),
            pad_token_id=config.pad_token_id,
            eos_token_id=config.eos_token_id,
            decoder_start_token_id=config.decoder_start_token_id,
            suppress_tokens=sorted({config.pad_token_id, *self.codes}),
        )

    def _autocast(self) -> AbstractContextManager[object]:
        import torch

        if self.device.type == "cpu" and self.precision == "bf16":
            return torch.autocast("cpu", dtype=torch.bfloat16)
        return nullcontext()

    def _dtype(self) -> torch.dtype:
        import torch

        return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[self.precision]


def _most_repeated(tokens: Sequence[int]) -> int:
    """How often the most frequent run of three tokens occurs."""
    runs = Counter(zip(tokens, tokens[1:], tokens[2:], strict=False))
    return max(runs.values(), default=0)
