"""Greedy search, sampling by seed and beam search on MarianMT; rows that are done leave the batch.

`generate` of transformers keeps every row until the last one ends, and draws from one generator for the whole batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import torch

from augment.translate.decoding import Decoding

if TYPE_CHECKING:
    from transformers import MarianMTModel

KEPT_SHARE = 0.75
"""Rows that are done leave the batch once less than this share of it is left: leaving costs a copy of the rest."""
IMPOSSIBLE = -1e9
"""A score that no text has; finite, as transformers' beam search has it."""
# SplitMix64 (Steele, Lea and Flood 2014): the increment and the two multipliers, as signed 64-bit numbers.
_STEP = -7046029254386353131
_FIRST = -4658895280553007687
_SECOND = -7723592293110705685


def search(
    model: MarianMTModel,
    sources: torch.Tensor,
    mask: torch.Tensor,
    decoding: Decoding,
    *,
    max_length: int,
    suppress_tokens: Sequence[int],
    seeds: Sequence[int] = (),
) -> list[list[list[int]]]:
    """For every source its hypotheses, the best first: token ids, with the end token where it was reached.

    Args:
        model: With scaled dot product attention.
        sources: Token ids, rows by width, padded.
        mask: 1 where `sources` has a token, 0 where it is padding.
        decoding: How.
        max_length: Tokens of an output, the end token included.
        suppress_tokens: Tokens that are never written.
        seeds: For sampling, one for each hypothesis of each source, the first source's first.
    """
    decoder = Decoder(model, sources, mask, decoding, suppress_tokens)
    if decoding.num_beams > 1:
        return _beam_search(decoder, decoding, len(sources), max_length)
    texts = _walk(decoder, decoding, len(sources), max_length, seeds)
    return [texts[place : place + decoding.hypotheses] for place in range(0, len(texts), decoding.hypotheses)]


def cut(tokens: list[int], end: int) -> list[int]:
    """The tokens up to the end token, with it; all where there is none."""
    return tokens[: tokens.index(end) + 1] if end in tokens else tokens


class Decoder:
    """The decoder half of a model, one token a step for every row of a batch; for its arguments see `search`.

    Each source is decoded by as many rows, one after another, as `decoding` asks for.
    """

    def __init__(
        self,
        model: MarianMTModel,
        sources: torch.Tensor,
        mask: torch.Tensor,
        decoding: Decoding,
        suppress_tokens: Sequence[int],
    ) -> None:
        from transformers import DynamicCache, EncoderDecoderCache, RepetitionPenaltyLogitsProcessor

        self.start, self.end = int(model.config.decoder_start_token_id), int(model.config.eos_token_id)
        self._model, self._decoder = model, model.model.decoder
        encoded = model.model.encoder(input_ids=sources, attention_mask=mask).last_hidden_state
        self.dtype = torch.float64 if encoded.dtype == torch.float64 else torch.float32
        self.device = sources.device
        self._encoded = encoded.repeat_interleave(decoding.rows_per_source, dim=0)
        self._mask = mask.bool().repeat_interleave(decoding.rows_per_source, dim=0)[:, None, None, :]
        self._cache = EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))
        self._suppressed = torch.tensor(suppress_tokens, device=sources.device)
        penalty = decoding.repetition_penalty
        self._penalise = RepetitionPenaltyLogitsProcessor(penalty) if penalty != 1 else None

    def scores(self, texts: torch.Tensor) -> torch.Tensor:
        """The logits of the next token after `texts` (rows by tokens, the start token first); rows by vocabulary.

        All but the last token were given before. The result is float32 or wider.
        """
        decoder = self._decoder
        hidden = decoder.embed_tokens(texts[:, -1:]) * decoder.embed_scale
        hidden = hidden + decoder.embed_positions.weight[texts.shape[1] - 1]
        for layer in decoder.layers:
            hidden = layer(hidden, None, self._encoded, encoder_attention_mask=self._mask, past_key_values=self._cache)
        scores = (self._model.lm_head(hidden[:, -1]) + self._model.final_logits_bias).to(self.dtype)
        if self._penalise is not None:
            scores = self._penalise(texts, scores)
        return scores.index_fill(1, self._suppressed, float("-inf"))  # type: ignore[no-any-return]

    def keep(self, rows: torch.Tensor) -> None:
        """Go on with these rows alone."""
        self._encoded, self._mask = self._encoded[rows], self._mask[rows]
        self._cache.batch_select_indices(rows)

    def reorder(self, rows: torch.Tensor) -> None:
        """Let every row go on from another row of the same source: what it sees of the source stays as it is."""
        self._cache.self_attention_cache.reorder_cache(rows)


def _walk(decoder: Decoder, decoding: Decoding, sources: int, max_length: int, seeds: Sequence[int]) -> list[list[int]]:
    """One token after another, the most probable or a drawn one."""
    device, rows = decoder.device, sources * decoding.hypotheses
    texts = torch.full((rows, max_length + 1), decoder.end, device=device)
    texts[:, 0] = decoder.start
    row_seeds = torch.tensor(seeds, device=device)
    going = torch.arange(rows, device=device)
    ended = torch.zeros(rows, dtype=torch.bool, device=device)
    for position in range(max_length):
        scores = decoder.scores(texts[going, : position + 1])
        tokens = draw(scores, decoding, row_seeds[going], position) if decoding.sampled else scores.argmax(dim=-1)
        texts[going, position + 1] = tokens.masked_fill(ended, decoder.end)
        ended |= tokens == decoder.end
        left = torch.nonzero(~ended)[:, 0]
        if not len(left):
            break
        if len(left) < KEPT_SHARE * len(going):
            decoder.keep(left)
            going, ended = going[left], ended[left]
    return [cut(row, decoder.end) for row in texts[:, 1:].tolist()]


def draw(logits: torch.Tensor, decoding: Decoding, seeds: torch.Tensor, position: int) -> torch.Tensor:
    """One token a row from softmax(logits / temperature), cut to the top k or the top p.

    By the Gumbel-max trick (Gumbel 1954): the largest of logit plus Gumbel noise is a draw from the softmax. Rounding
    in the logits then changes a draw only where two tokens were level to that rounding.

    Args:
        logits: Rows by vocabulary.
        decoding: Temperature, top k and top p.
        seeds: One a row, int64.
        position: Of the token that is drawn.
    """
    scores = logits.double() / decoding.temperature
    if decoding.top_k is not None:
        scores, tokens = scores.topk(min(decoding.top_k, scores.shape[-1]))
    else:
        tokens = torch.arange(scores.shape[-1], device=scores.device)[None]
    if decoding.top_p is not None:
        scores = _nucleus(scores, decoding.top_p)
    gumbel = -torch.log(-torch.log(uniform(seeds, position, tokens)))
    best = (scores + gumbel).argmax(dim=-1, keepdim=True)
    return tokens.expand(len(scores), -1).gather(1, best)[:, 0]


def uniform(seeds: torch.Tensor, position: int, tokens: torch.Tensor) -> torch.Tensor:
    """Numbers in (0, 1) that a hash of seed, position and token gives; the same in any batch and on every device.

    Args:
        seeds: One a row, int64.
        position: Of the token that is drawn.
        tokens: Their numbers, one row for all or one for each seed.

    Returns:
        float64, one row for each seed, one column for each token.
    """
    streams = _mix(seeds + seeds.new_tensor(position + 1) * _STEP)
    bits = _shifted(_mix(streams[:, None] + (tokens + 1) * _STEP), 11)
    return (bits.double() + 0.5) * 2.0**-53


def _nucleus(scores: torch.Tensor, share: float) -> torch.Tensor:
    """The scores, with minus infinity for tokens beyond the fewest that make up `share` of the probability."""
    ordered, order = scores.sort(dim=-1, descending=True, stable=True)
    probabilities = ordered.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    return scores.masked_fill((before >= share).gather(1, order.argsort(dim=-1)), float("-inf"))


def _mix(numbers: torch.Tensor) -> torch.Tensor:
    numbers = (numbers ^ _shifted(numbers, 30)) * _FIRST
    numbers = (numbers ^ _shifted(numbers, 27)) * _SECOND
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: torch.Tensor, places: int) -> torch.Tensor:
    """Shift to the right as if unsigned."""
    return (numbers >> places) & ((1 << (64 - places)) - 1)


def _beam_search(decoder: Decoder, decoding: Decoding, sources: int, max_length: int) -> list[list[list[int]]]:
    """Beam search as CTranslate2 does it, and transformers with early stopping and renormalised scores.

    Scores are divided by the length, end token included; a row is done once enough texts are finished for its patience.
    """
    num_beams, device = decoding.num_beams, decoder.device
    beams = _Beams.start(decoder, sources, num_beams, max_length)
    found: list[list[list[int]]] = [[] for _ in range(sources)]
    going = torch.arange(sources, device=device)
    done = torch.zeros(sources, dtype=torch.bool, device=device)
    for position in range(max_length):
        scores = decoder.scores(beams.texts[:, :, : position + 1].flatten(0, 1)).log_softmax(dim=-1)
        last = position + 1 == max_length
        parents = beams.grow(scores, position, decoder.end, last=last)
        stopped = ~done if last else ~done & (beams.ended >= num_beams * decoding.patience)
        for row in torch.nonzero(stopped)[:, 0].tolist():
            found[int(going[row])] = beams.best(row, position + 1, decoder.end)[: decoding.hypotheses]
        done |= stopped
        left = torch.nonzero(~done)[:, 0]
        if not len(left):
            break
        decoder.reorder(parents)
        if len(left) < KEPT_SHARE * len(going):
            decoder.keep((left[:, None] * num_beams + torch.arange(num_beams, device=device)).flatten())
            beams = beams.of(left)
            going, done = going[left], done[left]
    return found


@dataclass
class _Beams:
    """The running and the best finished beams of a batch: texts rows by beams by tokens, scores rows by beams.

    `ended` counts the texts of each row that were finished so far.
    """

    texts: torch.Tensor
    scores: torch.Tensor
    finished: torch.Tensor
    finished_scores: torch.Tensor
    ended: torch.Tensor

    @classmethod
    def start(cls, decoder: Decoder, rows: int, num_beams: int, max_length: int) -> _Beams:
        """One running beam a row, so that the first step gives different ones, and no finished one."""
        texts = torch.full((rows, num_beams, max_length + 1), decoder.start, device=decoder.device)
        scores = torch.full((rows, num_beams), IMPOSSIBLE, dtype=decoder.dtype, device=decoder.device)
        running = scores.clone()
        running[:, 0] = 0
        ended = torch.zeros(rows, dtype=torch.long, device=decoder.device)
        return cls(texts, running, texts.clone(), scores, ended)

    def of(self, rows: torch.Tensor) -> _Beams:
        """The beams of these rows."""
        return _Beams(*(getattr(self, field.name)[rows] for field in fields(self)))

    def grow(self, scores: torch.Tensor, position: int, end: int, *, last: bool) -> torch.Tensor:
        """Add one token to every beam, given its log probabilities; the row of the batch that each beam came from.

        Twice as many candidates as beams are looked at, so that enough are left if all beams end at once.
        """
        rows, num_beams = self.scores.shape
        vocabulary = scores.shape[-1]
        together = (scores.view(rows, num_beams, vocabulary) + self.scores[:, :, None]).view(rows, -1)
        candidates, places = together.topk(2 * num_beams)
        parents, tokens = places // vocabulary, places % vocabulary
        texts = _taken(self.texts, parents)
        texts[:, :, position + 1] = tokens
        ended = torch.ones_like(tokens, dtype=torch.bool) if last else tokens == end
        self._finish(texts, candidates / (position + 1) + ~ended * IMPOSSIBLE)
        self.scores, chosen = (candidates + ended * IMPOSSIBLE).topk(num_beams)
        self.texts = _taken(texts, chosen)
        offsets = torch.arange(rows, device=scores.device)[:, None] * num_beams
        return (parents.gather(1, chosen) + offsets).flatten()

    def _finish(self, texts: torch.Tensor, scores: torch.Tensor) -> None:
        """Take in those of the best candidates that have ended; the others have an impossible score."""
        num_beams = self.scores.shape[1]
        new = (scores[:, :num_beams] > IMPOSSIBLE / 2).sum(dim=1)
        if not new.any():
            return
        self.ended += new
        best = torch.cat([self.finished_scores, scores[:, :num_beams]], dim=1)
        self.finished_scores, chosen = best.topk(num_beams)
        self.finished = _taken(torch.cat([self.finished, texts[:, :num_beams]], dim=1), chosen)

    def best(self, row: int, length: int, end: int) -> list[list[int]]:
        """The finished texts of a row, the best first; where there is none, the best one that runs, `length` tokens."""
        finished = self.finished[row, self.finished_scores[row] > IMPOSSIBLE / 2]
        if not len(finished):
            return [self.texts[row, 0, 1 : length + 1].tolist()]
        return [cut(tokens, end) for tokens in finished[:, 1:].tolist()]


def _taken(texts: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return texts.gather(1, places[:, :, None].expand(-1, -1, texts.shape[-1]))
