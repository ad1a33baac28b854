"""Averaged static word vectors: the baseline that papers call avg. GloVe embeddings."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trainers.baselines.word_vectors import read_word_vectors
from trainers.embedding.vectors import Advance, Matrix, still

KINDS = ("glove", "fasttext")
EDGES = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
CONTRACTION = re.compile(r"(.+?)(n't|'(?:s|re|ve|ll|d|m))", re.IGNORECASE | re.DOTALL)
BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the texts a vocabulary knows: words, those without a vector, and texts without any vector."""

    words: int
    unknown: int
    texts: int
    empty: int

    @property
    def title(self) -> str:
        """The share of unknown words, and the number of texts that are nothing but zero."""
        share = 100 * self.unknown / max(self.words, 1)
        zero = f"; {self.empty:,} of {self.texts:,} texts have none that is known: zero vectors" if self.empty else ""
        return f"{share:.2f}% of {self.words:,} words out of vocabulary{zero}"


@dataclass(slots=True)
class StaticEncoder:
    """The plain mean of the vectors of a text's words.

    Words are what stands between white space, as in SentEval's tokenised text. A word is looked up as it is written,
    then in lower case. If neither is known, punctuation at its ends and English clitics ('s, n't) are split off, and
    the parts are looked up in the same way, so that text that is not tokenised finds its words too. What is left is
    out of vocabulary and no part of the mean.
    """

    name: str
    path: Path
    coverage: Coverage | None = field(default=None, init=False)
    _card: dict[str, Any] = field(default_factory=dict, init=False)

    @property
    def title(self) -> str:
        """The file, and how much of the text it knows."""
        return f"{self.name}, mean of word vectors" + (f", {self.coverage.title}" if self.coverage else "")

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return the means (texts, d), float32; zero for a text of which no word is known. Reads the file once.

        Raises:
            InputError: The file cannot be read.
        """
        words = [text.split() for text in texts]
        distinct = {word for line in words for word in line}
        forms = {form for word in distinct for form in (word, *parts(word))}
        found = read_word_vectors(self.path, forms | {form.lower() for form in forms})
        known = {word: resolve(word, found.table) for word in distinct}
        index = {entry: row for row, entry in enumerate(found.table)}
        table = np.stack([*found.table.values(), np.zeros(found.dimension, np.float32)])
        vectors = np.zeros((len(texts), found.dimension), np.float32)
        total = unknown = empty = 0
        for row, line in enumerate(words):
            entries = [entry for word in line for entry in known[word]]
            rows = [index[entry] for entry in entries if entry is not None]
            total, unknown, empty = total + len(entries), unknown + len(entries) - len(rows), empty + (not rows)
            if rows:
                vectors[row] = table[rows].mean(axis=0, dtype=np.float64)
            if row % BLOCK == BLOCK - 1:
                advance(BLOCK)
        advance(len(texts) % BLOCK)
        self.coverage = Coverage(total, unknown, len(texts), empty)
        self._card = {"dimension": found.dimension, "sha256": found.sha256}
        return vectors

    def card(self) -> dict[str, Any]:
        """Return the file's name and hash, and how much of the text it knows, as JSON values."""
        counts = self.coverage
        known = {"words": counts.words, "unknown": counts.unknown, "zero_vectors": counts.empty} if counts else {}
        return {"name": self.name, "kind": "word vectors", "file": str(self.path), **self._card, **known}


def parts(word: str) -> tuple[str, ...]:
    """Return a word in parts: the marks at its ends one by one, its core, and an English clitic of its own.

    >>> parts("(Don't,")
    ('(', 'Do', "n't", ',')
    """
    before, core, after = EDGES.fullmatch(word).groups()  # type: ignore[union-attr]
    clitic = CONTRACTION.fullmatch(core)
    return (*before, *(clitic.groups() if clitic else (core,) if core else ()), *after)


def resolve(word: str, vocabulary: Container[str]) -> list[str | None]:
    """Return the entries of a vocabulary that stand for a word: itself, or those of its parts; None for one unknown."""
    whole = _entry(word, vocabulary)
    return [whole] if whole is not None else [_entry(part, vocabulary) for part in parts(word)]


def _entry(word: str, vocabulary: Container[str]) -> str | None:
    return next((form for form in (word, word.lower()) if form in vocabulary), None)
