"""MarianMT: sorted, packed by token budget, long sentences in pieces, bad translations tried again in another way."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from augment.device import pack
from augment.seconds import SECONDS, timed
from augment.translate import Translation
from augment.translate.decoding import Decoding, parse_decoding
from augment.translate.engines import load_engine, resolve_engine
from augment.translate.faults import copies, repeats
from augment.translate.splitting import split
from augment.translate.vocabulary import Vocabulary
from augment.view import row_seed

LEAST_TOKENS = 512
"""A batch has so many tokens before the texts of a call are dealt out to more threads."""


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
        engine: "auto", "ctranslate2" or "transformers"; see `resolve_engine`.
        precision: "auto", "fp64", "fp32", "bf16", "fp16" or "int8"; the same.
        splits: Whether sentences that do not fit the model are translated in pieces; else they fail as "too-long".
        retries: Whether a sentence whose translation is rejected is translated once more, decoded in another way.
        device: "auto", "cpu", "cuda" or "cuda:N".
        batch_tokens: Source tokens in one batch times beams or samples, padding included; None for the engine's
            default.
        revision: Which weights these are, where that is known: a converted model is kept under it.

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
        engine: str = "auto",
        precision: str = "auto",
        splits: bool = True,
        retries: bool = True,
        device: str = "auto",
        batch_tokens: int | None = None,
        revision: str | None = None,
    ) -> None:
        self.path = Path(path)
        self.prefix = prefix
        self.decoding = parse_decoding(decode, temperature, hypotheses)
        self.engine = engine
        self.precision = precision
        self.splits = splits
        self.retries = retries
        self.device = device
        self.batch_tokens = batch_tokens
        self.revision = revision
        self._loaded: _Loaded | None = None
        self._tokenised: dict[str, tuple[int, ...]] = {}

    def tokenise(self, texts: Sequence[str]) -> None:
        """Tokenise texts before `translate` is called with them, perhaps in another thread."""
        unique = list(dict.fromkeys(texts))
        self._tokenised.update(zip(unique, self._load().encode(unique), strict=True))

    def _load(self) -> _Loaded:
        if self._loaded is None:
            self._loaded = _Loaded(self)
        return self._loaded

    def translate(self, texts: Sequence[str], seeds: Sequence[int] | None = None) -> list[Translation]:
        """One translation a text, in order; where nothing is drawn, equal texts are translated once.

        Args:
            texts: Sentences.
            seeds: One a text; 0 for all by default.
        """
        drawn = seeds if self.decoding.sampled and seeds is not None else [0] * len(texts)
        rows = list(zip(texts, drawn, strict=True))
        loaded = self._load()
        self.tokenise([text for text, _ in rows if text not in self._tokenised])
        pieces = {row: self._pieces(*row, self._tokenised[row[0]], loaded) for row in dict.fromkeys(rows)}
        for text in texts:
            self._tokenised.pop(text, None)
        found = self._tried([piece for row in pieces.values() for piece in row], loaded)
        joined = {row: _joined([found[piece] for piece in parts]) for row, parts in pieces.items()}
        return [joined[row] for row in rows]

    def _pieces(self, text: str, seed: int, ids: tuple[int, ...], loaded: _Loaded) -> list[_Piece]:
        """The text itself; its parts where it is too long, none where it is empty."""
        if not text.strip():
            return []
        limit = loaded.vocabulary.limit
        if len(ids) <= limit or not self.splits:
            return [_Piece(text, ids, seed)]
        parts = split(text, lambda part: len(loaded.encode([part])[0]), limit // 2)
        seeds = [row_seed(seed, str(place), "") if self.decoding.sampled else 0 for place in range(len(parts))]
        return [_Piece(*piece) for piece in zip(parts, loaded.encode(parts), seeds, strict=True)]

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
    """A model in its engine, with everything that its settings decide."""

    def __init__(self, settings: MarianTranslator) -> None:
        self.vocabulary = Vocabulary(settings.path)
        self.prefix = settings.prefix
        engine, precision = resolve_engine(settings.engine, settings.precision, settings.device, settings.decoding)
        self.engine = load_engine(engine, settings.path, self.vocabulary, precision, settings.device, settings.revision)
        self.batch_tokens = settings.batch_tokens or self.engine.batch_tokens

    def encode(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The token ids of texts, the code before and the end after each included."""
        return self.vocabulary.encode(texts, self.prefix)

    def translate(self, pieces: Sequence[_Piece], decoding: Decoding, attempt: int = 0) -> dict[_Piece, Translation]:
        """Each piece's translation; another attempt draws anew."""
        done = {piece: Translation(None, "too-long") for piece in pieces}
        for batch, outputs in self._searched(pieces, decoding, attempt):
            with timed("detokenise"):
                texts = iter(self.vocabulary.decode(output for found in outputs for output in found))
                for piece, found in zip(batch, outputs, strict=True):
                    done[piece] = _chosen([self._judged(piece, output, next(texts)) for output in found])
        return done

    def _searched(
        self, pieces: Sequence[_Piece], decoding: Decoding, attempt: int
    ) -> Iterator[tuple[list[_Piece], list[list[list[int]]]]]:
        """Those pieces that fit in batches, each with its hypotheses; several batches are on their way at a time."""
        fitting = [piece for piece in pieces if len(piece.ids) <= self.vocabulary.limit]
        widths = [self.vocabulary.width(len(piece.ids)) for piece in fitting]
        share = max(LEAST_TOKENS, sum(widths) // self.engine.ahead)
        budget = max(1, min(self.batch_tokens // decoding.copies, share))
        samples = range(decoding.hypotheses if decoding.sampled else 0)
        waiting: deque[tuple[list[_Piece], Callable[[], list[list[list[int]]]]]] = deque()
        batches = pack(widths, budget, widths)
        started = time.perf_counter()
        while (rows := next(batches, None)) is not None or waiting:
            if rows is not None:
                batch = [fitting[row] for row in rows]
                seeds = [row_seed(piece.seed, str(sample), str(attempt)) for piece in batch for sample in samples]
                started = started if waiting else time.perf_counter()
                waiting.append((batch, self.engine.search([piece.ids for piece in batch], decoding, seeds)))
            if rows is None or len(waiting) >= self.engine.ahead:
                batch, wait = waiting.popleft()
                found = wait()
                if not waiting:
                    SECONDS["model"] += time.perf_counter() - started
                yield batch, found

    def _judged(self, piece: _Piece, output: Sequence[int], text: str) -> Translation:
        ended = output[-1:] == [self.vocabulary.end]
        if not text:
            return Translation("", "empty")
        if repeats(output[: len(output) - ended], piece.ids):
            return Translation(text, "repetition")
        if not ended:
            return Translation(text, "no-end")
        return Translation(text, "copied" if copies(text, piece.text) else None)


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
