"""MarianMT on transformers: greedy search, seeded sampling and beam search.

Finished rows leave the batch, and every row draws by its own seed; transformers' own `generate` does neither.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from augment.errors import InputError
from augment.models.device import LENGTH_STEP, padded, quiet_transformers, resolve_device
from augment.models.loading import check_weights, loading
from augment.translate.decoding import Decoding
from augment.translate.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import MarianMTModel

CPU_BATCH_TOKENS = 8_192
CUDA_BATCH_TOKENS = 16_384
DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
MIN_UNFINISHED_SHARE = 0.75
"""Finished rows leave the batch once fewer than this share are unfinished, as this copies the others."""
MAX_CPU_SCORES = 2**18
"""Scores that are drawn from at once on a CPU; the noise for more of them would leave the caches."""
IMPOSSIBLE_SCORE = -1e9
"""A score below that of any text; finite, as in transformers' beam search."""
# SplitMix64 (Steele, Lea and Flood 2014): the increment and the two multipliers, as signed 64-bit numbers.
_INCREMENT = -7046029254386353131
_MULTIPLIER_1 = -4658895280553007687
_MULTIPLIER_2 = -7723592293110705685


class TransformersEngine:
    """A model on its device, with the attributes and the method of `CTranslate2Engine`."""

    length_step = LENGTH_STEP
    ahead = 1

    def __init__(self, path: Path, vocabulary: Vocabulary, precision: str, device: str) -> None:
        self._vocabulary = vocabulary
        self._device = resolve_device(device)
        self.batch_tokens = self.beam_tokens = CUDA_BATCH_TOKENS if self._device.type == "cuda" else CPU_BATCH_TOKENS
        self._autocasts = self._device.type == "cpu" and precision == "bf16"
        model = load_model(path)
        self._model: MarianMTModel = model.to(self._device, None if self._autocasts else DTYPES[precision]).eval()

    def search(
        self, sources: Sequence[Sequence[int]], decoding: Decoding, seeds: Sequence[int]
    ) -> Callable[[], list[list[list[int]]]]:
        """Return a function that searches and returns the hypotheses of equally padded sources."""

        def run() -> list[list[list[int]]]:
            width, pad = padded(len(sources[0]), self._vocabulary.limit), self._vocabulary.pad
            ids = torch.tensor([[*source, *[pad] * (width - len(source))] for source in sources], device=self._device)
            lengths = torch.tensor([len(source) for source in sources], device=self._device)
            mask = torch.arange(width, device=self._device)[None] < lengths[:, None]
            autocast = torch.autocast("cpu", dtype=torch.bfloat16) if self._autocasts else nullcontext()
            with torch.inference_mode(), autocast:
                decoder = Decoder(self._model, ids, mask, decoding, self._vocabulary.suppress_tokens)
                return search(decoder, self._vocabulary.max_length(width, decoding.length), seeds)

        return run


def load_model(path: Path) -> "MarianMTModel":
    """A model in float32; raises InputError if weights are missing or cannot be read."""
    from transformers import MarianMTModel

    with loading(f"--models {path}", path), quiet_transformers():
        model, info = MarianMTModel.from_pretrained(
            path, dtype=torch.float32, use_safetensors=True, attn_implementation="sdpa", output_loading_info=True
        )
    check_weights(model, f"--models {path}")
    if info["missing_keys"]:
        raise InputError(f"--models {path}: not a complete MarianMT model (no {min(info['missing_keys'])})")
    return model


class Decoder:
    """The decoder half of a model, one token a step for every row of a batch.

    `sources` are padded token ids (sources by width), each decoded in one row per beam; `mask` is True for tokens and
    False for padding. The ids to `suppress` are never written.
    """

    def __init__(
        self, model: "MarianMTModel", sources: Tensor, mask: Tensor, decoding: Decoding, suppress: Sequence[int]
    ) -> None:
        from transformers import DynamicCache, EncoderDecoderCache, RepetitionPenaltyLogitsProcessor

        self.start, self.end = int(model.config.decoder_start_token_id), int(model.config.eos_token_id)
        self.sources, self.device, self.decoding = len(sources), sources.device, decoding
        self._model, self._decoder = model, model.model.decoder
        encoded = model.model.encoder(input_ids=sources, attention_mask=mask.long()).last_hidden_state
        self.dtype = torch.promote_types(encoded.dtype, torch.float32)
        self._encoded = encoded.repeat_interleave(decoding.num_beams, dim=0)
        self._mask = mask.bool().repeat_interleave(decoding.num_beams, dim=0)[:, None, None, :]
        self._cache = EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))
        self._suppressed = torch.tensor(suppress, device=self.device)
        self._penalise = RepetitionPenaltyLogitsProcessor(decoding.repetition_penalty)

    def scores(self, texts: Tensor) -> Tensor:
        """The logits of the next token after `texts` (rows by tokens, the start token first); rows by vocabulary.

        Earlier calls have given all tokens but the last. The result is float32 or wider.
        """
        decoder = self._decoder
        hidden = decoder.embed_tokens(texts[:, -1:]) * decoder.embed_scale
        hidden = hidden + decoder.embed_positions.weight[texts.shape[1] - 1]
        for layer in decoder.layers:
            hidden = layer(hidden, None, self._encoded, encoder_attention_mask=self._mask, past_key_values=self._cache)
        scores = (self._model.lm_head(hidden[:, -1]) + self._model.final_logits_bias).to(self.dtype)
        if self.decoding.repetition_penalty != 1:
            scores = self._penalise(texts, scores)
        return scores.index_fill(1, self._suppressed, float("-inf"))  # type: ignore[no-any-return]

    def keep(self, rows: Tensor) -> None:
        """Drop all other rows."""
        self._encoded, self._mask = self._encoded[rows], self._mask[rows]
        self._cache.batch_select_indices(rows)

    def reorder(self, rows: Tensor) -> None:
        """Let every row continue another row of the same source."""
        self._cache.self_attention_cache.reorder_cache(rows)


def search(decoder: Decoder, max_length: int, seeds: Sequence[int] = ()) -> list[list[list[int]]]:
    """For every source its hypotheses of at most `max_length` tokens, the best first, with the end token if reached."""
    if decoder.decoding.num_beams > 1:
        return [texts[: decoder.decoding.hypotheses] for texts in _beam_search(decoder, max_length)]
    return [[text] for text in _walk(decoder, max_length, seeds)]


def cut(tokens: list[int], end: int) -> list[int]:
    """The tokens up to and including the end token; all if there is none."""
    return tokens[: tokens.index(end) + 1] if end in tokens else tokens


def _walk(decoder: Decoder, max_length: int, seeds: Sequence[int]) -> list[list[int]]:
    device, decoding, rows = decoder.device, decoder.decoding, decoder.sources
    texts = torch.full((rows, max_length + 1), decoder.end, device=device)
    texts[:, 0] = decoder.start
    row_seeds = torch.tensor(seeds, device=device)
    numbers = torch.arange(rows, device=device)  # of the texts in the batch
    is_finished = torch.zeros(rows, dtype=torch.bool, device=device)
    for position in range(max_length):
        scores = decoder.scores(texts[numbers, : position + 1])
        tokens = draw(scores, decoding, row_seeds[numbers], position) if decoding.sampled else scores.argmax(dim=-1)
        texts[numbers, position + 1] = tokens.masked_fill(is_finished, decoder.end)
        is_finished |= tokens == decoder.end
        unfinished = torch.nonzero(~is_finished)[:, 0]
        if not len(unfinished):
            break
        if len(unfinished) < MIN_UNFINISHED_SHARE * len(numbers):
            decoder.keep(unfinished)
            numbers, is_finished = numbers[unfinished], is_finished[unfinished]
    return [cut(row, decoder.end) for row in texts[:, 1:].tolist()]


def draw(logits: Tensor, decoding: Decoding, seeds: Tensor, position: int) -> Tensor:
    """One token a row from softmax(logits / temperature), cut to the top k or the top p, at a position of the text.

    By the Gumbel-max trick (Gumbel 1954): the largest logit plus Gumbel noise is a draw from the softmax, which
    rounding changes only for nearly equal tokens. Logits are rows by vocabulary; seeds are one a row (int64).
    """
    rows = max(1, MAX_CPU_SCORES // logits.shape[-1])
    if logits.device.type == "cpu" and len(logits) > rows:
        parts = (slice(start, start + rows) for start in range(0, len(logits), rows))
        return torch.cat([draw(logits[part], decoding, seeds[part], position) for part in parts])
    scores = logits.double() / decoding.temperature
    tokens = torch.arange(scores.shape[-1], device=scores.device)[None]
    if decoding.top_k is not None:
        scores, tokens = scores.topk(min(decoding.top_k, scores.shape[-1]))
    if decoding.top_p is not None:  # minus infinity beyond the fewest tokens that make up this share
        ordered, order = scores.sort(dim=-1, descending=True, stable=True)
        probabilities = ordered.softmax(dim=-1)
        beyond = probabilities.cumsum(dim=-1) - probabilities >= decoding.top_p
        scores = scores.masked_fill(beyond.gather(1, order.argsort(dim=-1)), float("-inf"))
    gumbel = -torch.log(-torch.log(uniform(seeds, position, tokens)))
    best = (scores + gumbel).argmax(dim=-1, keepdim=True)
    return tokens.expand(len(scores), -1).gather(1, best)[:, 0]


def uniform(seeds: Tensor, position: int, tokens: Tensor) -> Tensor:
    """Numbers in (0, 1), a hash of seed, position and token; the same in any batch and on every device.

    Seeds are one a row (int64); tokens have one row for all seeds or one for each. The result is float64, seeds by
    tokens.
    """
    streams = _mix(seeds + seeds.new_tensor(position + 1) * _INCREMENT)
    bits = _shifted(_mix(streams[:, None] + (tokens + 1) * _INCREMENT), 11)
    return (bits.double() + 0.5) * 2.0**-53


def _mix(numbers: Tensor) -> Tensor:
    numbers = (numbers ^ _shifted(numbers, 30)) * _MULTIPLIER_1
    numbers = (numbers ^ _shifted(numbers, 27)) * _MULTIPLIER_2
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: Tensor, places: int) -> Tensor:
    """Shift to the right as if unsigned."""
    return (numbers >> places) & ((1 << (64 - places)) - 1)


def _beam_search(decoder: Decoder, max_length: int) -> list[list[list[int]]]:
    """Beam search as in CTranslate2, and in transformers with early stopping and renormalised scores.

    Scores are divided by the length, end token included; a row is done once it has as many finished texts as beams.
    """
    num_beams, device = decoder.decoding.num_beams, decoder.device
    beams = _Beams(decoder, num_beams, max_length)
    hypotheses: list[list[list[int]]] = [[] for _ in range(decoder.sources)]
    numbers = torch.arange(decoder.sources, device=device)  # of the sources in the batch
    is_finished = torch.zeros(decoder.sources, dtype=torch.bool, device=device)
    for position in range(max_length):
        scores = decoder.scores(beams.texts[:, :, : position + 1].flatten(0, 1)).log_softmax(dim=-1)
        is_last = position + 1 == max_length
        parents = beams.grow(scores, position, decoder.end, is_last=is_last)
        finishes = ~is_finished if is_last else ~is_finished & (beams.finished_scores[:, -1] > IMPOSSIBLE_SCORE / 2)
        for row in torch.nonzero(finishes)[:, 0].tolist():
            hypotheses[int(numbers[row])] = beams.best(row, position + 1, decoder.end)
        is_finished |= finishes
        unfinished = torch.nonzero(~is_finished)[:, 0]
        if not len(unfinished):
            break
        decoder.reorder(parents)
        if len(unfinished) < MIN_UNFINISHED_SHARE * len(numbers):
            decoder.keep((unfinished[:, None] * num_beams + torch.arange(num_beams, device=device)).flatten())
            beams.keep(unfinished)
            numbers, is_finished = numbers[unfinished], is_finished[unfinished]
    return hypotheses


class _Beams:
    """A batch's running and best finished beams: texts are rows by beams by tokens, scores rows by beams."""

    def __init__(self, decoder: Decoder, num_beams: int, max_length: int) -> None:
        shape, device = (decoder.sources, num_beams), decoder.device
        self.texts = torch.full((*shape, max_length + 1), decoder.start, device=device)
        self.scores = torch.full(shape, IMPOSSIBLE_SCORE, dtype=decoder.dtype, device=device)
        self.finished, self.finished_scores = self.texts.clone(), self.scores.clone()
        self.scores[:, 0] = 0  # one running beam a row, so that the first step gives different ones

    def keep(self, rows: Tensor) -> None:
        for name, values in list(vars(self).items()):
            setattr(self, name, values[rows])

    def grow(self, scores: Tensor, position: int, end: int, *, is_last: bool) -> Tensor:
        """Add one token to every beam, given its log probabilities; return the row of the batch it continues.

        Twice as many candidates as beams are considered, so that enough remain if all beams end at once.
        """
        rows, num_beams = self.scores.shape
        vocabulary = scores.shape[-1]
        sums = (scores.view(rows, num_beams, vocabulary) + self.scores[:, :, None]).view(rows, -1)
        candidates, places = sums.topk(2 * num_beams)
        parents, tokens = places // vocabulary, places % vocabulary
        texts = _select(self.texts, parents)
        texts[:, :, position + 1] = tokens
        is_finished = torch.ones_like(tokens, dtype=torch.bool) if is_last else tokens == end
        finished_scores = (candidates / (position + 1) + ~is_finished * IMPOSSIBLE_SCORE)[:, :num_beams]
        self.finished_scores, places = torch.cat([self.finished_scores, finished_scores], dim=1).topk(num_beams)
        self.finished = _select(torch.cat([self.finished, texts[:, :num_beams]], dim=1), places)
        self.scores, places = (candidates + is_finished * IMPOSSIBLE_SCORE).topk(num_beams)
        self.texts = _select(texts, places)
        offsets = torch.arange(rows, device=scores.device)[:, None] * num_beams
        return (parents.gather(1, places) + offsets).flatten()

    def best(self, row: int, length: int, end: int) -> list[list[int]]:
        """The finished texts of a row, the best first; if there are none, the best running one of `length` tokens."""
        finished = self.finished[row, self.finished_scores[row] > IMPOSSIBLE_SCORE / 2]
        if not len(finished):
            return [self.texts[row, 0, 1 : length + 1].tolist()]
        return [cut(tokens, end) for tokens in finished[:, 1:].tolist()]


def _select(texts: Tensor, places: Tensor) -> Tensor:
    return texts.gather(1, places[:, :, None].expand(-1, -1, texts.shape[-1]))
