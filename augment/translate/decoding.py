"""Ways to decode: greedy, beam search, and sampling from all tokens, the top k, or the top share of probability."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from augment.errors import InputError

WAYS = "greedy, beam:N, sample, top-k:K or top-p:P"
RETRY_BEAMS = 4
RETRY_PENALTY = 1.05
_WAY = re.compile(
    r"greedy|sample|beam:([1-9][0-9]?)|top-k:([1-9][0-9]{0,4})|top-p:(?P<top_p>0?\.[0-9]+|1|1\.0+)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How texts are drawn from a translation model.

    Attributes:
        num_beams: Beams of a beam search; 1 is greedy, or sampling.
        sampled: Whether tokens are drawn by the row's seed.
        top_k: Draw from so many most probable tokens; None for all.
        top_p: Draw from the most probable tokens that make up this share in (0, 1]; None for all (nucleus sampling,
            Holtzman et al. 2020).
        temperature: Logits are divided by it before drawing.
        hypotheses: Texts for each sentence: the best of the beams, or so many samples.
        patience: A beam search ends once so many times its beams are finished (Kasai et al. 2022). With 1, as in
            transformers' early stopping, short and bad texts may end it before the text that greedy search finds.
        repetition_penalty: Scores of tokens that were written are worsened by this factor (Keskar et al. 2019).
    """

    num_beams: int = 1
    sampled: bool = False
    top_k: int | None = None
    top_p: float | None = None
    temperature: float = 1.0
    hypotheses: int = 1
    patience: int = 2
    repetition_penalty: float = 1.0

    @property
    def rows_per_source(self) -> int:
        """Rows that the decoder works on for one sentence."""
        return self.hypotheses if self.sampled else self.num_beams

    def retry(self) -> Decoding:
        """How a sentence is decoded again whose first text was bad: new samples, or a beam search with all its beams.

        Repetition is penalised, not forbidden, so that a model that goes in circles is still seen to do so.
        """
        if self.sampled:
            return self
        beams = max(RETRY_BEAMS, self.num_beams)
        return replace(self, num_beams=beams, hypotheses=beams, patience=1, repetition_penalty=RETRY_PENALTY)


def parse_decoding(decode: str, temperature: float | None = None, hypotheses: int = 1) -> Decoding:
    """The way to decode that `decode` names: "greedy", "beam:N", "sample", "top-k:K" or "top-p:P".

    Raises:
        InputError: No such way, a temperature without sampling, or more hypotheses than it gives.
    """
    found = _parse(decode)
    if temperature is not None and not found.sampled:
        raise InputError(f"temperature {temperature}: {decode} draws nothing; use it with sample, top-k:K or top-p:P")
    if not found.sampled and hypotheses > found.num_beams:
        raise InputError(
            f"hypotheses {hypotheses}: {decode} gives {found.num_beams}; use beam:{hypotheses} or more, or sample"
        )
    return replace(found, temperature=temperature or 1.0, hypotheses=hypotheses)


def _parse(decode: str) -> Decoding:
    found = _WAY.fullmatch(decode)
    if not found or (found["top_p"] and float(found["top_p"]) == 0):
        raise InputError(f"decode {decode!r}: not a way to decode; use {WAYS}, such as beam:4, top-k:50 or top-p:0.9")
    beams, top_k, top_p = found.groups()
    return Decoding(
        num_beams=int(beams or 1),
        sampled=decode == "sample" or bool(top_k or top_p),
        top_k=int(top_k) if top_k else None,
        top_p=float(top_p) if top_p else None,
    )
