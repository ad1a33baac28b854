"""Training data as the objectives take it: rows of two views, sentences or strings."""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import xxhash
from datasets import Dataset, load_from_disk
from numpy.typing import NDArray

from pipelines.console import InputError

BLOCK = 10_000
"""Rows of a dataset that are in memory as strings at once."""


class Texts(Sequence[str]):
    """Strings made from a dataset's columns, block by block: the dataset stays in its file, mapped into memory.

    Args:
        rows: The dataset.
        read: Makes the strings of some rows out of their columns.
    """

    def __init__(self, rows: Dataset, read: Callable[[Mapping[str, list[Any]]], list[str]]) -> None:
        self.rows = rows
        self.read = read

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - a string, or a list of them for a slice
        if isinstance(key, slice):
            return self.read(self.rows[key])
        row = range(len(self))[key]
        return self.read(self.rows[row : row + 1])[0]

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BLOCK):
            yield from self[start : start + BLOCK]

    def take(self, rows: Sequence[int]) -> Self:
        """Return the strings of these rows, in that order."""
        return type(self)(self.rows.select(rows, keep_in_memory=True), self.read)


@dataclass(frozen=True, slots=True)
class Examples:
    """Rows of training data; for plain sentences both views are the sentence itself."""

    texts: Sequence[str]
    left: Sequence[str]
    right: Sequence[str]
    dropped: int = 0
    """Rows left out because a view was missing or blank."""
    labels: Sequence[float] | None = None
    """How alike left and right are, from 0 to 1, where people graded them."""
    negatives: Sequence[str] | None = None
    """A hard negative of each row, empty where it has none; None where no row can have one."""
    seed: int = 1
    """The run's: decides what an objective draws once for every row."""

    def __len__(self) -> int:
        return len(self.texts)

    def columns(self) -> list[Sequence[str]]:
        """Return the columns of text: the sources, both views, and the negatives if there are any."""
        return [self.texts, self.left, self.right, *([] if self.negatives is None else [self.negatives])]

    def digest(self) -> str:
        """Return a hash of all texts, labels and their order, 16 hex digits."""
        state = xxhash.xxh64()
        for row in zip(*self.columns(), strict=True):
            for text in row:
                state.update(text.encode("utf-8", "surrogatepass") + b"\0")
        if self.labels is not None:
            state.update(struct.pack(f"<{len(self.labels)}d", *self.labels))
        return state.hexdigest()

    def take(self, rows: Sequence[int]) -> Self:
        """Return the rows of these numbers, in that order; `dropped` stays."""
        labels = None if self.labels is None else [self.labels[row] for row in rows]
        texts, left, right, *more = (_taken(column, rows) for column in self.columns())
        negatives = more[0] if more else None
        return replace(self, texts=texts, left=left, right=right, labels=labels, negatives=negatives)


def _taken(column: Sequence[str], rows: Sequence[int]) -> Sequence[str]:
    return column.take(rows) if isinstance(column, Texts) else [column[row] for row in rows]


def row_seed(seed: int, row: int, epoch: int) -> int:
    """Return the 63-bit seed of what is drawn for one row in one epoch, whatever the batch that it is in."""
    return xxhash.xxh64_intdigest(f"{seed}|{row}|{epoch}".encode()) >> 1


def number_texts(columns: Sequence[Sequence[str]]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts of some columns, and the number of each row's texts among them (rows, columns)."""
    numbers: dict[str, int] = {}
    flat = (numbers.setdefault(text, len(numbers)) for row in zip(*columns, strict=True) for text in row)
    rows = np.fromiter(flat, np.int64, count=len(columns) * len(columns[0])).reshape(-1, len(columns))
    return list(numbers), rows


def from_strings(texts: Sequence[str], dropped: int = 0) -> Examples:
    """Make examples of strings alone: each is its own two views."""
    return Examples(texts, texts, texts, dropped)


def from_text(path: Path, limit: int | None = None) -> Examples:
    """Read sentences: a text file (also .gz), one a line, or a dataset folder with a `text` column.

    Raises:
        InputError: No such path, not UTF-8 text, no `text` column, or no sentence in it.
    """
    if not path.exists():
        raise InputError(f"no sentences at {str(path)!r}: give a text file with --text, or run `augment ingest` first")
    lines = _dataset_texts(path) if path.is_dir() else file_lines(path)
    kept: list[int] = []
    seen = 0
    for row, line in enumerate(lines):
        if len(kept) == limit:
            break
        seen += 1
        if line and not line.isspace():
            kept.append(row)
    if not kept:
        raise InputError(f"{path} holds no sentence: one sentence a line is expected")
    if isinstance(lines, Texts):
        return from_strings(lines.take(kept), seen - len(kept))
    return from_strings([lines[row].strip() for row in kept], seen - len(kept))


def file_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file (also .gz), without their ends; raises InputError if it is none."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}") from None
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if "\0" in text:
        raise InputError(f"{path} is binary, not text: it holds NUL bytes")
    # Not splitlines: some sentences hold characters that it takes for the end of a line.
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def text_columns(rows: Dataset, path: Path, names: Sequence[str]) -> Dataset:
    """Return these columns of a dataset; raises InputError where one is missing or holds no text."""
    for name in names:
        if name not in rows.column_names:
            raise InputError(f"{path} has no column {name!r}, only {', '.join(rows.column_names)}")
        kind = getattr(rows.features[name], "dtype", "lists")
        if kind not in ("string", "large_string", "null"):
            raise InputError(f"{path}: the column {name!r} holds {kind}, not text")
    return rows.select_columns(list(names))


def _dataset_texts(path: Path) -> Texts:
    from pipelines.pairs import check_dataset

    check_dataset(path)
    try:
        rows = load_from_disk(str(path))
    except (OSError, ValueError) as error:
        why = str(error).partition("\n")[0][:200]
        raise InputError(f"{path} is no dataset folder ({why}): run `augment ingest` to make one") from None
    if not isinstance(rows, Dataset):
        raise InputError(f"{path} holds several datasets ({', '.join(rows)}): give the folder of one")
    return Texts(
        text_columns(rows, path, ["text"]), lambda block: [cast(str, text or "").strip() for text in block["text"]]
    )
