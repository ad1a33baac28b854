"""Encoders by name: models, and the untrained baselines that papers compare with (TF-IDF, word vectors, functions)."""

import gzip
import hashlib
import re
import sys
import sysconfig
import traceback
import zlib
from collections.abc import Callable, Container, Sequence, Set
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pipelines.console import InputError
from trainers.baselines.fitting import Adaptation, FitText, whitening
from trainers.data.examples import from_text
from trainers.embedding.vectors import BATCH_SIZE, Advance, Matrix, TextEncoder, check, still
from trainers.files import file_sha256

Described: TypeAlias = tuple[Matrix, str, dict[str, Any]]
"""Vectors (texts, d), how the title goes on behind the name, and what the card says of them."""

TFIDF = "tfidf"
EPOCHS = 1
"""Passes of a flow over its text, as its authors train it."""
STATIC = ("glove", "fasttext")
DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
EDGES = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)
CONTRACTION = re.compile(r"(.+?)(n't|'(?:s|re|ve|ll|d|m))", re.IGNORECASE | re.DOTALL)
HEADER = re.compile(rb"\d+ \d+")
USUAL = {"pooling": None, "max_tokens": None, "precision": "fp32", "device": "auto"}
"""Options of `load_model` that are for models alone, at their defaults."""


@dataclass(slots=True)
class Baseline:
    """An untrained encoder: its title and its card say what it was when it has encoded."""

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


def open_encoder(name: str, fit: FitText | None = None, **options: Any) -> TextEncoder:  # noqa: ANN401 - as `load_model` has them
    """Return the encoder called `name`; `options` are those of `load_model`.

    A folder of that name comes first, then `tfidf`, `glove:FILE`, `fasttext:FILE`, `package.module:function`; all else
    is `starter` or a model on the Hub. Raises InputError: there is none, it cannot be loaded, or an option is not for
    it.
    """
    kind, colon, file = name.partition(":")
    static = bool(colon) and kind in STATIC
    if Path(name).expanduser().is_dir() or not (name == TFIDF or static or DOTTED.fullmatch(name)):
        from trainers.embedding.model import load_model

        return load_model(name, **options)
    for option, usual in USUAL.items():
        value = options.get(option, usual)
        if value != usual:
            raise InputError(f"{name} is no model: --{option.replace('_', '-')} {value} is not for it, leave it out")
    if static:
        return word_vectors(name, Path(file).expanduser())
    return tfidf(fit) if name == TFIDF else load_function(name)


def open_fit(
    model: str, whiten: str | None, fit: Path | None, seed: int, *, flow: bool
) -> tuple[FitText | None, Adaptation | None]:
    """Return the text of `--fit`, and the map that `--whiten` (a dimension or `all`) or `--flow` asks for.

    Raises InputError: both maps at once, a dimension that is none, no such text, or nothing to fit on it.
    """
    if fit is not None and whiten is None and not flow and (model != TFIDF or Path(model).is_dir()):
        raise InputError(f"--fit {fit}: nothing of {model} is fitted: leave it out, or add --whiten or --flow")
    if whiten is not None and flow:
        raise InputError("--whiten and --flow both: give one of them")
    if whiten not in (None, "all") and not (whiten.isdecimal() and int(whiten) > 0):
        raise InputError(f"--whiten {whiten}: give the number of dimensions to keep, or all")
    if fit is not None and not fit.exists():
        raise InputError(f"no text to fit on at {str(fit)!r}: give --fit a file with one sentence a line")
    text = FitText(fit.as_posix(), from_text(fit).texts) if fit is not None else None
    if flow:
        from trainers.baselines.flow import flow_map

        return text, flow_map(EPOCHS, seed, text)
    return text, whitening(None if whiten == "all" else int(whiten), text) if whiten else None


def load_function(name: str) -> Baseline:
    """Import `package.module:function`, from the working directory too, as `python -m` would.

    What is named may also be an object with a method `encode`, such as a SentenceTransformer. Raises InputError: the
    module cannot be imported, or has nothing of that name that can be called.
    """
    module, _, path = name.partition(":")
    if not {str(Path.cwd()), ""} & set(sys.path):
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:  # a module's code can raise anything, or leave
        raise InputError(f"cannot import {module}{_where(error)}: {type(error).__name__}: {error}") from error
    source = getattr(found, "__file__", None)
    for part in path.split("."):
        found = getattr(found, part, None)
    function = getattr(found, "encode", found)
    if not callable(function):
        raise InputError(f"{module} has no {path!r} to call: name a function of it, from texts to vectors")
    return function_encoder(function, name, Path(source) if source else None)


def _where(error: BaseException) -> str:
    """Return ` (FILE, line N)`, the innermost line that is no library's, nothing where there is none."""
    library = ("<", sysconfig.get_path("stdlib"))
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [each for each in frames if "site-packages" not in each.filename and not each.filename.startswith(library)]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def function_encoder(
    function: Callable[[list[str]], Any], name: str, source: Path | None = None, size: int = BATCH_SIZE
) -> Baseline:
    """Return a function of a list of texts as an encoder; it gives a vector each: an array, a tensor, or lists.

    It is called with at most `size` texts of like length, longest first. Encoding raises InputError: the function
    fails, or gives no array with a row per text and as many columns as before; TwinviewsError: it gives NaN or
    infinity.
    """

    def vectors(texts: Sequence[str], advance: Advance) -> Described:
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        batches = []
        for start in range(0, len(order), size):
            batch = [texts[row] for row in order[start : start + size]]
            try:
                output = function(list(batch))
                # A tensor may need a gradient, or be on a GPU: NumPy takes neither.
                output = output.detach().cpu().float() if hasattr(output, "detach") else output
                rows = np.asarray(output, dtype=np.float32)
            except Exception as error:  # the user's code can raise anything, and the user is to hear of it
                said = f"{type(error).__name__}: {error}"
                raise InputError(f"{name} failed on {len(batch)} texts{_where(error)}: {said}") from error
            check(rows, batch, name)
            batches.append(rows)
            advance(len(batch))
        lengths = {rows.shape[1] for rows in batches} or {1}
        if len(lengths) > 1:
            raise InputError(f"{name} gave vectors of {' and '.join(map(str, lengths))} numbers: be constant")
        matrix = np.empty((len(texts), *lengths), np.float32)
        if batches:
            matrix[order] = np.concatenate(batches)
        origin = {"file": str(source), "sha256": file_sha256(source)} if source else {}
        return matrix, "", {"dimension": matrix.shape[1], **origin}

    return Baseline(name, "function", vectors, name)


def tfidf(fit: FitText | None = None) -> Baseline:
    """Return scikit-learn's TfidfVectorizer in its defaults: lower-cased words of two letters or more, smoothed idf.

    Vectors are sparse, of length 1, or 0 where no word is known. Vocabulary and document frequencies are those of
    `fit`, or of the very texts that are encoded: the words of a text, and how rare they are, are then known from the
    evaluation set. Encoding raises InputError: no text has a word.
    """

    def vectors(texts: Sequence[str], advance: Advance) -> Described:
        from sklearn import __version__
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(dtype=np.float32)
        try:
            vectorizer.fit(fit.texts if fit else texts)
        except ValueError as error:
            source = fit.name if fit else "the evaluation text"
            raise InputError(f"{TFIDF} finds no word of two letters or more in {source} ({error})") from None
        matrix = vectorizer.transform(texts).tocsr()
        advance(len(texts))
        title = fit.title if fit else f"the evaluation text itself (transductive), {len(texts):,} texts"
        card = fit.card() if fit else {"name": "evaluation text", "texts": len(texts)}
        about = {"dimension": int(matrix.shape[1]), "scikit-learn": __version__, "fit": card}
        return matrix, f", fitted on {title}", about

    return Baseline(TFIDF, TFIDF, vectors)


def word_vectors(name: str, path: Path) -> Baseline:
    """Return the plain mean of the vectors of a text's words, which papers call avg. GloVe embeddings; 0 of none.

    Words are what stands between white space, as in SentEval's tokenised text. A word is looked up as it is written,
    then in lower case. If neither is known, punctuation at its ends and English clitics ('s, n't) are split off, and
    the parts are looked up in the same way. What is left is out of vocabulary and no part of the mean. Encoding reads
    the file once, and raises InputError: it cannot be read.
    """

    def vectors(texts: Sequence[str], advance: Advance) -> Described:
        words = [text.split() for text in texts]
        distinct = {word for line in words for word in line}
        forms = {form for word in distinct for form in (word, *parts(word))}
        table, dimension, digest = read_word_vectors(path, forms | {form.lower() for form in forms})
        known = {word: resolve(word, table) for word in distinct}
        matrix = np.zeros((len(texts), dimension), np.float32)
        total = unknown = empty = 0
        for row, line in enumerate(words):
            entries = [entry for word in line for entry in known[word]]
            found = [table[entry] for entry in entries if entry is not None]
            total, unknown, empty = total + len(entries), unknown + len(entries) - len(found), empty + (not found)
            if found:
                matrix[row] = np.mean(found, axis=0, dtype=np.float64)
        advance(len(texts))
        zero = f"; {empty:,} of {len(texts):,} texts have none that is known: zero vectors" if empty else ""
        coverage = f"{100 * unknown / max(total, 1):.2f}% of {total:,} words out of vocabulary{zero}"
        about = {"file": str(path), "dimension": dimension, "sha256": digest}
        counts = {"words": total, "unknown": unknown, "zero_vectors": empty}
        return matrix, f", mean of word vectors, {coverage}", about | counts

    return Baseline(name, "word vectors", vectors)


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

    def entry(word: str) -> str | None:
        return next((form for form in (word, word.lower()) if form in vocabulary), None)

    whole = entry(word)
    return [whole] if whole is not None else [entry(part) for part in parts(word)]


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
