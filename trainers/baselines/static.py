"""Averaged static word vectors, the baseline that papers call avg. GloVe embeddings, and their files."""

import gzip
import hashlib
import re
import zlib
from collections.abc import Container, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipelines.console import InputError
from trainers.embedding.vectors import Advance, Matrix, still

KINDS = ("glove", "fasttext")
EDGES = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
CONTRACTION = re.compile(r"(.+?)(n't|'(?:s|re|ve|ll|d|m))", re.IGNORECASE | re.DOTALL)
HEADER = re.compile(rb"\d+ \d+")


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
    _card: dict[str, Any] = field(default_factory=dict, init=False)
    _coverage: str = field(default="", init=False)

    @property
    def title(self) -> str:
        """The file, and how much of the text it knows."""
        return f"{self.name}, mean of word vectors{self._coverage}"

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return the means (texts, d), float32; zero for a text of which no word is known. Reads the file once.

        Raises InputError: the file cannot be read.
        """
        words = [text.split() for text in texts]
        distinct = {word for line in words for word in line}
        forms = {form for word in distinct for form in (word, *parts(word))}
        table, dimension, digest = read_word_vectors(self.path, forms | {form.lower() for form in forms})
        known = {word: resolve(word, table) for word in distinct}
        vectors = np.zeros((len(texts), dimension), np.float32)
        total = unknown = empty = 0
        for row, line in enumerate(words):
            entries = [entry for word in line for entry in known[word]]
            found = [table[entry] for entry in entries if entry is not None]
            total, unknown, empty = total + len(entries), unknown + len(entries) - len(found), empty + (not found)
            if found:
                vectors[row] = np.mean(found, axis=0, dtype=np.float64)
        advance(len(texts))
        zero = f"; {empty:,} of {len(texts):,} texts have none that is known: zero vectors" if empty else ""
        self._coverage = f", {100 * unknown / max(total, 1):.2f}% of {total:,} words out of vocabulary{zero}"
        counts = {"words": total, "unknown": unknown, "zero_vectors": empty}
        self._card = {"dimension": dimension, "sha256": digest, **counts}
        return vectors

    def card(self) -> dict[str, Any]:
        """Return the file's name and hash, and how much of the text it knows, as JSON values."""
        return {"name": self.name, "kind": "word vectors", "file": str(self.path), **self._card}


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


def read_word_vectors(path: Path, needed: Set[str]) -> tuple[dict[str, NDArray[np.float32]], int, str]:
    """Read the vectors of the `needed` words that a file has as a stream; of a word that stands twice, the first.

    A line is a word and its numbers, separated by single spaces; a first line of two whole numbers (words, dimension)
    may stand before. A word may hold spaces, as in GloVe's 840B file: the last `dimension` fields are the numbers.

    Returns the vectors by word, their dimension, and the sha256 of the file's text, which may be gzipped. Raises
    InputError: no such file, a line of another number of fields, or something else than numbers in it.
    """
    if not path.is_file():
        raise InputError(f"no file of word vectors {str(path)!r}: give glove:FILE or fasttext:FILE one that exists")
    wanted = {word.encode("utf-8", "surrogatepass"): word for word in needed}
    table: dict[str, NDArray[np.float32]] = {}
    dimension = 0
    digest = hashlib.sha256()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                digest.update(raw)
                line = raw.rstrip(b" \r\n")
                if number == 1 and HEADER.fullmatch(line):
                    dimension = int(line.split()[1])
                    continue
                spaces, first = line.count(b" "), not dimension
                dimension = dimension or spaces
                # Most words hold no space, and most are not needed: their numbers are not looked at.
                word = line.partition(b" ")[0] if spaces == dimension else line.rsplit(b" ", dimension)[0]
                new = word in wanted and wanted[word] not in table
                if first or new or spaces < dimension:
                    vector = _numbers(path, number, line, dimension)
                    table |= {wanted[word]: vector} if new else {}
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}): fetch it again") from None
    if not dimension:
        raise InputError(f"{path} holds no word vectors: one word and its numbers a line are expected")
    return table, dimension, digest.hexdigest()


def _numbers(path: Path, number: int, line: bytes, dimension: int) -> NDArray[np.float32]:
    word, *fields = line.rsplit(b" ", dimension)
    try:
        vector = np.array([float(field) for field in fields], np.float32)
    except ValueError:
        vector = np.zeros(0, np.float32)
    if not len(vector) or len(vector) < dimension or not np.isfinite(vector).all():
        shown = word[:40].decode("utf-8", "replace")
        raise InputError(f"{path} line {number}: {f'not {dimension}' if dimension else 'no'} numbers after {shown!r}")
    return vector
