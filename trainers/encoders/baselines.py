"""Encoders by name: trained models, averaged word vectors, and users' functions."""

import gzip
import hashlib
import re
import sys
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Container, Sequence, Set
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipelines.storage.files import MAX_LINE
from pipelines.terminal.console import InputError
from trainers.encoders.vectors import BATCH_SIZE, Advance, Matrix, TextEncoder, check, still
from trainers.files import sha256_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Encoder: TypeAlias = "str | Path | SentenceTransformer | Callable[[list[str]], Any]"
Described: TypeAlias = tuple[Matrix, str, dict[str, Any]]  # vectors (texts, d), the end of the title, more of the card

FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
HEADER = re.compile(rb"\d+ (\d+)")
DEFAULTS = {"pooling": None, "max_tokens": None, "precision": "fp32", "device": "auto"}  # of options baselines lack


@dataclass(slots=True)
class Baseline:
    """An untrained encoder. Its title and card are complete once it has encoded."""

    name: str
    kind: str
    vectors: Callable[[Sequence[str], Advance], Described]
    title: str = ""
    _about: dict[str, Any] = field(default_factory=dict)

    def encode(self, texts: Sequence[str], advance: Advance = still) -> Matrix:
        """Return the texts' vectors (texts, d), float32; raises as the function that made the baseline says."""
        matrix, more, self._about = self.vectors(texts, advance)
        self.title = self.name + more
        return matrix

    def card(self) -> dict[str, Any]:
        """Return name, kind, dimension and provenance as JSON values."""
        return {"name": self.name, "kind": self.kind, **self._about}


def open_encoder(encoder: Encoder, **options: Any) -> TextEncoder:  # noqa: ANN401 - as `load_model` has them
    """Return an encoder by name (a directory first), or one loaded, or a function; InputError if there is none."""
    if not isinstance(encoder, str | Path):
        from sentence_transformers import SentenceTransformer

        from trainers.encoders.model import described

        if isinstance(encoder, SentenceTransformer):
            return described(encoder, None)
        if not callable(encoder):
            raise InputError(f"a {type(encoder).__name__} is no function: give one, such as its `encode`")
        return function_encoder(encoder, getattr(encoder, "__name__", "the function"))
    name = str(encoder)
    kind, colon, file = name.partition(":")
    static = colon and kind in ("glove", "fasttext")
    if Path(name).expanduser().is_dir() or not (static or FUNCTION.fullmatch(name)):
        from trainers.encoders.model import load_model

        return load_model(name, **options)
    for option, default in DEFAULTS.items():
        if (value := options.get(option, default)) != default:
            flag = f"--{option.replace('_', '-')}"
            raise InputError(f"{flag} {value} is for trained models, not for {name}: leave it out")
    return word_vectors(name, Path(file).expanduser()) if static else load_function(name)


def load_function(name: str) -> Baseline:
    """Return `package.module:function` as an encoder; raises InputError if it cannot be imported or called."""
    module, _, function = name.partition(":")
    folders = list(sys.path)
    sys.path.append(str(Path.cwd()))  # last: the files there shadow no other modules
    try:
        loaded = import_module(module)
    except (Exception, SystemExit) as error:  # a module's code can raise anything, or exit
        raise InputError(f"cannot import {module}: {type(error).__name__}: {error}") from error
    finally:
        sys.path[:] = folders
    source, mapping = getattr(loaded, "__file__", None), getattr(loaded, function, None)
    if not callable(mapping):
        raise InputError(f"{source or module} has no function {function!r}: name one that maps texts to vectors")
    return function_encoder(mapping, name, Path(source) if source else None)


def function_encoder(
    function: Callable[[list[str]], Any], name: str, source: Path | None = None, size: int = BATCH_SIZE
) -> Baseline:
    """Return a function from at most `size` texts to vectors as an encoder, which raises InputError if it fails."""

    def vectors(texts: Sequence[str], advance: Advance) -> Described:
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        batches = []
        for start in range(0, len(order), size):
            batch = [texts[row] for row in order[start : start + size]]
            try:
                output = function(list(batch))
                # NumPy takes no tensor that needs a gradient or is on a GPU.
                output = output.detach().cpu().float() if hasattr(output, "detach") else output
                rows = np.asarray(output, dtype=np.float32)
            except Exception as error:  # a user's code can raise anything
                frame = traceback.extract_tb(error.__traceback__)[-1]
                problem = f"{type(error).__name__}: {error} ({frame.filename}, line {frame.lineno})"
                raise InputError(f"{name} failed on {len(batch)} texts: {problem}") from error
            check(rows, batch, name)
            batches.append(rows)
            advance(len(batch))
        lengths = {rows.shape[1] for rows in batches} or {1}
        if len(lengths) > 1:
            raise InputError(f"{name} gave vectors of {' and '.join(map(str, lengths))} numbers: one length is needed")
        matrix = np.concatenate([np.empty((0, *lengths), np.float32), *batches])[np.argsort(order)]
        origin = {"file": str(source), "sha256": sha256_of(source)} if source else {}
        return matrix, "", {"dimension": matrix.shape[1], **origin}

    return Baseline(name, "function", vectors, name)


def word_vectors(name: str, path: Path) -> Baseline:
    """Return the mean of the vectors of a text's words (avg. GloVe embeddings), 0 if none is known, as an encoder."""
    from nltk.tokenize import NLTKWordTokenizer

    def vectors(texts: Sequence[str], advance: Advance) -> Described:
        split = NLTKWordTokenizer().tokenize
        parts = {word: [word, *split(word)] for word in {word for text in texts for word in text.split()}}
        forms = {form for pieces in parts.values() for form in pieces}
        table, dimension, digest = read_word_vectors(path, forms | {form.lower() for form in forms})
        entries_by_word = {word: resolve(pieces, table) for word, pieces in parts.items()}
        matrix = np.zeros((len(texts), dimension), np.float32)
        counts: Counter[str] = Counter(words=0, unknown=0, zero_vectors=0)
        for row, text in enumerate(texts):
            entries = [entry for word in text.split() for entry in entries_by_word[word]]
            known = [table[entry] for entry in entries if entry is not None]
            counts.update(words=len(entries), unknown=len(entries) - len(known), zero_vectors=not known)
            if known:
                matrix[row] = np.mean(known, axis=0, dtype=np.float64)
        advance(len(texts))
        total, unknown, empty = counts.values()
        coverage = f", mean of word vectors, {100 * unknown / max(total, 1):.2f}% of {total:,} words out of vocabulary"
        coverage += f"; {empty:,} of {len(texts):,} texts have no known word: zero vectors" if empty else ""
        return matrix, coverage, {"file": str(path), "dimension": dimension, "sha256": digest, **counts}

    return Baseline(name, "word vectors", vectors)


def resolve(pieces: Sequence[str], vocabulary: Container[str]) -> list[str | None]:
    """Return the entry of the first piece, a word, else those of the others, its parts; None where one is unknown."""
    entry, *entries = (next((form for form in (piece, piece.lower()) if form in vocabulary), None) for piece in pieces)
    return entries if entry is None else [entry]


def read_word_vectors(path: Path, needed: Set[str]) -> tuple[dict[str, NDArray[np.float32]], int, str]:
    """Return the `needed` vectors of a file of words and numbers, the dimension, and its sha256; raises InputError."""
    if not path.is_file():
        raise InputError(f"no file of word vectors {str(path)!r}: give glove:FILE or fasttext:FILE one that exists")
    words = {word.encode("utf-8", "surrogatepass"): word for word in needed}
    table: dict[str, NDArray[np.float32]] = {}
    dimension, number, digest = 0, 0, hashlib.sha256()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(iter(lambda: stream.readline(MAX_LINE), b""), 1):
                if len(raw) == MAX_LINE:
                    raise ValueError(f"a line of {MAX_LINE:,} bytes or more")
                digest.update(raw)
                line = raw.rstrip(b" \r\n")
                if number == 1 and (header := HEADER.fullmatch(line)):
                    dimension = int(header[1])
                    continue
                first = not dimension
                dimension = dimension or line.count(b" ")
                if not dimension:
                    break
                word = words.get(line.partition(b" ")[0])
                # With more spaces it is a word that contains one, as in GloVe's 840B file.
                if first or (word is not None and word not in table and line.count(b" ") <= dimension):
                    vector = np.array(line.split(b" ")[1:], np.float64).astype(np.float32)
                    if len(vector) < dimension or not np.isfinite(vector).all():
                        raise ValueError(f"expected a word and {dimension} numbers")
                    if word is not None:
                        table[word] = vector
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{path} line {number}: {error}: get the file of word vectors again") from None
    if not dimension:
        raise InputError(f"{path} holds no word vectors: one word and its numbers a line are expected")
    return table, dimension, digest.hexdigest()
