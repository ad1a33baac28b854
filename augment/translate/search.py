"""Greedy search, sampling and beam search on MarianMT; rows that are done leave the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch

from augment.translate.decoding import Decoding
from augment.translate.draws import draw

if TYPE_CHECKING:
    from transformers import MarianMTModel

Lost: TypeAlias = Callable[[int, list[int]], bool]

KEPT_SHARE = 0.75
"""Rows that are done leave the batch once less than this share of it is left: leaving costs a copy of the rest."""
LOOK_EVERY = 16
"""Steps between two looks for texts that are lost."""
IMPOSSIBLE = -1e9
"""A score that no text has; finite, as transformers' beam search has it."""


class Decoder:
    """The decoder half of a model, one token a step for every row of a batch.

    Args:
        model: With scaled dot product attention.
        sources: Token ids, rows by width, padded.
        mask: 1 where `sources` has a token, 0 where it is padding.
        copies: Each source is decoded by so many rows, one after another.
    """

    def __init__(self, model: MarianMTModel, sources: torch.Tensor, mask: torch.Tensor, copies: int = 1) -> None:
        from transformers import DynamicCache, EncoderDecoderCache

        self._model, self._decoder = model, model.model.decoder
        encoded = model.model.encoder(input_ids=sources, attention_mask=mask).last_hidden_state
        self._encoded = encoded.repeat_interleave(copies, dim=0)
        self._mask = mask.bool().repeat_interleave(copies, dim=0)[:, None, None, :]
        self._cache = EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))
        self._position = 0

    def logits(self, tokens: torch.Tensor) -> torch.Tensor:
        """Take one token a row; give the logits of the next, rows by vocabulary, float32 or wider."""
        decoder = self._decoder
        hidden = decoder.embed_tokens(tokens[:, None]) * decoder.embed_scale
        hidden = hidden + decoder.embed_positions.weight[self._position]
        for layer in decoder.layers:
            hidden = layer(hidden, None, self._encoded, encoder_attention_mask=self._mask, past_key_values=self._cache)
        self._position += 1
        logits = self._model.lm_head(hidden[:, -1]) + self._model.final_logits_bias
        return logits.to(self.dtype)  # type: ignore[no-any-return]

    @property
    def dtype(self) -> torch.dtype:
        """Of the logits."""
        return torch.float64 if self._encoded.dtype == torch.float64 else torch.float32

    def keep(self, rows: torch.Tensor) -> None:
        """Go on with these rows alone."""
        self._encoded, self._mask = self._encoded[rows], self._mask[rows]
        self._cache.batch_select_indices(rows)

    def reorder(self, rows: torch.Tensor) -> None:
        """Let every row go on from another row of the same source: what it sees of the source stays as it is."""
        self._cache.self_attention_cache.reorder_cache(rows)


def search(
    model: MarianMTModel,
    sources: torch.Tensor,
    mask: torch.Tensor,
    decoding: Decoding,
    *,
    longest: int,
    never: Sequence[int],
    seeds: Sequence[int] = (),
    lost: Lost | None = None,
) -> list[list[list[int]]]:
    """For every source its hypotheses, the best first: token ids, with the end token where it was reached.

    Args:
        model: With scaled dot product attention.
        sources: Token ids, rows by width, padded.
        mask: 1 where `sources` has a token, 0 where it is padding.
        decoding: How.
        longest: Tokens of an output, the end token included.
        never: Tokens that are never written.
        seeds: For sampling, one for each hypothesis of each source, the first source's first.
        lost: Given a source's number and the tokens so far, whether no continuation can be accepted; greedy search and
            sampling then stop that text.
    """
    decoder = Decoder(model, sources, mask, decoding.copies)
    batch = _Batch(
        rows=len(sources),
        longest=longest,
        start=int(model.config.decoder_start_token_id),
        end=int(model.config.eos_token_id),
        seeds=seeds,
        lost=lost,
        device=sources.device,
    )
    rules = _Rules(decoding, never, sources.device)
    if decoding.beams > 1:
        return _beams(decoder, rules, decoding, batch)
    texts = _walk(decoder, rules, decoding, batch)
    return [texts[place : place + decoding.copies] for place in range(0, len(texts), decoding.copies)]


@dataclass(frozen=True)
class _Batch:
    """What a search works on: its sources' number, the most tokens, start and end token, a seed for each sample."""

    rows: int
    longest: int
    start: int
    end: int
    seeds: Sequence[int]
    lost: Lost | None
    device: torch.device

    def looks(self, position: int) -> bool:
        """Whether to look for texts that are lost after this step."""
        return self.lost is not None and (position + 1) % LOOK_EVERY == 0


def cut(tokens: list[int], end: int) -> list[int]:
    """The tokens up to the end token, with it; all where there is none."""
    return tokens[: tokens.index(end) + 1] if end in tokens else tokens


class _Rules:
    """What a decoding and a model forbid or make less likely, applied to the scores of the next token."""

    def __init__(self, decoding: Decoding, never: Sequence[int], device: torch.device) -> None:
        from transformers import RepetitionPenaltyLogitsProcessor

        self._never = torch.tensor(never, device=device)
        repeating = decoding.repetition_penalty != 1
        self._penalty = RepetitionPenaltyLogitsProcessor(decoding.repetition_penalty) if repeating else None

    def __call__(self, texts: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores of the next token after `texts`, start token included; both rows by tokens."""
        if self._penalty is not None:
            scores = self._penalty(texts, scores)
        return scores.index_fill(1, self._never, float("-inf"))


def _walk(decoder: Decoder, rules: _Rules, decoding: Decoding, batch: _Batch) -> list[list[int]]:
    """One token after another, the most probable or a drawn one."""
    rows = batch.rows * decoding.copies
    texts = torch.full((rows, batch.longest + 1), batch.end, device=batch.device)
    texts[:, 0] = batch.start
    seeds = torch.tensor(batch.seeds, device=batch.device)
    going = torch.arange(rows, device=batch.device)
    ended = torch.zeros(rows, dtype=torch.bool, device=batch.device)
    for position in range(batch.longest):
        scores = rules(texts[going, : position + 1], decoder.logits(texts[going, position]))
        tokens = draw(scores, decoding, seeds[going], position) if decoding.sampled else scores.argmax(dim=-1)
        texts[going, position + 1] = tokens.masked_fill(ended, batch.end)
        ended |= tokens == batch.end
        if batch.lost is not None and batch.looks(position):
            written = zip((going // decoding.copies).tolist(), texts[going, 1 : position + 2].tolist(), strict=True)
            ended |= torch.tensor([batch.lost(row, tokens) for row, tokens in written], device=batch.device)
        left = torch.nonzero(~ended)[:, 0]
        if not len(left):
            break
        if len(left) < KEPT_SHARE * len(going):
            decoder.keep(left)
            going, ended = going[left], ended[left]
    return [cut(row, batch.end) for row in texts[:, 1:].tolist()]


def _beams(decoder: Decoder, rules: _Rules, decoding: Decoding, batch: _Batch) -> list[list[list[int]]]:
    """Beam search as CTranslate2 does it, and transformers with early stopping and scores that are made to sum to 1.

    Scores are divided by the length, end token included; a row is done once enough texts are finished for its patience.
    """
    kept = Kept.start(batch, decoding.beams, decoder.dtype)
    found: list[list[list[int]]] = [[] for _ in range(batch.rows)]
    going = torch.arange(batch.rows, device=batch.device)
    done = torch.zeros(batch.rows, dtype=torch.bool, device=batch.device)
    for position in range(batch.longest):
        flat = kept.texts[:, :, : position + 1].flatten(0, 1)
        scores = rules(flat, decoder.logits(flat[:, -1])).log_softmax(dim=-1)
        last = position + 1 == batch.longest
        parents = kept.grow(scores, position, batch.end, last=last)
        full = kept.ended >= decoding.beams * decoding.patience
        stopped = ~done if last else ~done & full
        for row in torch.nonzero(stopped)[:, 0].tolist():
            best = kept.best(row, position + 1, batch.end)
            found[int(going[row])] = best[: decoding.hypotheses]
        done |= stopped
        left = torch.nonzero(~done)[:, 0]
        if not len(left):
            break
        decoder.reorder(parents)
        if len(left) < KEPT_SHARE * len(going):
            decoder.keep((left[:, None] * decoding.beams + torch.arange(decoding.beams, device=batch.device)).flatten())
            kept = kept.of(left)
            going, done = going[left], done[left]
    return found


@dataclass
class Kept:
    """The running and the best finished beams of a batch: texts rows by beams by tokens, scores rows by beams.

    `ended` counts the texts of each row that were finished so far.
    """

    texts: torch.Tensor
    scores: torch.Tensor
    finished: torch.Tensor
    finished_scores: torch.Tensor
    ended: torch.Tensor

    @classmethod
    def start(cls, batch: _Batch, beams: int, dtype: torch.dtype) -> Kept:
        """One running beam a row, so that the first step gives different ones, and no finished one."""
        texts = torch.full((batch.rows, beams, batch.longest + 1), batch.start, device=batch.device)
        scores = torch.full((batch.rows, beams), IMPOSSIBLE, dtype=dtype, device=batch.device)
        running = scores.clone()
        running[:, 0] = 0
        ended = torch.zeros(batch.rows, dtype=torch.long, device=batch.device)
        return cls(texts, running, texts.clone(), scores, ended)

    def of(self, rows: torch.Tensor) -> Kept:
        """The beams of these rows."""
        kept = (self.texts, self.scores, self.finished, self.finished_scores, self.ended)
        return Kept(*(values[rows] for values in kept))

    def grow(self, scores: torch.Tensor, position: int, end: int, *, last: bool) -> torch.Tensor:
        """Add one token to every beam, given its log probabilities; the row of the batch that each beam came from.

        Twice as many candidates as beams are looked at, so that enough are left if all beams end at once.
        """
        rows, beams = self.scores.shape
        vocabulary = scores.shape[-1]
        together = (scores.view(rows, beams, vocabulary) + self.scores[:, :, None]).view(rows, -1)
        candidates, places = together.topk(2 * beams)
        parents, tokens = places // vocabulary, places % vocabulary
        texts = _taken(self.texts, parents)
        texts[:, :, position + 1] = tokens
        ended = torch.ones_like(tokens, dtype=torch.bool) if last else tokens == end
        self._finish(texts, candidates / (position + 1) + ~ended * IMPOSSIBLE)
        self.scores, chosen = (candidates + ended * IMPOSSIBLE).topk(beams)
        self.texts = _taken(texts, chosen)
        offsets = torch.arange(rows, device=scores.device)[:, None] * beams
        return (parents.gather(1, chosen) + offsets).flatten()

    def _finish(self, texts: torch.Tensor, scores: torch.Tensor) -> None:
        """Take in those of the best candidates that have ended; the others have an impossible score."""
        beams = self.scores.shape[1]
        new = (scores[:, :beams] > IMPOSSIBLE / 2).sum(dim=1)
        if not new.any():
            return
        self.ended += new
        self.finished_scores, chosen = torch.cat([self.finished_scores, scores[:, :beams]], dim=1).topk(beams)
        self.finished = _taken(torch.cat([self.finished, texts[:, :beams]], dim=1), chosen)

    def best(self, row: int, length: int, end: int) -> list[list[int]]:
        """The finished texts of a row, the best first; where there is none, the best one that runs, `length` tokens."""
        finished = self.finished[row, self.finished_scores[row] > IMPOSSIBLE / 2]
        if not len(finished):
            return [self.texts[row, 0, 1 : length + 1].tolist()]
        return [cut(tokens, end) for tokens in finished[:, 1:].tolist()]


def _taken(texts: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return texts.gather(1, places[:, :, None].expand(-1, -1, texts.shape[-1]))
