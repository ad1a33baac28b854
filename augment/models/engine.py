"""What runs a model, CTranslate2 or transformers, and in which precision."""

from augment.errors import InputError
from augment.models.device import device_kind

COMPUTE_TYPES = {"int8": "int8_float32", "fp32": "float32", "bf16": "bfloat16"}
"""The precisions of CTranslate2 and its names for them, the fastest first."""


def resolve_engine(engine: str, precision: str, device: str, *, sampled: bool) -> tuple[str, str]:
    """The engine and the precision to use: as given, or the fastest for "auto".

    That is CTranslate2 for greedy and beam search on a CPU, in int8 by default, and transformers for everything else:
    in bf16 on CUDA (fp16 where it lacks that) and on a CPU with bf16 arithmetic (AMX, AVX512-BF16), where it is twice
    as fast, else in fp32. In fp64, rounding is too small to change a text. Raises InputError for what does not go
    together.
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
