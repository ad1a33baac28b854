"""Files of static word vectors (GloVe, fastText, word2vec as text), read as a stream of which needed words are kept."""

from __future__ import annotations

import gzip
import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from pipelines.console import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER = re.compile(rb"\d+ \d+")
DECIMAL = re.compile(rb"-?\d*\.\d+(e-?\d+)?")


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The vectors of the words that were asked for: `table` has each by word; `sha256` is that of the file's text."""

    table: dict[str, NDArray[np.float32]]
    dimension: int
    sha256: str


def read_word_vectors(path: Path, needed: Set[str]) -> WordVectors:
    """Read the vectors of the `needed` words that a file has; of a word that stands there twice, the first.

    A line is a word and its numbers, separated by single spaces; a first line of two whole numbers (words, dimension)
    may stand before. A word may hold spaces, as in GloVe's 840B file: the last `dimension` fields are the numbers.

    Args:
        path: The text, also .gz, or .zip; `archive.zip/name.txt` is one of several files in an archive.
        needed: Words, as they are written in the file.

    Raises:
        InputError: No such file, or a line that has too few or too many numbers or something else in their place.
    """
    wanted = {word.encode("utf-8", "surrogatepass"): word for word in needed}
    table: dict[str, NDArray[np.float32]] = {}
    dimension = 0
    digest = hashlib.sha256()
    with _opened(path) as stream:
        for number, raw in enumerate(_lines(stream, path), 1):
            digest.update(raw)
            line = raw.rstrip(b" \r\n")
            if number == 1 and HEADER.fullmatch(line):
                dimension = int(line.split()[1])
                continue
            spaces = line.count(b" ")
            if not dimension:
                dimension = _first_dimension(path, number, line)
            word = line.partition(b" ")[0] if spaces == dimension else _long_word(path, number, line, dimension)
            if word in wanted and wanted[word] not in table:
                table[wanted[word]] = _numbers(path, number, line, dimension)
    if not dimension:
        raise InputError(f"{path} holds no word vectors: one word and its numbers a line are expected")
    return WordVectors(table, dimension, digest.hexdigest())


def _first_dimension(path: Path, number: int, line: bytes) -> int:
    """Return how many numbers stand on the first line, which has to say it where there is no header."""
    count = line.count(b" ")
    if not count:
        raise InputError(f"{path} line {number}: no numbers after {_shown(line)}: a word and its vector are expected")
    _numbers(path, number, line, count)
    return count


def _long_word(path: Path, number: int, line: bytes, dimension: int) -> bytes:
    """Return the word, spaces included, of a line with more spaces than numbers."""
    word, *numbers = line.rsplit(b" ", dimension)
    if len(numbers) < dimension:
        raise InputError(f"{path} line {number}: {line.count(b' ')} numbers, expected {dimension}")
    if DECIMAL.fullmatch(word.rpartition(b" ")[2]):
        raise InputError(f"{path} line {number}: more than {dimension} numbers after {_shown(line.split(b' ')[0])}")
    return word


def _numbers(path: Path, number: int, line: bytes, dimension: int) -> NDArray[np.float32]:
    fields = line.rsplit(b" ", dimension)[1:]
    try:
        vector = np.array([float(field) for field in fields], np.float32)
    except ValueError:
        bad = next(field for field in fields if not _is_number(field))
        raise InputError(f"{path} line {number}: {_shown(bad)} is no number") from None
    if not np.isfinite(vector).all():
        raise InputError(f"{path} line {number}: NaN or infinity among the numbers")
    return vector


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _shown(field: bytes) -> str:
    return repr(field[:40].decode("utf-8", "replace"))


def _lines(stream: IO[bytes], path: Path) -> Iterator[bytes]:
    try:
        yield from stream
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is broken ({error}): fetch it again") from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    archive = next((part for part in (path, *path.parents) if part.suffix == ".zip" and part.is_file()), None)
    if archive is not None:
        member = path.relative_to(archive).as_posix() if path != archive else None
        with _zipped(archive, member) as stream:
            yield stream
        return
    if not path.is_file():
        raise InputError(f"no file of word vectors {str(path)!r}: give glove:FILE or fasttext:FILE one that exists")
    with path.open("rb") as start:
        magic = start.read(2)
    with path.open("rb") as plain:
        yield cast("IO[bytes]", gzip.GzipFile(fileobj=plain)) if magic == b"\x1f\x8b" else plain


@contextmanager
def _zipped(archive: Path, member: str | None) -> Iterator[IO[bytes]]:
    try:
        with zipfile.ZipFile(archive) as files:
            names = [name for name in files.namelist() if not name.endswith("/")]
            if member is None and len(names) != 1:
                raise InputError(f"{archive} holds {', '.join(names)}: name one, as in {archive}/{names[0]}")
            if member is not None and member not in names:
                raise InputError(f"{archive} has no {member}: it holds {', '.join(names)}")
            with files.open(member or names[0]) as stream:
                yield stream
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{archive} cannot be read ({error}): fetch it again") from None
