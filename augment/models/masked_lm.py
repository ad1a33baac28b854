"""A masked language model that proposes whole words for masked words, many rows in one forward pass."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from augment.errors import InputError
from augment.models.device import pack, padded, quiet_transformers, resolve_device
from augment.models.encoder import positions
from augment.models.loading import check_length, load_model, loading
from augment.text.words import is_alphabetic
from augment.types import Runtime

if TYPE_CHECKING:
    import torch
    from torch import nn
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

CPU_BATCH_TOKENS = 4_096
CUDA_BATCH_TOKENS = 65_536
MAX_TOKENS = 512
BYTE_LEVEL_SPACE = "Ġ"
SPACES = (BYTE_LEVEL_SPACE, "▁")
"""First characters of tokens after a space: in byte-level tokenizers, whose tokens spell bytes, and
SentencePiece."""
WIDTH_STEP = 4
"""Rows are padded to a multiple of so many tokens: most are short."""
UNSPACED_SCRIPTS = frozenset(["CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR"])

DISTILBERT = ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector")
ELECTRA = ("generator_predictions", "generator_lm_head")
HEADS = (("cls",), ("lm_head",), DISTILBERT, ("head", "decoder"), ("predictions",), ELECTRA)
"""The parts of a masked LM that turn token vectors into logits, in BERT, RoBERTa, DistilBERT, ModernBERT, ALBERT and
ELECTRA."""

TokenIds = tuple[int, ...]
Proposals = list[tuple[str, float]]
"""Words for one masked place, in lower case, with their logits; the likeliest first."""


class Slot(NamedTuple):
    """The kind of word that a place takes: its script, if lower case only, if without a space before it ("(dog")."""

    script: str | None
    lower: bool
    bare: bool


class Place(NamedTuple):
    """A word to replace, as the model has it.

    `number` is its place among the text's tokens, `first` and `last` those of the model's tokens that spell
    it, of which the first has the id `token`. Where the model sees a mask, that stands at `first`.
    """

    number: int
    first: int
    last: int
    token: int
    slot: Slot
    word: str


class Row(NamedTuple):
    """The token ids of a text, and the places of the words to replace."""

    ids: list[int]
    places: list[Place]


@dataclass(eq=False)
class FillModel:
    """A masked language model and its fast tokenizer in one folder, each loaded when it is first needed."""

    path: Path
    runtime: Runtime

    @cached_property
    def tokenizer(self) -> "PreTrainedTokenizerFast":
        """The tokenizer; raises InputError if it has no offsets or no vocabulary."""
        from transformers import AutoTokenizer

        with loading(f"--encoder {self.path}", self.path), quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(self.path)
        if not tokenizer.is_fast or len(tokenizer) <= len(tokenizer.all_special_tokens):
            raise InputError(
                f"--encoder {self.path}: needs a fast tokenizer (tokenizer.json) with its vocabulary"
            )
        return tokenizer

    @cached_property
    def model(self) -> "PreTrainedModel":
        """The model in float32, on its device; raises InputError if there is none or it lacks its head."""
        from transformers import AutoModelForMaskedLM

        if self.tokenizer.mask_token_id is None:
            raise InputError(f"--encoder {self.path}: no mask token; give a masked language model")
        model, missing = load_model(AutoModelForMaskedLM, self.path, f"--encoder {self.path}")
        if body := [name for name in missing if name.startswith(f"{model.base_model_prefix}.")]:
            raise InputError(
                f"--encoder {self.path}: its files lack {len(missing)} tensors of its configuration, "
                f"the first is {body[0]}: get its files again"
            )
        if missing:
            raise InputError(f"--encoder {self.path}: without a masked-language head (no {missing[0]})")
        return model.to(resolve_device(self.runtime.device)).eval()

    @cached_property
    def words(self) -> "WholeWords":
        """The whole words of the vocabulary; raises InputError like `WholeWords`."""
        return WholeWords(self.tokenizer)

    @cached_property
    def limit(self) -> int:
        """The most tokens of a row that tokenizer and model take."""
        limits = (positions(self.model.base_model), self.tokenizer.model_max_length, MAX_TOKENS)
        return min(check_length(tokens, f"--encoder {self.path}") for tokens in limits)

    def encoded(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids with special tokens, cut at the model's limit, and each token's characters in `text`."""
        batch = self.tokenizer(text, truncation=True, max_length=self.limit, return_offsets_mapping=True)
        return batch["input_ids"], batch["offset_mapping"]

    def propose(self, rows: Sequence[Row], top: int) -> list[dict[Place, Proposals]]:
        """The `top` likeliest words for every masked place of every row, without variants of the original word."""
        proposals: list[dict[Place, Proposals]] = [{} for _ in rows]
        positions = [[place.first for place in row.places] for row in rows]
        for seen, scores in self._batches([row.ids for row in rows], positions):
            places = [(row, rows[row].places[positions[row].index(position)]) for row, position in seen]
            for slot in {place.slot for _, place in places}:
                fitting = self.words.fitting(slot)
                ids, words = [*fitting], [*fitting.values()]
                masks = [mask for mask, (_, place) in enumerate(places) if place.slot == slot]
                # More than `top`, as variants of the original word and second spellings of a word are dropped.
                best = scores[masks][:, ids].topk(min(2 * top + 8, len(ids)), dim=1)
                for mask, logits, numbers in zip(
                    masks, best.values.tolist(), best.indices.tolist(), strict=True
                ):
                    row, place = places[mask]
                    original = folded(place.word)
                    word_logits: dict[str, float] = {}
                    for number, logit in zip(numbers, logits, strict=True):
                        if folded(words[number]) != original:
                            word_logits.setdefault(words[number], logit)
                    proposals[row][place] = [*word_logits.items()][:top]
        return proposals

    def fits(self, pairs: Sequence[tuple[TokenIds, TokenIds]], least: float) -> list[float | None]:
        """The log-probability of what a second text has in place of the first one's, to three decimals.

        The model sees each text whole; tokens that both begin or end with are left out. None if it is below
        `least`, and so is what it is above that of the first text's tokens; also if the texts differ only
        where they are cut off.
        """
        spans = [_difference(*pair) for pair in pairs]
        news = self._sums([(new, span) for (_, new), (_, span) in zip(pairs, spans, strict=True)])
        unsure = [place for place, log in enumerate(news) if log < least]
        olds = self._sums([(pairs[place][0], spans[place][0]) for place in unsure])
        lost = {place for place, old in zip(unsure, olds, strict=True) if news[place] - old < least}
        return [
            None if place in lost or old == new else log
            for place, ((old, new), log) in enumerate(zip(pairs, news, strict=True))
        ]

    def _sums(self, parts: Sequence[tuple[TokenIds, range]]) -> list[float]:
        """The log-probabilities of parts of texts, whose tokens the model sees."""
        positions = defaultdict[TokenIds, set[int]](set)
        for ids, span in parts:
            positions[ids].update(span)
        logs = self._own_logs(positions)
        return [round(sum(logs[ids, position] for position in span), 3) for ids, span in parts]

    def _own_logs(self, positions: Mapping[TokenIds, Iterable[int]]) -> dict[tuple[TokenIds, int], float]:
        """The log-probabilities of tokens where they stand, by their texts and positions."""
        import torch

        rows, logs = [*positions], dict[tuple[TokenIds, int], float]()
        for seen, logits in self._batches(rows, [sorted(numbers) for numbers in positions.values()]):
            own = torch.tensor([rows[row][position] for row, position in seen], device=logits.device)
            fits = logits.gather(1, own[:, None])[:, 0] - logits.logsumexp(1)
            keys = [(rows[row], position) for row, position in seen]
            logs.update(zip(keys, fits.tolist(), strict=True))
        return logs

    def _batches(
        self, rows: Sequence[Sequence[int]], positions: Sequence[Sequence[int]]
    ) -> Iterator[tuple[list[tuple[int, int]], "torch.Tensor"]]:
        """The positions of all rows of token ids in batches, each with the number of its row, and the logits there."""
        numbers = [number for number, places in enumerate(positions) if places]
        default = CUDA_BATCH_TOKENS if self.model.device.type == "cuda" else CPU_BATCH_TOKENS
        widths = [padded(len(rows[number]), self.limit, WIDTH_STEP) for number in numbers]
        for batch in pack(widths, self.runtime.batch_tokens or default):
            seen = [(numbers[row], position) for row in batch for position in positions[numbers[row]]]
            places = [
                (place, position) for place, row in enumerate(batch) for position in positions[numbers[row]]
            ]
            yield seen, self._logits([rows[numbers[row]] for row in batch], widths[batch[0]], places)

    def _logits(
        self, rows: Sequence[Sequence[int]], width: int, positions: Sequence[tuple[int, int]]
    ) -> "torch.Tensor":
        """Logits at positions of rows that are padded to one width, in order: (positions, vocabulary)."""
        import torch

        device = self.model.device
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows], device=device)
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=device)
        numbers, places = torch.tensor(positions, device=device).T
        with torch.inference_mode(), quiet_transformers():
            hidden = self.model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
            return masked_lm_logits(self.model, hidden[numbers, places])


def _difference(old: TokenIds, new: TokenIds) -> tuple[range, range]:
    """The positions in each row that are not of a beginning or an end that both have."""
    shorter = min(len(old), len(new))
    start = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    tail = next(
        (place for place in range(shorter - start) if old[-1 - place] != new[-1 - place]), shorter - start
    )
    return range(start, len(old) - tail), range(start, len(new) - tail)


def masked_lm_logits(model: "nn.Module", vectors: "torch.Tensor") -> "torch.Tensor":
    """The logits (n, vocabulary) of token vectors (n, d); raises InputError if the head is not known."""
    head = next((parts for parts in HEADS if all(hasattr(model, part) for part in parts)), None)
    if head is None:
        raise InputError(
            f"{type(model).__name__}: its masked-LM head is not known; use a BERT, RoBERTa, DistilBERT or ModernBERT"
        )
    for part in head:
        vectors = getattr(model, part)(vectors)
    return vectors.float()


def folded(word: str) -> str:
    """A word without case and accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


def token_span(offsets: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int] | None:
    """First and last token of a word, given the characters of each.

    None if they do not start and end where it does.
    """
    inside = [
        place for place, (first, last) in enumerate(offsets) if first < last and first < end and last > start
    ]
    # Byte-level tokenizers count the space before a word as part of its first token.
    if inside and offsets[inside[0]][0] in (start, start - 1) and offsets[inside[-1]][1] == end:
        return inside[0], inside[-1]
    return None


class WholeWords:
    """The tokens that are whole words, by the kind of place that they may fill.

    It leaves out pieces of words, special tokens, tokens with digits or punctuation, single letters, words of
    mixed script, and capitalised words without a lower-case entry, which are names. Raises InputError for a
    vocabulary that has no words or marks them in an unknown way.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast") -> None:
        special, decoder = set(tokenizer.all_special_tokens), tokenizer.backend_tokenizer.decoder
        self._mark = _word_mark(tokenizer)
        tables: tuple[dict[int, str], dict[int, str]] = {}, {}
        for token, number in tokenizer.get_vocab().items():
            word = token.removeprefix(self._mark)
            if self._mark == BYTE_LEVEL_SPACE and not word.isascii():
                word = decoder.decode([word]).strip()
            is_word = len(word) > 1 and word[0].isalpha() and is_alphabetic(word)
            if is_word and token not in special and script_of(word) not in (None, *UNSPACED_SCRIPTS):
                tables[not token.startswith(self._mark)][number] = word
        lower = {word for word in tables[0].values() if word == word.lower()}
        after_space, bare = (
            {n: word for n, word in table.items() if word.lower() in lower} for table in tables
        )
        if not after_space:
            raise InputError(
                f"--encoder {tokenizer.name_or_path}: its vocabulary has no whole words to fill in"
            )
        self._tables = after_space, bare if self._mark else after_space
        self.fitting = cache(self._fitting)
        self.ids = cache(lambda slot: {word: number for number, word in self.fitting(slot).items()})

    def _fitting(self, slot: Slot) -> dict[int, str]:
        """The tokens that fit such a place by their ids, in lower case."""
        return {
            number: word.lower()
            for number, word in sorted(self._tables[slot.bare].items())
            if script_of(word) == slot.script and not (slot.lower and word != word.lower())
        }

    def serves(self, slot: Slot) -> bool:
        """Whether the vocabulary has 200 words, or 3% of a small one, for such a place: an English one has no Greek."""
        return len(self.fitting(slot)) >= min(200, 0.03 * len(self._tables[0]))

    def slot(self, word: str, first: str) -> Slot:
        """The kind of place that a word of a text leaves, given its first token."""
        return Slot(script_of(word), word == word.lower(), not first.startswith(self._mark))


def script_of(word: str) -> str | None:
    """The script that all letters of a word share ("LATIN", "CYRILLIC", "CJK"), None if they do not."""
    names = [unicodedata.name(letter, "") for letter in word if unicodedata.category(letter)[0] != "M"]
    scripts = {name.partition(" ")[0] for name in names}
    return scripts.pop() if len(scripts) == 1 else None


def _word_mark(tokenizer: "PreTrainedTokenizerFast") -> str:
    """The first character of a token that begins a word; "" for WordPiece, which marks all other tokens."""
    vocabulary = tokenizer.get_vocab()
    counts = {mark: sum(token.startswith(mark) for token in vocabulary) for mark in SPACES}
    mark = max(SPACES, key=counts.__getitem__)
    if counts[mark] > 0.05 * len(vocabulary):  # otherwise it is an ordinary character
        return mark
    if any(token.startswith("##") for token in vocabulary):
        return ""
    ways = "known: ## as BERT, Ġ as RoBERTa, ▁ as XLM-R"
    raise InputError(
        f"--encoder {tokenizer.name_or_path}: its vocabulary marks words in an unknown way ({ways})"
    )
