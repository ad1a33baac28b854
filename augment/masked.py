"""A masked language model that proposes whole words for masked words, many rows in one forward pass."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from augment.device import pack, quiet_transformers, resolve_device
from augment.errors import InputError
from augment.vocabulary import Slot, WholeWords

if TYPE_CHECKING:
    import torch
    from torch.nn import Module
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

CPU_BATCH_TOKENS = 4_096
CUDA_BATCH_TOKENS = 65_536
LENGTH_STEP = 16
MOST_TOKENS = 512
FIRST_PIECES = 10
"""Ids below are special tokens in every vocabulary whose positions are counted from the padding's."""
PLAIN = Slot("LATIN", lower=True, bare=False)


class Masked(NamedTuple):
    """A row for the model: token ids with single mask tokens, the places of those in order, and what each takes.

    Without `slots` every place takes lower-case Latin words after a space.
    """

    ids: list[int]
    places: list[int]
    slots: Sequence[Slot] = ()


class Proposals(NamedTuple):
    """What may stand in one masked place: words in lower case with their logits, the likeliest first."""

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
        """The tokenizer; raises InputError if it has no offsets or no vocabulary."""
        from transformers import AutoTokenizer

        with quiet_transformers():
            try:
                tokenizer = AutoTokenizer.from_pretrained(self.path)
            except (OSError, ValueError, KeyError) as error:
                raise self._mistake(f"no tokenizer could be read there ({_line(error)})") from None
        if not tokenizer.is_fast:
            raise self._mistake("needs a fast tokenizer (tokenizer.json); this one has no offsets")
        if len(tokenizer) <= len(tokenizer.all_special_tokens):
            raise self._mistake("no vocabulary, the tokenizer's files are missing")
        return tokenizer

    @cached_property
    def model(self) -> PreTrainedModel:
        """The model in float32, on its device; raises InputError if there is none or it lacks its head."""
        import torch
        from transformers import AutoModelForMaskedLM

        if self.tokenizer.mask_token_id is None:
            raise self._mistake("its tokenizer has no mask token; give a masked language model")
        with quiet_transformers():
            try:
                model, info = AutoModelForMaskedLM.from_pretrained(
                    self.path, dtype=torch.float32, use_safetensors=True, output_loading_info=True
                )
            except (OSError, ValueError, KeyError) as error:
                raise self._mistake(f"no masked language model there ({_line(error)})") from None
        if info["missing_keys"]:
            missing = sorted(info["missing_keys"])[0]
            raise self._mistake(f"an encoder without its masked-language head (no {missing})")
        return model.to(resolve_device(self._device)).eval()

    def _mistake(self, what: str) -> InputError:
        return InputError(f"--encoder {self.path}: {what}")

    @property
    def batch_tokens(self) -> int:
        """Tokens in one batch, padding included."""
        return self._batch_tokens or (CUDA_BATCH_TOKENS if self.model.device.type == "cuda" else CPU_BATCH_TOKENS)

    @cached_property
    def limit(self) -> int:
        """The longest row in tokens that tokenizer and model take."""
        config = self.model.config
        positions: int = config.max_position_embeddings
        pad = config.pad_token_id or 0
        if 0 < pad < FIRST_PIECES:  # RoBERTa and its kin count positions from the padding's id on
            positions -= pad + 1
        return min(positions, int(self.tokenizer.model_max_length), MOST_TOKENS)

    def width(self, length: int) -> int:
        """The padded length of a row: its own length decides it, so that its logits do not depend on its batch."""
        return min(-(-length // LENGTH_STEP) * LENGTH_STEP, self.limit)

    def encoded(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids with special tokens, cut at the model's limit, and each token's characters in `text`."""
        batch = self.tokenizer(text, truncation=True, max_length=self.limit, return_offsets_mapping=True)
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
        widths = [self.width(len(rows[row].ids)) for row in wanted]
        for batch in pack(widths, self.batch_tokens):
            batch_rows = [wanted[place] for place in batch]
            scores = self.logits([rows[row] for row in batch_rows])
            slots = [slot for row in batch_rows for slot in rows[row].slots or [PLAIN] * len(rows[row].places)]
            originals = [folded(word) for row in batch_rows for word in banned[row]]
            found = iter(self._picked(scores, slots, originals, top))
            for row in batch_rows:
                proposals[row] = [next(found) for _ in rows[row].places]
        return proposals

    def logits(self, rows: Sequence[Masked]) -> torch.Tensor:
        """Logits of the vocabulary at the masked places of rows of one width, in order: (places, vocabulary)."""
        import torch

        device = self.model.device
        width = self.width(max(len(row.ids) for row in rows))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[*row.ids, *[pad] * (width - len(row.ids))] for row in rows], device=device)
        lengths = torch.tensor([len(row.ids) for row in rows], device=device)
        mask = (torch.arange(width, device=device)[None] < lengths[:, None]).long()
        numbers = torch.tensor([number for number, row in enumerate(rows) for _ in row.places], device=device)
        places = torch.tensor([place for row in rows for place in row.places], device=device)
        with torch.inference_mode(), quiet_transformers(), _only_at(self.model, numbers, places):
            logits: torch.Tensor = self.model(input_ids=ids, attention_mask=mask).logits
        found = logits[0] if logits.shape[:2] != ids.shape else logits[numbers, places]
        return found.float()

    def _picked(self, scores: torch.Tensor, slots: Sequence[Slot], banned: Sequence[str], top: int) -> list[Proposals]:
        """The likeliest words of each place: (places, vocabulary) in, one Proposals a place out."""
        picked = [Proposals([], []) for _ in slots]
        for slot in dict.fromkeys(slots):
            ids, words = self.words.fitting(slot)
            places = [place for place, other in enumerate(slots) if other == slot]
            # More than asked for, as the original word's variants and second spellings of a word are dropped.
            count = min(2 * top + 8, len(ids))
            best = scores[places][:, ids].topk(count, dim=1)
            for place, values, indices in zip(places, best.values.tolist(), best.indices.tolist(), strict=True):
                kept: dict[str, float] = {}
                for index, value in zip(indices, values, strict=True):
                    if folded(words[index]) != banned[place]:
                        kept.setdefault(words[index], value)
                picked[place] = Proposals([*kept][:top], [*kept.values()][:top])
        return picked

    @cached_property
    def words(self) -> WholeWords:
        """The whole words of the vocabulary; raises InputError where there are none or no way to tell them."""
        return WholeWords(self.tokenizer)


@contextmanager
def _only_at(model: PreTrainedModel, rows: torch.Tensor, places: torch.Tensor) -> Iterator[None]:
    """Let a model compute its head at these places only: what the layers below it give is cut down to them.

    A head works on each place by itself, so that (1, places, width) is as good to it as (rows, length, width). Models
    without a part below their head, or whose part gives something else, compute all.
    """

    def cut(_module: Module, _inputs: object, output: object) -> object:
        hidden = getattr(output, "last_hidden_state", None)
        if hidden is not None and hidden.dim() == 3:
            output.last_hidden_state = hidden[rows, places][None]  # type: ignore[attr-defined]
        return output

    hook = model.base_model.register_forward_hook(cut)
    try:
        yield
    finally:
        hook.remove()


def folded(word: str) -> str:
    """A word without case and accents: what a word and its variants share."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


def token_span(offsets: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int] | None:
    """First and last token of a word, given each token's characters and the word's.

    None if the tokens do not start and end where the word does, or were cut off.
    """
    inside = [place for place, (first, last) in enumerate(offsets) if first < last and first < end and last > start]
    if not inside:
        return None
    # Byte-level tokenizers count the space before a word as part of its first token.
    whole = offsets[inside[0]][0] in (start, start - 1) and offsets[inside[-1]][1] == end
    return (inside[0], inside[-1]) if whole else None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
