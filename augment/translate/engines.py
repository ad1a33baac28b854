"""What runs a MarianMT model, and in which precision: CTranslate2 or transformers, alike in all but rounding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from augment.device import device_kind
from augment.errors import InputError
from augment.translate.decoding import Decoding
from augment.translate.vocabulary import Vocabulary

if TYPE_CHECKING:
    from augment.translate.ctranslate import CTranslate2Engine
    from augment.translate.pytorch import TransformersEngine

    Engine: TypeAlias = CTranslate2Engine | TransformersEngine

EngineName = Literal["ctranslate2", "transformers"]
Precision = Literal["fp64", "fp32", "bf16", "fp16", "int8"]


def resolve_engine(engine: str, precision: str, device: str, decoding: Decoding) -> tuple[EngineName, Precision]:
    """The engine and the precision that are used: as asked, or for "auto" the fastest.

    That is CTranslate2 for greedy and beam search on a CPU, in int8 where nothing else is asked for, and transformers
    for everything else. Both choices change texts, so they belong to a view's signature.

    Raises:
        InputError: They do not go together, or not with the device.
    """
    on_cpu = device_kind(device) == "cpu"
    if engine == "transformers" or (engine == "auto" and (decoding.sampled or not on_cpu)):
        return "transformers", resolve_precision(precision, device)
    from augment.translate.ctranslate import supported_precisions

    supported = supported_precisions()
    if precision == "auto" or precision in supported:
        if decoding.sampled:
            raise InputError("translator 'ctranslate2': does not draw by the row's seed; use auto or transformers")
        if not on_cpu:
            raise InputError(f"translator 'ctranslate2': for the CPU, not for {device!r}; add --device cpu or use auto")
        return "ctranslate2", supported[0] if precision == "auto" else precision  # type: ignore[return-value]
    if engine == "auto":
        return "transformers", resolve_precision(precision, device)
    raise InputError(
        f"precision {precision!r}: CTranslate2 has {', '.join(supported)} on this CPU; use one, or --translator auto"
    )


def resolve_precision(precision: str, device: str) -> Precision:
    """The precision of transformers: as asked, or for "auto" the fastest that the device is made for.

    CUDA runs bf16, or fp16 where it lacks that. A CPU with bf16 arithmetic (AMX, AVX512-BF16) runs bf16, twice as
    fast; any other runs fp32. fp64 is the strict one: rounding, which differs between batches, threads and machines,
    is then too small to change a text.

    Raises:
        InputError: int8, fp16 on a CPU, or fp64 on a device that has none.
    """
    kind = device_kind(device)
    if precision == "int8":
        raise InputError("precision 'int8': CTranslate2's, for greedy and beam search on a CPU; use auto, fp32 or bf16")
    if precision == "fp16" and kind == "cpu":
        raise InputError("precision 'fp16': not for a CPU; use auto, fp32 or bf16")
    if precision == "fp64" and kind == "mps":
        raise InputError("precision 'fp64': not for this device; use --device cpu")
    if precision != "auto":
        return precision  # type: ignore[return-value]
    import torch

    if kind == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bf16" if capabilities.get("amx_bf16") or capabilities.get("avx512_bf16") else "fp32"


def load_engine(
    wanted: tuple[str, str], path: Path, vocabulary: Vocabulary, device: str, decoding: Decoding, revision: str | None
) -> Engine:
    """Load a model in the engine and precision that are `wanted`; `revision` says which weights these are, if known."""
    engine, precision = resolve_engine(*wanted, device, decoding)
    if engine == "ctranslate2":
        from augment.translate.ctranslate import CTranslate2Engine

        return CTranslate2Engine(path, vocabulary, precision, revision)
    from augment.translate.pytorch import TransformersEngine

    return TransformersEngine(path, vocabulary, precision, device)
