"""How texts are decoded: greedily, by beam search or by sampling, and by which engine in which precision."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from augment.device import device_kind
from augment.errors import InputError

COMPUTE_TYPES = {"int8": "int8_float32", "fp32": "float32", "bf16": "bfloat16"}
"""The precisions of CTranslate2 and its names for them, the fastest first."""
_WAY = re.compile(
    r"greedy|sample|beam:([1-9][0-9]?)|top-k:([1-9][0-9]{0,4})|top-p:(0?\.[0-9]*[1-9][0-9]*|1|1\.0+)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How texts are drawn from a translation model.

    Attributes:
        num_beams: Beams of a beam search; 1 is greedy, or sampling.
        sampled: Whether tokens are drawn by the row's seed.
        top_k, top_p: Draw from so many most probable tokens, or from those that make up this share in (0, 1] (nucleus
            sampling, Holtzman et al. 2020); None for all.
        temperature: Logits are divided by it before drawing.
        hypotheses: Texts for each sentence: the best of the beams, or so many samples.
        patience: A beam search ends once so many times its beams are finished (Kasai et al. 2022). With 1, as in
            transformers' early stopping, short and bad texts may end it before the text that greedy search finds.
        repetition_penalty: Scores of tokens that were written are worsened by this factor (Keskar et al. 2019).
    """

    num_beams: int = 1
    sampled: bool = False
    top_k: int | None = None
    top_p: float | None = None
    temperature: float = 1.0
    hypotheses: int = 1
    patience: int = 2
    repetition_penalty: float = 1.0

    @property
    def rows_per_source(self) -> int:
        """Rows that the decoder works on for one sentence."""
        return self.hypotheses if self.sampled else self.num_beams

    def retry(self) -> Decoding:
        """How a sentence is decoded again whose first text was bad: new samples, or a beam search with all its beams.

        Repetition is penalised, not forbidden, so that a model that goes in circles is still seen to do so.
        """
        if self.sampled:
            return self
        beams = max(4, self.num_beams)
        return replace(self, num_beams=beams, hypotheses=beams, patience=1, repetition_penalty=1.05)


def parse_decoding(decode: str, temperature: float | None = None, hypotheses: int = 1) -> Decoding:
    """The way to decode that `decode` names: "greedy", "beam:N", "sample", "top-k:K" or "top-p:P".

    Raises InputError for any other, a temperature without sampling, or more hypotheses than it gives.
    """
    found = _WAY.fullmatch(decode)
    if not found:
        ways = "greedy, beam:N, sample, top-k:K or top-p:P"
        raise InputError(f"decode {decode!r}: not a way to decode; use {ways}, such as beam:4, top-k:50 or top-p:0.9")
    beams, top_k, top_p = found.groups()
    num_beams, sampled = int(beams or 1), decode == "sample" or bool(top_k or top_p)
    if temperature is not None and not sampled:
        raise InputError(f"temperature {temperature}: {decode} draws nothing; use it with sample, top-k:K or top-p:P")
    if not sampled and hypotheses > num_beams:
        more = f"use beam:{hypotheses} or more, or sample"
        raise InputError(f"hypotheses {hypotheses}: {decode} gives {num_beams}; {more}")
    return Decoding(
        num_beams=num_beams,
        sampled=sampled,
        top_k=int(top_k) if top_k else None,
        top_p=float(top_p) if top_p else None,
        temperature=temperature or 1.0,
        hypotheses=hypotheses,
    )


def resolve_engine(engine: str, precision: str, device: str, decoding: Decoding) -> tuple[str, str]:
    """The engine and the precision that are used: as asked, or for "auto" the fastest.

    That is CTranslate2 for greedy and beam search on a CPU, in int8 where nothing else is asked for, and transformers
    for everything else. Both choices change texts, so they belong to a view's signature. Raises InputError where they
    do not go together, or not with the device.
    """
    if engine != "transformers" and not decoding.sampled and device_kind(device) == "cpu":
        import ctranslate2

        there = ctranslate2.get_supported_compute_types("cpu")
        supported = [name for name, compute_type in COMPUTE_TYPES.items() if compute_type in there]
        if precision in ("auto", *supported):
            return "ctranslate2", supported[0] if precision == "auto" else precision
    if engine == "ctranslate2":
        asked = f"precision {precision!r} on {device!r}{' with sampling' * decoding.sampled}"
        raise InputError(f"translator 'ctranslate2': greedy and beams in int8 or fp32 on a CPU, not {asked}; use auto")
    return "transformers", resolve_precision(precision, device)


def resolve_precision(precision: str, device: str) -> str:
    """The precision of transformers: as asked, or for "auto" the fastest that the device is made for.

    CUDA runs bf16, or fp16 where it lacks that. A CPU with bf16 arithmetic (AMX, AVX512-BF16) runs bf16, twice as
    fast; any other runs fp32. fp64 is the strict one: rounding, which differs between batches, threads and machines,
    is then too small to change a text. Raises InputError where the device has no such arithmetic.
    """
    kind = device_kind(device)
    if precision == "int8" or (precision, kind) in (("fp16", "cpu"), ("fp64", "mps")):
        raise InputError(f"precision {precision!r}: transformers has none on this device ({kind}); use auto or fp32")
    if precision != "auto":
        return precision
    import torch

    if kind == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bf16" if capabilities.get("amx_bf16") or capabilities.get("avx512_bf16") else "fp32"
