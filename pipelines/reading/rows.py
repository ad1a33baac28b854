"""Rows of a source, many at a time, and which columns make them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from augment.errors import InputError

TEXT_COLUMNS = ("text", "sentence")
ID = "id"
"""A column that is not taken for the text, even where it is the only one."""
BATCH_ROWS = 10_000


class Row(NamedTuple):
    """One row of a source as it stands there; None where the source has no such value."""

    text: str
    label: str | None = None
    pair: str | None = None


class Rows(NamedTuple):
    """The columns of successive rows, of one length."""

    texts: Sequence[str]
    labels: Sequence[str | None]
    pairs: Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns to read: `text` by name, by number from 1, or None for `text`, `sentence` or the only one."""

    text: str | None = None
    label: str = "label"
    pair: str = "pair"


def collect(rows: Iterator[Row]) -> Iterator[Rows]:
    """Rows in batches."""
    while batch := list(islice(rows, BATCH_ROWS)):
        yield Rows(*zip(*batch, strict=True))


def as_text(value: object) -> str | None:
    """A value as a string: lists and objects as JSON, in which dates and the like are strings."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)


def text_column(where: str, columns: Columns, names: Sequence[str]) -> str:
    """The name of the text column among `names`; `where` is what an error calls the source.

    Raises:
        InputError: The wanted column is not there, or none is wanted and no name says which it is.
    """
    if columns.text is not None:
        if columns.text not in names:
            raise InputError(f"{where} has no column {listed([columns.text])}, only {listed(names)}: give --column")
        return columns.text
    for name in TEXT_COLUMNS:
        if name in names:
            return name
    if len(names) == 1 and names[0] not in (ID, columns.label, columns.pair):
        return names[0]
    raise InputError(f"{where} has the columns {listed(names)}: say which with --column NAME")


def listed(cells: Sequence[str]) -> str:
    """The first few names or cells, quoted and cut, for an error's one line."""
    shown = [cell if len(cell) <= 24 else cell[:23] + "…" for cell in cells[:8]]
    return ", ".join(map(repr, shown)) + (", …" if len(cells) > 8 else "")
