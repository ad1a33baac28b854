"""MarianMT: sorted, packed by token budget, long sentences in pieces, bad translations tried again in another way."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from augment.device import pack
from augment.seconds import SECONDS, timed
from augment.translate.decoding import Decoding
from augment.translate.engines import load_engine
from augment.translate.quality import copies, repeats
from augment.translate.splitting import split
from augment.translate.vocabulary import Vocabulary
from augment.view import row_seed

if TYPE_CHECKING:
    from augment.translate.engines import Engine

LEAST_TOKENS = 512
"""A batch has so many tokens before the texts of a call are dealt out to more threads."""


class Translation(NamedTuple):
    """What became of one sentence.

    Attributes:
        text: Its translation; None where there is none.
        reason: Why it cannot be used: "too-long" (no text: the source does not fit the model), "no-end" (cut at the
            length limit), "repetition" (the same three tokens again and again), "copied" (the source itself), "empty";
            None if it is good.
        others: Further good translations, the best first; none equal to `text` or another.
        retried: The first try was bad, and `text` is the second.
    """

    text: str | None
    reason: str | None = None
    others: tuple[str, ...] = ()
    retried: bool = False


class _Piece(NamedTuple):
    """A text to translate as a whole, its token ids, and what its draws depend on."""

    text: str
    ids: tuple[int, ...]
    seed: int


class MarianTranslator:
    """A MarianMT model; loaded at the first sentence.

    Args:
        path: Its folder: config.json, model.safetensors, source.spm, target.spm, vocab.json.
        prefix: Code before every source sentence, such as ">>de<<", for models with several targets.
        decoding: How texts are searched or drawn; greedy by default.
        engine: "auto", "ctranslate2" or "transformers"; see `resolve_engine`.
        precision: "auto", "fp64", "fp32", "bf16", "fp16" or "int8"; the same.
        splits: Whether sentences that do not fit the model are translated in pieces; else they fail as "too-long".
        retries: Whether a sentence whose translation is rejected is translated once more, decoded in another way.
        device: "auto", "cpu", "cuda" or "cuda:N".
        batch_tokens: Source tokens in one batch times beams or samples, padding included; None for the engine's
            default.
        revision: Which weights these are, where that is known: a converted model is kept under it.
    """

    def __init__(
        self,
        path: Path | str,
        prefix: str | None = None,
        decoding: Decoding | None = None,
        *,
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
        self.decoding = decoding or Decoding()
        self.splits = splits
        self.retries = retries
        self.device = device
        self.revision = revision
        self._engine_name, self._precision = engine, precision
        self._batch_tokens = batch_tokens
        self._tokenised: dict[str, tuple[int, ...]] = {}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""
        return Vocabulary(self.path)

    @cached_property
    def engine(self) -> Engine:
        """The loaded model; raises InputError where engine, precision, device and decoding do not go together."""
        wanted = self._engine_name, self._precision
        return load_engine(wanted, self.path, self.vocabulary, self.device, self.decoding, self.revision)

    def tokenise(self, texts: Sequence[str]) -> None:
        """Tokenise texts before `translate` is called with them, perhaps in another thread."""
        unique = list(dict.fromkeys(texts))
        self._tokenised.update(zip(unique, self.vocabulary.encode(unique, self.prefix), strict=True))

    def translate(self, texts: Sequence[str], seeds: Sequence[int] | None = None) -> list[Translation]:
        """One translation a text, in order; where nothing is drawn, equal texts are translated once.

        Args:
            texts: Sentences.
            seeds: One a text; 0 for all by default.
        """
        used = seeds if self.decoding.sampled and seeds is not None else [0] * len(texts)
        rows = list(zip(texts, used, strict=True))
        self.tokenise([text for text, _ in rows if text not in self._tokenised])
        pieces = {row: self._pieces(*row, self._tokenised[row[0]]) for row in dict.fromkeys(rows)}
        for text in texts:
            self._tokenised.pop(text, None)
        found = self._translate_or_retry(piece for row in pieces.values() for piece in row)
        joined = {row: _joined([found[piece] for piece in parts]) for row, parts in pieces.items()}
        return [joined[row] for row in rows]

    def _pieces(self, text: str, seed: int, ids: tuple[int, ...]) -> list[_Piece]:
        """The text itself; its parts where it is too long, none where it is empty."""
        if not text.strip():
            return []
        limit = self.vocabulary.limit
        if len(ids) <= limit or not self.splits:
            return [_Piece(text, ids, seed)]
        parts = split(text, lambda part: len(self.vocabulary.encode([part], self.prefix)[0]), limit // 2)
        seeds = [row_seed(seed, str(place), "") if self.decoding.sampled else 0 for place in range(len(parts))]
        encoded = self.vocabulary.encode(parts, self.prefix)
        return [_Piece(*piece) for piece in zip(parts, encoded, seeds, strict=True)]

    def _translate_or_retry(self, pieces: Iterable[_Piece]) -> dict[_Piece, Translation]:
        """Each piece's translation; bad ones are tried once more."""
        first = self._translate(list(dict.fromkeys(pieces)), self.decoding)
        bad = [piece for piece, found in first.items() if found.reason not in (None, "too-long")]
        if not (bad and self.retries):
            return first
        again = self._translate(bad, self.decoding.retry(), attempt=1)
        good = {
            piece: found._replace(others=found.others[: self.decoding.hypotheses - 1], retried=True)
            for piece, found in again.items()
            if found.reason is None
        }
        return first | good

    def _translate(self, pieces: Sequence[_Piece], decoding: Decoding, attempt: int = 0) -> dict[_Piece, Translation]:
        """Each piece's translation; another attempt draws anew."""
        done = {piece: Translation(None, "too-long") for piece in pieces}
        for batch, outputs in self._batches(pieces, decoding, attempt):
            with timed("detokenise"):
                texts = iter(self.vocabulary.decode(output for found in outputs for output in found))
                for piece, found in zip(batch, outputs, strict=True):
                    done[piece] = _best([self._judged(piece, output, next(texts)) for output in found])
        return done

    def _batches(
        self, pieces: Sequence[_Piece], decoding: Decoding, attempt: int
    ) -> Iterator[tuple[list[_Piece], list[list[list[int]]]]]:
        """Those pieces that fit in batches, each with its hypotheses; several batches are on their way at a time."""
        fitting = [piece for piece in pieces if len(piece.ids) <= self.vocabulary.limit]
        widths = [self.vocabulary.width(len(piece.ids)) for piece in fitting]
        share = max(LEAST_TOKENS, sum(widths) // self.engine.ahead)
        budget = max(1, min((self._batch_tokens or self.engine.batch_tokens) // decoding.rows_per_source, share))
        samples = range(decoding.hypotheses if decoding.sampled else 0)
        waiting: deque[tuple[list[_Piece], Callable[[], list[list[list[int]]]]]] = deque()
        batches = pack(widths, budget)
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


def _best(hypotheses: Sequence[Translation]) -> Translation:
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
    """The hypothesis of this rank, or the best where there are fewer."""
    return (piece.text, *piece.others)[rank if rank <= len(piece.others) else 0] or ""
