"""How texts are decoded: greedily, by beam search or by sampling."""

import re
from dataclasses import dataclass, replace

from augment.errors import InputError

_DECODE = re.compile(
    r"greedy|sample|beam:([1-9][0-9]?)|top-k:([1-9][0-9]{0,4})|top-p:(0?\.[0-9]*[1-9][0-9]*|1|1\.0+)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a text is drawn from a translation model."""

    num_beams: int = 1  # a search ends once as many texts are finished; 1 for greedy search and sampling
    sampled: bool = False  # whether tokens are drawn by the row's seed
    top_k: int | None = None  # draw from the K most probable tokens; None for all
    top_p: float | None = None  # draw from the most probable tokens of this share (Holtzman et al. 2020); None for all
    temperature: float = 1.0  # logits are divided by it before drawing
    hypotheses: int = 1  # texts that a beam search returns
    repetition_penalty: float = 1.0  # factor that worsens the scores of tokens which a text has (Keskar et al. 2019)
    length: float = 2.0  # the most tokens of an output per token of its padded source; a few more are allowed

    def retry(self) -> "Decoding":
        """How to decode a sentence whose first text was bad: a new sample, or the best good text of all beams.

        Repetition is penalised but not forbidden, so that a loop can still be detected.
        """
        if self.sampled:
            return self
        beams = max(4, self.num_beams)
        return replace(self, num_beams=beams, hypotheses=beams, repetition_penalty=1.05)


def parse_decoding(decode: str, temperature: float | None = None) -> Decoding:
    """The decoding of that name; raises InputError if there is none, or for a temperature without sampling."""
    match = _DECODE.fullmatch(decode)
    if not match:
        ways = "greedy, beam:N, sample, top-k:K or top-p:P"
        raise InputError(f"decode {decode!r}: not a way to decode; use {ways}, such as beam:4, top-k:50 or top-p:0.9")
    beams, top_k, top_p = match.groups()
    sampled = decode == "sample" or bool(top_k or top_p)
    if temperature is not None and not sampled:
        raise InputError(f"temperature {temperature}: {decode} draws nothing; use it with sample, top-k:K or top-p:P")
    return Decoding(
        num_beams=int(beams or 1),
        sampled=sampled,
        top_k=int(top_k) if top_k else None,
        top_p=float(top_p) if top_p else None,
        temperature=temperature or 1.0,
    )
