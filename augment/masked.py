"""A masked language model that proposes whole words for masked words, many rows in one forward pass."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from augment.device import pack, quiet_transformers, resolve_device
from augment.errors import InputError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

CPU_BATCH_TOKENS = 4_096
CUDA_BATCH_TOKENS = 65_536
LENGTH_STEP = 16
MOST_TOKENS = 512


class Masked(NamedTuple):
    """A row for the model: token ids with single mask tokens, and the places of those, in order."""

    ids: list[int]
    places: list[int]


class Proposals(NamedTuple):
    """What may stand in one masked place: words with their logits, the likeliest first."""

    words: list[str]
    logits: list[float]


class FillModel:
    """A masked language model and its fast tokenizer, each loaded when it is first needed.

    Args:
        path: Their folder.
        device: "auto", "cpu", "cuda" or "cuda:N".
        batch_tokens: Tokens in one batch, padding included; None for the device's default.
    """

    def __init__(self, path: Path, *, device: str = "auto", batch_tokens: int | None = None) -> None:
        self.path = path
        self._device = device
        self._batch_tokens = batch_tokens

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """The tokenizer; raises InputError if it has no offsets or no mask token."""
        from transformers import AutoTokenizer

        with quiet_transformers():
            try:
                tokenizer = AutoTokenizer.from_pretrained(self.path)
            except (OSError, ValueError, KeyError) as error:
                raise InputError(f"--encoder {self.path}: no tokenizer could be read there ({_line(error)})") from None
        if not tokenizer.is_fast:
            raise InputError(f"--encoder {self.path}: needs a fast tokenizer (tokenizer.json); this one has no offsets")
        return tokenizer

    @cached_property
    def _model(self) -> PreTrainedModel:
        import torch
        from transformers import AutoModelForMaskedLM

        self._check_mask_token()
        with quiet_transformers():
            try:
                model, info = AutoModelForMaskedLM.from_pretrained(
                    self.path, dtype=torch.float32, use_safetensors=True, output_loading_info=True
                )
            except (OSError, ValueError, KeyError) as error:
                raise InputError(f"--encoder {self.path}: no masked language model there ({_line(error)})") from None
        if info["missing_keys"]:
            missing = sorted(info["missing_keys"])[0]
            raise InputError(f"--encoder {self.path}: an encoder without its masked-language head (no {missing})")
        return model.to(resolve_device(self._device)).eval()

    def _check_mask_token(self) -> None:
        if self.tokenizer.mask_token_id is None:
            raise InputError(f"--encoder {self.path}: its tokenizer has no mask token; give a masked language model")

    @cached_property
    def _limit(self) -> int:
        """The longest row in tokens that tokenizer and model take."""
        positions: int = self._model.config.max_position_embeddings
        return min(positions, int(self.tokenizer.model_max_length), MOST_TOKENS)

    def _width(self, length: int) -> int:
        """The padded length of a row: its own length decides it, so that its logits do not depend on its batch."""
        return min(-(-length // LENGTH_STEP) * LENGTH_STEP, self._limit)

    def encoded(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids with special tokens, cut at the model's limit, and each token's characters in `text`."""
        batch = self.tokenizer(text, truncation=True, max_length=self._limit, return_offsets_mapping=True)
        return list(batch["input_ids"]), [tuple(pair) for pair in batch["offset_mapping"]]

    def propose(self, rows: Sequence[Masked], banned: Sequence[Sequence[str]], top: int) -> list[list[Proposals]]:
        """The `top` likeliest words for every masked place of every row.

        Args:
            rows: Masked rows; those without places cost nothing.
            banned: For every row, one original word a place; it and its variants in case or accents are left out.
            top: Words a place; fewer if the vocabulary has no more.

        Returns:
            For every row, one Proposals a place.
        """
        proposals: list[list[Proposals]] = [[] for _ in rows]
        wanted = [row for row, masked in enumerate(rows) if masked.places]
        budget = self._batch_tokens or (CUDA_BATCH_TOKENS if self._model.device.type == "cuda" else CPU_BATCH_TOKENS)
        widths = [self._width(len(rows[row].ids)) for row in wanted]
        for batch in pack(widths, budget, widths):
            batch_rows = [wanted[place] for place in batch]
            scores = self._logits([rows[row] for row in batch_rows])
            words = [word for row in batch_rows for word in banned[row]]
            found = iter(self._picked(scores, words, top))
            for row in batch_rows:
                proposals[row] = [next(found) for _ in rows[row].places]
        return proposals

    def _logits(self, rows: Sequence[Masked]) -> torch.Tensor:
        """Logits of the whole words at all masked places of the rows, in order: (places, whole words)."""
        import torch

        device = self._model.device
        width = self._width(len(rows[0].ids))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[*row.ids, *[pad] * (width - len(row.ids))] for row in rows], device=device)
        lengths = torch.tensor([len(row.ids) for row in rows], device=device)
        mask = (torch.arange(width, device=device)[None] < lengths[:, None]).long()
        numbers = [number for number, row in enumerate(rows) for _ in row.places]
        places = [place for row in rows for place in row.places]
        with torch.inference_mode(), quiet_transformers():
            logits: torch.Tensor = self._model(input_ids=ids, attention_mask=mask).logits
        return logits[numbers, places].float()[:, self._whole_words[0]]

    def _picked(self, scores: torch.Tensor, banned: Sequence[str], top: int) -> list[Proposals]:
        words = self._whole_words[1]
        # A few more than asked for, as the variants of the original word are dropped.
        best = scores.topk(min(top + 8, scores.shape[1]), dim=1)
        picked = []
        for word, values, indices in zip(banned, best.values.tolist(), best.indices.tolist(), strict=True):
            kept = [(words[i], value) for i, value in zip(indices, values, strict=True) if folded(words[i]) != word]
            picked.append(Proposals([word for word, _ in kept[:top]], [value for _, value in kept[:top]]))
        return picked

    @cached_property
    def _whole_words(self) -> tuple[list[int], list[str]]:
        """Ids and spellings of the vocabulary's whole words: no pieces, special tokens, digits or punctuation."""
        special = set(self.tokenizer.all_special_tokens)
        vocabulary = sorted(self.tokenizer.get_vocab().items(), key=lambda item: item[1])
        mark = next((mark for mark in ("Ġ", "▁") if any(token.startswith(mark) for token, _ in vocabulary)), "")
        ids, words = [], []
        for token, number in vocabulary:
            word = token.removeprefix(mark)
            if token not in special and token.startswith(mark) and len(word) > 1 and word.isalpha() and word.isascii():
                ids.append(number)
                words.append(word)
        if not words:
            raise InputError(f"--encoder {self.path}: its vocabulary has no whole words to fill in")
        return ids, words


def folded(word: str) -> str:
    """A word without case and accents: what a word and its variants share."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
