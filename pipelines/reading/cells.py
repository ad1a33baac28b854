"""Rows of comma- and tab-separated files."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from augment.errors import InputError
from pipelines.reading.lines import Line
from pipelines.reading.rows import TEXT_COLUMNS, Columns, Row, listed

NUMBER = re.compile(r"\d{1,9}")


def read_csv(lines: Iterator[Line], name: str, columns: Columns) -> Iterator[Row]:
    """Comma-separated with RFC 4180 quotes; for the header see `_pick_columns`."""
    return _read_cells(lines, name, columns, lambda texts: csv.reader(texts, strict=True))


def read_tsv(lines: Iterator[Line], name: str, columns: Columns) -> Iterator[Row]:
    """Tab-separated; a quotation mark is an ordinary character, as in most corpora."""
    return _read_cells(lines, name, columns, lambda texts: csv.reader(texts, delimiter="\t", quoting=csv.QUOTE_NONE))


class _Texts:
    """The lines that a CSV parser asks for; empty ones between two rows are counted instead."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self.number = 0
        self.empty = 0
        self.in_row = False
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number = line.number
            if line.text or self.in_row:
                self.in_row = True
                yield from repeat(line.text + "\n", line.repeats)
            else:
                self.empty += line.repeats

    def take_empty(self) -> Iterator[Row]:
        """The empty lines since the last time, as one row."""
        if self.empty:
            yield Row("", repeats=self.empty)
        self.empty = 0


def _read_cells(
    lines: Iterator[Line], name: str, columns: Columns, parse: Callable[[Iterable[str]], Any]
) -> Iterator[Row]:
    texts = _Texts(lines)
    picks: _Picks | None = None
    try:
        for cells in parse(texts):
            texts.in_row = False
            yield from texts.take_empty()
            if picks is None:
                picks, is_header = _pick_columns(name, columns, cells)
                if is_header:
                    continue
            yield picks.row(cells, name, texts.number)
        yield from texts.take_empty()
    except csv.Error as error:
        raise InputError(
            f"{name}: line {texts.number} is not valid CSV ({error}): fix the line, or give --format"
        ) from None


@dataclass(frozen=True, slots=True)
class _Picks:
    """Positions of the wanted cells."""

    text: int
    label: int | None
    pair: int | None

    def row(self, cells: Sequence[str], name: str, line: int) -> Row:
        last = max(index for index in (self.text, self.label, self.pair) if index is not None)
        if last >= len(cells):
            raise InputError(f"{name}: line {line} has {len(cells)} cells, column {last + 1} is wanted: fix the line")
        return Row(
            cells[self.text],
            None if self.label is None else cells[self.label],
            None if self.pair is None else cells[self.pair],
        )


def _pick_columns(name: str, columns: Columns, first: Sequence[str]) -> tuple[_Picks, bool]:
    """Where the wanted columns are, and whether the first row is a header.

    It is one when a cell is the wanted column's name or, with none given or a number, `text`, `sentence`, or the
    name of the label or pair column (upper or lower case). Otherwise every row is data.
    """
    cells = [cell.strip() for cell in first]
    lowered = [cell.lower() for cell in cells]
    number = int(columns.text) - 1 if columns.text is not None and NUMBER.fullmatch(columns.text) else None
    if columns.text in cells:
        text, is_header = cells.index(columns.text), True
    elif columns.text is None or number is not None:
        named = [cell for cell in (*TEXT_COLUMNS, columns.label.lower(), columns.pair.lower()) if cell in lowered]
        is_header = bool(named)
        if number is not None:
            text = number
        elif named and named[0] in TEXT_COLUMNS:
            text = lowered.index(named[0])
        elif len(cells) == 1:
            text = 0
        else:
            raise InputError(
                f"{name} has {len(cells)} columns ({listed(cells)}): say which with --column NAME or NUMBER"
            )
    else:
        raise InputError(
            f"{name} has no column {listed([columns.text])}, its first row is {listed(cells)}: give --column"
        )
    if not 0 <= text < len(cells):
        raise InputError(f"{name} has {len(cells)} columns, not column {columns.text}: give --column 1 to {len(cells)}")

    def position(wanted: str) -> int | None:
        return lowered.index(wanted.lower()) if is_header and wanted.lower() in lowered else None

    return _Picks(text, position(columns.label), position(columns.pair)), is_header
