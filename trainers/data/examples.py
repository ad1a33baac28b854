"""Training data as the objectives take it: rows of two views, their token ids, and their order in each epoch."""

import re
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from pipelines.base.console import InputError, note
from pipelines.base.tables.sources import TEXT_FORMATS, format_of, load_named
from pipelines.storage import pair_files as pairs
from trainers.files import file_lines

if TYPE_CHECKING:
    from datasets import Dataset

STRINGS = ("string", "large_string")
# the names of their columns, as sentence-transformers mines them
NEGATIVE = re.compile(rf"{pairs.NEGATIVE}(_\d+)?")
LABELS = (*STRINGS, "int", "uint", "bool")  # how the types of labels begin
BLOCK = 10_000  # rows of a dataset that are in memory as strings at once
POOL_BATCHES = 50  # batches whose rows are sorted together; captions then have a few percent of padding


class Texts(Sequence[str]):
    """Strings of a dataset's columns, mapped from its file: each row's first non-empty one, stripped if asked."""

    def __init__(self, rows: "Dataset", columns: Sequence[str], *, strip: bool = False) -> None:
        self.rows = rows.select_columns(list(columns))
        self.columns, self.strip = columns, strip

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - a string, or a list of them for a slice
        if not isinstance(key, slice):
            return self[key : key + 1 or None][0]
        block = self.rows[key]
        texts = [next(filter(None, cells), "") for cells in zip(*map(block.get, self.columns), strict=True)]
        return [text.strip() for text in texts] if self.strip else texts

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BLOCK):
            yield from self[start : start + BLOCK]


@dataclass(frozen=True, slots=True)
class Examples:
    """Rows of training data; both views of a plain sentence are the sentence itself."""

    texts: Sequence[str]
    left: Sequence[str]
    right: Sequence[str]
    dropped: int = 0  # rows left out because a view was missing or blank
    labels: Sequence[float] | None = None  # how similar left and right are, from 0 to 1, for graded pairs
    negatives: Sequence[Sequence[str]] = ()
    """Columns of hard negatives, `negative`, `negative_1` and so on: one of each row, empty if it has none."""
    classes: Sequence[str] | None = None
    """The label of each row's sentences, empty if it has none; None without such a column."""
    corpus: Sequence[str] | None = None
    """More text: all sentences that the pairs were made of, those of no pair too, which a linear layer is fitted
    to, or what a vocabulary is learnt from beside the pairs; else None."""

    def __len__(self) -> int:
        return len(self.texts)

    def columns(self) -> list[Sequence[str]]:
        """Return the rows' columns of text: the sources, both views, and negatives if there are any."""
        return [self.texts, self.left, self.right, *self.negatives]

    def all_texts(self) -> Iterator[str]:
        """Yield all texts, those of the corpus too; a column that is another one's object counts once."""
        columns = {id(column): column for column in (*self.columns(), self.corpus or ())}
        return filter(None, chain.from_iterable(columns.values()))

    def known_labels(self) -> list[str]:
        """Return the label of each row, empty if it has none; raises InputError if no row has one."""
        labels = list(self.classes or ())
        if not any(labels):
            raise InputError("--positives labels: the pairs have no labels: build them with --pairs labels")
        return labels

    def digest(self) -> str:
        """Return a hash of all texts, grades and their order, 16 hex digits."""
        state = xxhash.xxh64()
        for row in zip(*self.columns(), strict=True):
            for text in row:
                state.update(text.encode("utf-8", "surrogatepass") + b"\0")
        if self.labels is not None:
            state.update(struct.pack(f"<{len(self.labels)}d", *self.labels))
        return state.hexdigest()

    def take(self, rows: Sequence[int]) -> Self:
        """Return the rows of these numbers, in this order; columns that were one object stay one."""
        names = ("texts", "left", "right", "labels", "classes")
        columns = {name: getattr(self, name) for name in names}
        taken: dict[int, Any] = {id(column): column and take(column, rows) for column in columns.values()}
        negatives = tuple(take(column, rows) for column in self.negatives)
        return replace(self, negatives=negatives, **{name: taken[id(columns[name])] for name in names})


def take(column: Sequence[str], rows: Sequence[int]) -> Sequence[str]:
    """Return the strings of these rows, in this order; those of a dataset stay in its file."""
    if isinstance(column, Texts):
        return Texts(column.rows.select(rows, keep_in_memory=True), column.columns, strip=column.strip)
    return [column[row] for row in rows]


def number_texts(columns: Sequence[Sequence[str]]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct texts of some columns, and the number of each row's texts among them (rows, columns).

    An empty text, which stands for none, has the number -1.
    """
    numbers: dict[str, int] = {}
    texts = chain.from_iterable(zip(*columns, strict=True))
    flat = (numbers.setdefault(text, len(numbers)) if text else -1 for text in texts)
    rows = np.fromiter(flat, np.int64, count=len(columns) * len(columns[0])).reshape(-1, len(columns))
    return list(numbers), rows


def from_text(path: Path, limit: int | None = None) -> Examples:
    """Read sentences, one a line (.gz too), or a dataset folder's `text`.

    Raises InputError if there are none.
    """
    if not path.exists():
        raise InputError(
            f"no sentences at {str(path)!r}: give a text file with --text, or run `augment ingest` first"
        )
    if path.is_file() and format_of(str(path)) not in (None, *TEXT_FORMATS):
        raise InputError(
            f"{path} is a table, not one sentence a line: run `augment ingest {path}` and give its folder"
        )
    lines: Sequence[str] = (
        _dataset_texts(path) if path.is_dir() else [line.strip() for line in file_lines(path)]
    )
    rows = list(islice((row for row, line in enumerate(lines) if line), limit))
    if not rows:
        raise InputError(f"{path} holds no sentence: one sentence a line is expected")
    texts = take(lines, rows)
    lines_read = rows[-1] + 1 if len(rows) == limit else len(lines)
    return Examples(texts, texts, texts, lines_read - len(rows))


def _dataset_texts(path: Path) -> Texts:
    pairs.check_dataset(path)
    rows = load_named(str(path))
    if getattr(rows.features.get("text"), "dtype", "") not in STRINGS:
        raise InputError(
            f"{path} has no column 'text' of strings, only {rows.column_names}: run `augment ingest`"
        )
    return Texts(rows, ["text"], strip=True)


def from_pairs(views: Sequence[str], limit: int | None = None) -> Examples:
    """Read files or folders of pairs, of each the first `limit` rows; raises InputError if it holds none."""
    from datasets import concatenate_datasets

    tables, dropped = zip(*(_read(Path(path), limit) for path in views), strict=True)
    rows = concatenate_datasets(tables)
    negatives = tuple(
        Texts(rows, [name], strip=True) for name in filter(NEGATIVE.fullmatch, rows.column_names)
    )
    classes = Texts(rows, ["label"], strip=True) if "label" in rows.column_names else None
    texts, left, right = (Texts(rows, names) for names in (["text", "view_a"], ["view_a"], ["view_b"]))
    return Examples(texts, left, right, sum(dropped), negatives=negatives, classes=classes)


def with_corpus(examples: Examples, views: Sequence[str]) -> Examples:
    """Return the examples with the sentences that their file, if it is one, was made of, if these are as they were."""
    folder = pairs.source_sentences(Path(views[0])) if len(views) == 1 else None
    if folder is None:
        return examples
    corpus = _dataset_texts(folder)
    note(f"the linear layer is fitted to the {len(corpus):,} sentences that the pairs were made of")
    return replace(examples, corpus=corpus)


def _read(path: Path, limit: int | None) -> tuple["Dataset", int]:
    """Return the rows of a file that have both views, and the number of the others."""
    from datasets import Value

    rows = pairs.read_pairs(path)
    label_type = getattr(rows.features.get("label"), "dtype", "")
    labels = ["label"] * label_type.startswith(LABELS)
    negatives = [*filter(NEGATIVE.fullmatch, rows.column_names)]
    if lists := [name for name in negatives if rows.features[name].dtype not in STRINGS]:
        raise InputError(
            f"{path}: its column {lists[0]} is no text: give a column for each of a row's negatives"
        )
    rows = rows.select_columns(["text", "view_a", "view_b", *negatives, *labels])
    if labels and label_type not in STRINGS:
        rows = rows.cast_column("label", Value("string"))
    if limit is not None:
        rows = rows.select(range(min(limit, len(rows))))
    views = zip(Texts(rows, ["view_a"], strip=True), Texts(rows, ["view_b"], strip=True), strict=True)
    complete = [row for row, pair in enumerate(views) if all(pair)]
    if not complete:
        raise InputError(f"{path} has no row with two views: build pairs with `augment build-pairs`")
    dropped = len(rows) - len(complete)
    return rows.select(complete, keep_in_memory=True) if dropped else rows, dropped


class Ragged(Sequence[list[int]]):
    """Token ids of many texts in a tenth of the memory that lists need: row i is `values[starts[i]:starts[i + 1]]`."""

    def __init__(self, rows: Iterable[Sequence[int]]) -> None:
        values, starts = array("i"), array("q", [0])
        for row in rows:
            values.extend(row)
            starts.append(len(values))
        self.values, self.starts = np.asarray(values, dtype=np.int32), np.asarray(starts, dtype=np.int64)
        self.lengths = np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> list[int]:  # type: ignore[override] # no slices
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.values[self.starts[index] : self.starts[index + 1]].tolist()  # type: ignore[no-any-return]


def token_ids(tokenizer: Any, texts: Iterable[str], **settings: Any) -> Ragged:  # noqa: ANN401 - transformers'
    """Return the ids of texts, tokenised in blocks."""
    remaining = iter(texts)
    blocks = iter(lambda: list(islice(remaining, BLOCK)), [])
    settings |= {"return_attention_mask": False, "return_token_type_ids": False}
    return Ragged(ids for block in blocks for ids in tokenizer(block, **settings)["input_ids"])


@dataclass(frozen=True, slots=True)
class Columns:
    """What an objective needs of n training rows, of all or of a batch."""

    sides: tuple[Sequence[Any], ...]
    """The token ids of the texts that are embedded, one side after the other."""
    values: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """What else `forward` gets of each row, by the argument's name: (n, ...)."""
    seeds: Sequence[int] = ()
    """Of a batch: 63 random bits a row that depend on the run's seed, the row and the epoch alone."""


class Rows:
    """The rows of a training as batches of an epoch.

    `corpus`: what a linear layer is fitted to, None for the rows.
    """

    def __init__(self, columns: Columns, seed: int, corpus: Sequence[str] | None = None) -> None:
        self.columns, self.seed, self.corpus, self.epoch = columns, seed, corpus, 0

    def __len__(self) -> int:
        return len(self.columns.sides[0])

    def batch(self, numbers: Sequence[int]) -> Columns:
        """Return the rows of these numbers, in their order."""
        sides = tuple([side[number] for number in numbers] for side in self.columns.sides)
        values = {name: column[list(numbers)] for name, column in self.columns.values.items()}
        keys = (f"{self.seed}|{number}|{self.epoch}".encode() for number in numbers)
        return Columns(sides, values, [xxhash.xxh64_intdigest(key) >> 1 for key in keys])

    __getitems__ = batch  # what a DataLoader calls

    def lengths(self) -> NDArray[np.int64]:
        """Return how many tokens each row has; of sides that are tokenised with their batch, none."""
        tokenised = [side for side in self.columns.sides if isinstance(side, Ragged)]
        return np.sum([side.lengths for side in tokenised], axis=0)  # type: ignore[no-any-return]


class Order:
    """All rows in an order of seed and epoch alone.

    With a `batch_size` (of all processes) a batch is of one length.
    """

    def __init__(self, rows: Rows, seed: int, batch_size: int | None = None) -> None:
        self.rows, self.seed, self.batch_size = rows, seed, batch_size

    def __len__(self) -> int:
        size = self.batch_size or 1
        return len(self.rows) // size * size

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng((self.seed, self.rows.epoch))
        order = random.permutation(len(self.rows))[: len(self)]
        if self.batch_size is not None:
            lengths = self.rows.lengths()
            size = POOL_BATCHES * self.batch_size
            pools = [order[start : start + size] for start in range(0, len(order), size)]
            by_length = np.concatenate([rows[np.argsort(lengths[rows], kind="stable")] for rows in pools])
            order = random.permutation(by_length.reshape(-1, self.batch_size)).ravel()
        yield from order.tolist()
