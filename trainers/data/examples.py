"""Training data as the objectives take it: rows of two views, read from pairs, sentences or strings."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import xxhash

from pipelines.console import InputError


@dataclass(frozen=True, slots=True)
class Examples:
    """Rows of training data; for plain sentences both views are the sentence itself."""

    texts: Sequence[str]
    left: Sequence[str]
    right: Sequence[str]
    dropped: int
    """Rows left out because a view was missing or blank."""
    labels: Sequence[float] | None = None
    """How alike left and right are, from 0 to 1, where people graded them."""
    seed: int = 1
    """The run's: decides what an objective draws once for every row."""

    def __len__(self) -> int:
        return len(self.texts)

    def digest(self) -> str:
        """Return a hash of all texts, labels and their order, 16 hex digits."""
        state = xxhash.xxh64()
        for row in zip(self.texts, self.left, self.right, strict=True):
            for text in row:
                state.update(text.encode("utf-8", "surrogatepass") + b"\0")
        if self.labels is not None:
            state.update(struct.pack(f"<{len(self.labels)}d", *self.labels))
        return state.hexdigest()

    def take(self, rows: Iterable[int]) -> Examples:
        """Return the rows of these numbers, in that order; `dropped` stays."""
        rows = list(rows)
        texts, left, right = ([column[row] for row in rows] for column in (self.texts, self.left, self.right))
        labels = None if self.labels is None else [self.labels[row] for row in rows]
        return replace(self, texts=texts, left=left, right=right, labels=labels)


def row_seed(seed: int, row: int, epoch: int) -> int:
    """Return the 63-bit seed of what is drawn for one row in one epoch, whatever the batch that it is in."""
    return xxhash.xxh64_intdigest(f"{seed}|{row}|{epoch}".encode()) >> 1


def from_strings(texts: Sequence[str], dropped: int = 0) -> Examples:
    """Make examples of strings alone: each is its own two views."""
    return Examples(texts, texts, texts, dropped)


def from_pairs(path: Path, limit: int | None = None) -> Examples:
    """Read a pairs file or folder; rows with a missing or blank view are left out and counted.

    Raises:
        InputError: No such path, not a pairs dataset, or nothing usable in it.
    """
    from pipelines.pairs import read_pairs

    try:
        dataset = read_pairs(path)
        if limit is not None:
            dataset = dataset.select(range(min(limit, len(dataset))))
        columns = dataset.select_columns(["text", "view_a", "view_b"])[:]
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is broken ({_first_line(error)}): build the pairs again") from None
    _only_text(path, columns)
    rows = list(zip(columns["text"], columns["view_a"], columns["view_b"], strict=True))
    kept = [row for row in rows if all(cell and not cell.isspace() for cell in row[1:])]
    if not kept:
        raise InputError(f"{path} has no row with two views: build pairs with `augment build-pairs`")
    return Examples(
        texts=[text or left for text, left, _ in kept],
        left=[left for _, left, _ in kept],
        right=[right for _, _, right in kept],
        dropped=len(rows) - len(kept),
    )


def from_text(path: Path, limit: int | None = None) -> Examples:
    """Read sentences: a text file (also .gz), one a line, or a dataset folder with a `text` column.

    Raises:
        InputError: No such path, not UTF-8 text, no `text` column, or no sentence in it.
    """
    if not path.exists():
        raise InputError(f"no sentences at {str(path)!r}: give a text file with --text, or run `augment ingest` first")
    lines = _dataset_texts(path) if path.is_dir() else file_lines(path)
    texts: list[str] = []
    dropped = 0
    for line in lines:
        text = line.strip()
        if not text:
            dropped += 1
            continue
        texts.append(text)
        if len(texts) == limit:
            break
    if not texts:
        raise InputError(f"{path} holds no sentence: one sentence a line is expected")
    return from_strings(texts, dropped)


def file_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file (also .gz), without their ends.

    Raises:
        InputError: It cannot be read, or is no text.
    """
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is a broken gzip file ({error}): fetch it again") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    if "\0" in text:
        raise InputError(f"{path} is binary, not text: it holds NUL bytes")
    # Not splitlines: some sentences hold characters that it takes for the end of a line.
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def _dataset_texts(path: Path) -> Iterable[str]:
    from datasets import Dataset, load_from_disk

    from pipelines.pairs import check_dataset

    check_dataset(path)
    try:
        dataset = load_from_disk(str(path))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} is no dataset folder ({_first_line(error)}): run `augment ingest` to make one"
        ) from None
    if not isinstance(dataset, Dataset):
        raise InputError(f"{path} holds several datasets ({', '.join(dataset)}): give the folder of one")
    if "text" not in dataset.column_names:
        raise InputError(f"{path} has no column 'text', only {', '.join(dataset.column_names)}")
    try:
        texts = dataset["text"][:]
    except ValueError as error:
        raise InputError(f"{path} is broken ({_first_line(error)}): make it again") from None
    _only_text(path, {"text": texts})
    return (text or "" for text in texts)


def _only_text(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    for name, column in columns.items():
        other = next((cell for cell in column if not isinstance(cell, str | None)), None)
        if other is not None:
            raise InputError(f"{path}: the column {name!r} holds {type(other).__name__} ({other!r:.40}), not text")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
