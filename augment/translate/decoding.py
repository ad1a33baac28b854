"""What a MarianMT model reads and writes, texts as token ids, and how it decodes: greedily, by beams or sampling."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from augment.errors import InputError
from augment.models.device import LENGTH_STEP
from augment.models.loading import check_length

_DECODE = re.compile(
    r"greedy|sample|beam:([1-9][0-9]?)|top-k:([1-9][0-9]{0,4})|top-p:(0?\.[0-9]*[1-9][0-9]*|1|1\.0+)", re.ASCII
)
# MarianTokenizer's defaults, which transformers leaves out of the files that it writes.
_SPECIAL_TOKENS = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


USUAL_LENGTH = 1.0
"""`Decoding.length` within which most outputs end, or turn out to be loops."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a text is drawn from a translation model."""

    num_beams: int = 1  # a search ends once as many texts are finished; 1 for greedy search and sampling
    sampled: bool = False  # whether tokens are drawn by the row's seed
    top_k: int | None = None  # draw from the K most probable tokens; None for all
    top_p: float | None = (
        None  # draw from the most probable tokens of this share (Holtzman et al. 2020); None for all
    )
    temperature: float = 1.0  # logits are divided by it before drawing
    hypotheses: int = 1  # texts that a beam search returns
    repetition_penalty: float = (
        1.0  # factor that worsens the scores of tokens which a text has (Keskar et al. 2019)
    )
    length: float = 2.0  # the most tokens of an output per token of its padded source; a few more are allowed

    def retry(self) -> "Decoding":
        """How to decode after a bad first text: a new sample, or all beams' best good text.

        Loops are not forbidden, but cut at the usual length: most of what is decoded again are such.
        """
        if self.sampled:
            return self
        beams = max(4, self.num_beams)
        return replace(self, num_beams=beams, hypotheses=beams, repetition_penalty=1.05, length=USUAL_LENGTH)


def parse_decoding(decode: str) -> Decoding:
    """The decoding of that name; raises InputError if there is none."""
    match = _DECODE.fullmatch(decode)
    if not match:
        ways = "greedy, beam:N, sample, top-k:K or top-p:P"
        raise InputError(
            f"decode {decode!r}: not a way to decode; use {ways}, such as beam:4, top-k:50 or top-p:0.9"
        )
    beams, top_k, top_p = match.groups()
    sampled = decode == "sample" or bool(top_k or top_p)
    return Decoding(
        num_beams=int(beams or 1),
        sampled=sampled,
        top_k=int(top_k) if top_k else None,
        top_p=float(top_p) if top_p else None,
    )


class Vocabulary:
    """The tokens of a model, read without transformers, whose import takes longer than running a small model."""

    def __init__(self, path: Path) -> None:
        from sentencepiece import SentencePieceProcessor

        config = _json(path / "config.json")
        settings = _json(path / "tokenizer_config.json") if (path / "tokenizer_config.json").is_file() else {}
        self._ids: dict[str, int] = _json(path / "vocab.json")
        target_ids = _json(path / "target_vocab.json") if settings.get("separate_vocabs") else self._ids
        # The tokens that the model reads and writes, in the order of their ids; usually the same.
        self.source, self.target = (sorted(ids, key=ids.__getitem__) for ids in (self._ids, target_ids))
        self._reader = SentencePieceProcessor(model_file=str(path / "source.spm"))
        self._writer = SentencePieceProcessor(model_file=str(path / "target.spm"))
        end, self.unknown, pad = (settings.get(key, token) for key, token in _SPECIAL_TOKENS.items())
        self.end, self.pad = self._ids[end], self._ids[pad]  # the same on both sides
        self.unknown_id = self._ids[self.unknown]
        self._special = {target_ids[token] for token in (end, self.unknown, pad) if token in target_ids}
        suppressed = re.compile(rf">>.*<<|{re.escape(pad)}", re.DOTALL)  # language codes and padding
        self.suppress_tokens = sorted(
            number for token, number in target_ids.items() if suppressed.fullmatch(token)
        )
        limits = config.get("max_position_embeddings", 1_024), settings.get("model_max_length", 512)
        # of a source, with its end
        self.limit = min(check_length(limit, f"--models {path}") for limit in limits)

    def encode(self, texts: Sequence[str], prefix: str | None = None) -> list[tuple[int, ...]]:
        """The token ids of texts, with the code before each and the end after it.

        Any other code is plain text.
        """
        unknown = self.unknown_id
        prefix_ids = () if prefix is None else (self._ids.get(prefix, unknown),)
        pieces = self._reader.encode(list(texts), out_type=str, num_threads=1)
        return [(*prefix_ids, *(self._ids.get(piece, unknown) for piece in row), self.end) for row in pieces]

    def known_letters(self, text: str) -> int:
        """The number of letters of a text in pieces that the vocabulary has."""
        pieces: list[str] = self._reader.encode(text, out_type=str)
        return sum(letter.isalpha() for piece in pieces if piece in self._ids for letter in piece)

    def decode(self, outputs: Iterable[Sequence[int]]) -> list[str]:
        """The texts of a model's outputs, without end and unknown tokens."""
        pieces = [[self.target[token] for token in output if token not in self._special] for output in outputs]
        return [text.replace("▁", " ").strip() for text in self._writer.decode(pieces, num_threads=1)]

    def max_length(self, width: int, length: float) -> int:
        """The most tokens of an output, its end included, for sources padded to `width`.

        See `Decoding.length`.
        """
        return min(int(length * width) + LENGTH_STEP, self.limit - 1)


def _json(path: Path) -> Any:  # noqa: ANN401 - an object, unless the file is damaged
    return json.loads(path.read_text(encoding="utf-8"))
