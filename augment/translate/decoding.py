"""How texts are decoded: greedily, by beam search or by sampling, and by which engine in which precision."""

import re
from dataclasses import dataclass, replace

from augment.errors import InputError
from augment.models.device import device_kind

COMPUTE_TYPES = {"int8": "int8_float32", "fp32": "float32", "bf16": "bfloat16"}
"""The precisions of CTranslate2 and its names for them, the fastest first."""
_DECODE = re.compile(
    r"greedy|sample|beam:([1-9][0-9]?)|top-k:([1-9][0-9]{0,4})|top-p:(0?\.[0-9]*[1-9][0-9]*|1|1\.0+)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a text is drawn from a translation model."""

    num_beams: int = 1  # a search ends once as many texts are finished; 1 for greedy search and sampling
    sampled: bool = False  # whether tokens are drawn by the row's seed
    top_k: int | None = None  # draw from the K most probable tokens; None for all
    top_p: float | None = None  # draw from the most probable tokens of this share (Holtzman et al. 2020); None for all
    temperature: float = 1.0  # logits are divided by it before drawing
    hypotheses: int = 1  # texts that a beam search returns
    repetition_penalty: float = 1.0  # factor that worsens the scores of tokens which a text has (Keskar et al. 2019)
    length: float = 2.0  # the most tokens of an output per token of its padded source; a few more are allowed

    def retry(self) -> "Decoding":
        """How to decode a sentence whose first text was bad: a new sample, or the best good text of all beams.

        Repetition is penalised but not forbidden, so that a loop can still be detected.
        """
        if self.sampled:
            return self
        beams = max(4, self.num_beams)
        return replace(self, num_beams=beams, hypotheses=beams, repetition_penalty=1.05)


def parse_decoding(decode: str, temperature: float | None = None) -> Decoding:
    """The decoding of that name; raises InputError if there is none, or for a temperature without sampling."""
    match = _DECODE.fullmatch(decode)
    if not match:
        ways = "greedy, beam:N, sample, top-k:K or top-p:P"
        raise InputError(f"decode {decode!r}: not a way to decode; use {ways}, such as beam:4, top-k:50 or top-p:0.9")
    beams, top_k, top_p = match.groups()
    sampled = decode == "sample" or bool(top_k or top_p)
    if temperature is not None and not sampled:
        raise InputError(f"temperature {temperature}: {decode} draws nothing; use it with sample, top-k:K or top-p:P")
    return Decoding(
        num_beams=int(beams or 1),
        sampled=sampled,
        top_k=int(top_k) if top_k else None,
        top_p=float(top_p) if top_p else None,
        temperature=temperature or 1.0,
    )


def resolve_engine(engine: str, precision: str, device: str, *, sampled: bool) -> tuple[str, str]:
    """The engine and the precision to use: as given, or the fastest for "auto".

    That is CTranslate2 for greedy and beam search on a CPU, in int8 by default, and transformers for everything else:
    in bf16 on CUDA (fp16 where it lacks that) and on a CPU with bf16 arithmetic (AMX, AVX512-BF16), where it is twice
    as fast, else in fp32. In fp64, rounding differences between batches, threads and machines are too small to change a
    text. Engine and precision change texts, so they belong to a view's signature. Raises InputError if they do not go
    together or with the device.
    """
    kind = device_kind(device)
    if engine != "transformers" and not sampled and kind == "cpu":
        import ctranslate2

        compute_types = ctranslate2.get_supported_compute_types("cpu")
        supported = [name for name, compute_type in COMPUTE_TYPES.items() if compute_type in compute_types]
        if precision in ("auto", *supported):
            return "ctranslate2", supported[0] if precision == "auto" else precision
    if engine == "ctranslate2":
        case = f"precision {precision!r} on {device!r}{' with sampling' * sampled}"
        raise InputError(f"translator 'ctranslate2': greedy and beams in int8 or fp32 on a CPU, not {case}; use auto")
    if precision == "int8" or (precision, kind) in (("fp16", "cpu"), ("fp64", "mps")):
        raise InputError(f"precision {precision!r}: transformers has none on this device ({kind}); use auto or fp32")
    if precision != "auto":
        return "transformers", precision
    import torch

    if kind == "cuda":
        return "transformers", "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    has_bf16 = capabilities.get("amx_bf16") or capabilities.get("avx512_bf16")
    return "transformers", "bf16" if has_bf16 else "fp32"
