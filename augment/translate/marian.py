"""MarianMT on transformers: sorted, packed by token budget, long sentences in pieces, bad translations tried again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from augment.device import pack, quiet_transformers, resolve_device
from augment.errors import InputError
from augment.translate import Translation
from augment.translate.decoding import Decoding, parse_decoding
from augment.translate.faults import copies, repeats
from augment.translate.splitting import split
from augment.view import row_seed

if TYPE_CHECKING:
    import torch
    from transformers import MarianMTModel, MarianTokenizer

Precision = Literal["fp64", "fp32", "bf16", "fp16"]

CPU_BATCH_TOKENS = 8_192
CUDA_BATCH_TOKENS = 16_384
LENGTH_STEP = 16
"""Sources are padded to a multiple of so many tokens, and only equally padded ones share a batch.

A row's own length then decides its padding and the limit on its output, so the other rows of its batch cannot
change its text: kernels that add up in another order for another width do so for the row wherever it is.
"""


def resolve_precision(precision: str, device: str) -> Precision:
    """The precision that is used: as asked, or for "auto" the fastest that the device is made for.

    CUDA runs bf16, or fp16 where it lacks that. A CPU with bf16 arithmetic (AMX, AVX512-BF16) runs bf16, twice as
    fast; any other runs fp32. The choice changes texts, so it belongs to a view's signature. fp64 is the strict one:
    rounding, which differs between batches, threads and machines, is then too small to change a text.

    Raises:
        InputError: fp16 on a CPU, or fp64 on a device that has none.
    """
    import torch

    kind = resolve_device(device).type
    if precision == "fp16" and kind == "cpu":
        raise InputError("precision 'fp16': not for a CPU; use auto, fp32 or bf16")
    if precision == "fp64" and kind == "mps":
        raise InputError("precision 'fp64': not for this device; use --device cpu")
    if precision in ("fp64", "fp32", "bf16", "fp16"):
        return precision  # type: ignore[return-value]
    if kind == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bf16" if capabilities.get("amx_bf16") or capabilities.get("avx512_bf16") else "fp32"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text to translate as a whole, its token ids, and what its draws depend on."""

    text: str
    ids: tuple[int, ...]
    seed: int


class MarianTranslator:
    """A MarianMT model; loaded at the first sentence.

    Args:
        path: Its folder: config.json, model.safetensors, source.spm, target.spm, vocab.json.
        prefix: Code before every source sentence, such as ">>de<<", for models with several targets.
        decode: "greedy", "beam:N", "sample", "top-k:K" or "top-p:P".
        temperature: Of sampling; None for 1.
        hypotheses: Texts for each sentence: the best beams, or so many samples.
        precision: "auto", "fp64", "fp32", "bf16" or "fp16"; see `resolve_precision`.
        splits: Whether sentences that do not fit the model are translated in pieces; else they fail as "too-long".
        retries: Whether a sentence whose translation is no good is tried once more, decoded in another way.
        device: "auto", "cpu", "cuda" or "cuda:N".
        batch_tokens: Source tokens in one batch times beams or samples, padding included; None for the device's
            default.

    Raises:
        InputError: The ways to decode do not go together.
    """

    def __init__(
        self,
        path: Path | str,
        prefix: str | None = None,
        *,
        decode: str = "greedy",
        temperature: float | None = None,
        hypotheses: int = 1,
        precision: str = "auto",
        splits: bool = True,
        retries: bool = True,
        device: str = "auto",
        batch_tokens: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.prefix = prefix
        self.decoding = parse_decoding(decode, temperature, hypotheses)
        self.precision = precision
        self.splits = splits
        self.retries = retries
        self.device = device
        self.batch_tokens = batch_tokens
        self._loaded: _Loaded | None = None

    def translate(self, texts: Sequence[str], seeds: Sequence[int] | None = None) -> list[Translation]:
        """One translation a text, in order; where nothing is drawn, equal texts are translated once.

        Args:
            texts: Sentences.
            seeds: One a text; 0 for all by default.
        """
        drawn = seeds if self.decoding.sampled and seeds is not None else [0] * len(texts)
        rows = list(zip(texts, drawn, strict=True))
        with quiet_transformers():
            if self._loaded is None:
                self._loaded = _Loaded(self)
            pieces = {(text, seed): self._pieces(text, seed, self._loaded) for text, seed in dict.fromkeys(rows)}
            found = self._tried([piece for row in pieces.values() for piece in row], self._loaded)
        joined = {row: _joined([found[piece] for piece in parts]) for row, parts in pieces.items()}
        return [joined[row] for row in rows]

    def _pieces(self, text: str, seed: int, loaded: _Loaded) -> list[_Piece]:
        """The text itself; its parts where it is too long, none where it is empty."""
        if not text.strip():
            return []
        ids = loaded.encoded(text)
        if len(ids) <= loaded.limit or not self.splits:
            return [_Piece(text, ids, seed)]
        parts = split(text, lambda part: len(loaded.encoded(part)), loaded.limit // 2)
        seeds = [row_seed(seed, str(place), "") if self.decoding.sampled else 0 for place in range(len(parts))]
        return [_Piece(part, loaded.encoded(part), own) for part, own in zip(parts, seeds, strict=True)]

    def _tried(self, pieces: Iterable[_Piece], loaded: _Loaded) -> dict[_Piece, Translation]:
        """The translations, tried once more where they are no good."""
        first = loaded.translate(list(dict.fromkeys(pieces)), self.decoding)
        bad = [piece for piece, found in first.items() if found.reason not in (None, "too-long")]
        if not (bad and self.retries):
            return first
        again = loaded.translate(bad, self.decoding.retry(), attempt=1)
        good = {
            piece: found._replace(others=found.others[: self.decoding.hypotheses - 1], retried=True)
            for piece, found in again.items()
            if found.reason is None
        }
        return first | good


class _Loaded:
    """A model on its device, with everything that its settings decide."""

    def __init__(self, settings: MarianTranslator) -> None:
        from transformers import MarianTokenizer

        self.device = resolve_device(settings.device)
        self.precision = resolve_precision(settings.precision, settings.device)
        default = CUDA_BATCH_TOKENS if self.device.type == "cuda" else CPU_BATCH_TOKENS
        self.batch_tokens = settings.batch_tokens or default
        self.prefix = f"{settings.prefix} " if settings.prefix else ""
        self.tokenizer: MarianTokenizer = MarianTokenizer.from_pretrained(settings.path)
        model = _model(settings.path)
        autocast = self.device.type == "cpu" and self.precision == "bf16"
        self.model: MarianMTModel = model.to(self.device, None if autocast else self._dtype()).eval()
        self.limit = min(int(model.config.max_position_embeddings), int(self.tokenizer.model_max_length))
        codes = [self.tokenizer.convert_tokens_to_ids(code) for code in self.tokenizer.supported_language_codes]
        self.never = sorted({int(model.config.pad_token_id), *codes})

    def encoded(self, text: str) -> tuple[int, ...]:
        """The token ids of a text, the code before it and the end after it included."""
        # Without a prefix the tokenizer would take ">>...<<" at the beginning of a text for a language code.
        source = self.prefix + text if self.prefix else re.sub(r"^>>", "> >", text)
        return tuple(self.tokenizer(source, truncation=False)["input_ids"])

    def translate(self, pieces: Sequence[_Piece], decoding: Decoding, attempt: int = 0) -> dict[_Piece, Translation]:
        """Each piece's translation; another attempt draws anew."""
        done = {piece: Translation(None, "too-long") for piece in pieces}
        fitting = [piece for piece in pieces if len(piece.ids) <= self.limit]
        widths = [self._width(len(piece.ids)) for piece in fitting]
        for rows in pack(widths, max(1, self.batch_tokens // decoding.copies), widths):
            batch = [fitting[row] for row in rows]
            outputs = self._search(batch, decoding, attempt)
            judged = ([self._judged(piece, ids) for ids in found] for piece, found in zip(batch, outputs, strict=True))
            done.update(zip(batch, map(_chosen, judged), strict=True))
        return done

    def _search(self, batch: Sequence[_Piece], decoding: Decoding, attempt: int) -> list[list[list[int]]]:
        import torch

        from augment.translate.search import search

        width = self._width(len(batch[0].ids))
        pad = self.model.config.pad_token_id
        ids = torch.tensor([[*piece.ids, *[pad] * (width - len(piece.ids))] for piece in batch], device=self.device)
        lengths = torch.tensor([len(piece.ids) for piece in batch], device=self.device)
        samples = range(decoding.hypotheses if decoding.sampled else 0)
        with torch.inference_mode(), self._autocast():
            return search(
                self.model,
                ids,
                (torch.arange(width, device=self.device)[None] < lengths[:, None]).long(),
                decoding,
                longest=min(2 * width + LENGTH_STEP, self.limit - 1),
                never=self.never,
                seeds=[row_seed(piece.seed, str(sample), str(attempt)) for piece in batch for sample in samples],
                lost=lambda row, tokens: repeats(tokens, batch[row].ids),
            )

    def _judged(self, piece: _Piece, output: Sequence[int]) -> Translation:
        end = self.model.config.eos_token_id
        kept = output[: output.index(end)] if end in output else output
        text = self.tokenizer.decode(kept, skip_special_tokens=True, clean_up_tokenization_spaces=False).strip()
        if not text:
            return Translation("", "empty")
        if repeats(kept, piece.ids):
            return Translation(text, "repetition")
        if len(kept) == len(output):
            return Translation(text, "no-end")
        return Translation(text, "copied" if copies(text, piece.text) else None)

    def _width(self, length: int) -> int:
        """The padded length of a source of `length` tokens."""
        return min(-(-length // LENGTH_STEP) * LENGTH_STEP, self.limit)

    def _autocast(self) -> AbstractContextManager[object]:
        import torch

        if self.device.type == "cpu" and self.precision == "bf16":
            return torch.autocast("cpu", dtype=torch.bfloat16)
        return nullcontext()

    def _dtype(self) -> torch.dtype:
        import torch

        return {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[
            self.precision
        ]


def _model(path: Path) -> MarianMTModel:
    """The model in float32; raises InputError where weights are missing."""
    import torch
    from transformers import MarianMTModel

    model, info = MarianMTModel.from_pretrained(
        path, dtype=torch.float32, use_safetensors=True, attn_implementation="sdpa", output_loading_info=True
    )
    if info["missing_keys"]:
        raise InputError(f"--models {path}: no whole MarianMT model (no {sorted(info['missing_keys'])[0]})")
    loaded: MarianMTModel = model
    return loaded


def _chosen(hypotheses: Sequence[Translation]) -> Translation:
    """The first good one and the other good ones; the first where none is good."""
    good = list(dict.fromkeys(found.text for found in hypotheses if found.reason is None and found.text))
    return Translation(good[0], others=tuple(good[1:])) if good else hypotheses[0]


def _joined(pieces: Sequence[Translation]) -> Translation:
    """The translation of a text from those of its pieces, with a space between them; bad if one of them is."""
    if not pieces:
        return Translation("", "empty")
    bad = [piece for piece in pieces if piece.reason is not None]
    if bad or len(pieces) == 1:
        return bad[0] if bad else pieces[0]
    ranks = range(1 + max(len(piece.others) for piece in pieces))
    texts = [" ".join(_ranked(piece, rank) for piece in pieces) for rank in ranks]
    return Translation(texts[0], others=tuple(texts[1:]), retried=any(piece.retried for piece in pieces))


def _ranked(piece: Translation, rank: int) -> str:
    """The hypothesis of this rank, or the best where there are not so many."""
    return (piece.text, *piece.others)[rank if rank <= len(piece.others) else 0] or ""
