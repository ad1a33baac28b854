"""Rows of comma- and tab-separated files."""

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.reading.lines import read_lines
from pipelines.reading.rows import TEXT_COLUMNS, Columns, Row, listed


def read_csv(path: Path, name: str, columns: Columns) -> Iterator[Row]:
    """Comma-separated with RFC 4180 quotes; for the header see `_pick_columns`."""
    csv.field_size_limit(sys.maxsize)
    return _read_cells(path, name, columns, lambda lines: csv.reader(lines, strict=True))


def read_tsv(path: Path, name: str, columns: Columns) -> Iterator[Row]:
    """Tab-separated; a quotation mark is an ordinary character, as in most corpora."""
    csv.field_size_limit(sys.maxsize)
    return _read_cells(path, name, columns, lambda lines: csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _read_cells(path: Path, name: str, columns: Columns, parse: Callable[[Iterator[str]], Any]) -> Iterator[Row]:
    at = [0]

    def texts() -> Iterator[str]:
        for line in read_lines(path, name):
            at[0] = line.number
            yield line.text + "\n"

    rows = parse(texts())
    picks: _Picks | None = None
    try:
        for cells in rows:
            if picks is None:
                if not cells:
                    continue
                picks, is_header = _pick_columns(name, columns, cells)
                if is_header:
                    continue
            yield picks.row(cells, name, at[0])
    except csv.Error as error:
        raise InputError(f"{name}: line {at[0]} is no valid CSV ({error}): mend it, or give --format") from None


@dataclass(frozen=True, slots=True)
class _Picks:
    """Positions of the wanted cells."""

    text: int
    label: int | None
    pair: int | None

    def row(self, cells: Sequence[str], name: str, line: int) -> Row:
        if not cells:
            return Row("")
        last = max(index for index in (self.text, self.label, self.pair) if index is not None)
        if last >= len(cells):
            raise InputError(f"{name}: line {line} has {len(cells)} cells, column {last + 1} is wanted: mend the line")
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
    number = int(columns.text) - 1 if columns.text is not None and columns.text.isdecimal() else None
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
        raise InputError(f"{name} has no column {columns.text!r}, its first row is {listed(cells)}: give --column")
    if not 0 <= text < len(cells):
        raise InputError(f"{name} has {len(cells)} columns, not column {columns.text}: give --column 1 to {len(cells)}")

    def position(wanted: str) -> int | None:
        return lowered.index(wanted.lower()) if is_header and wanted.lower() in lowered else None

    return _Picks(text, position(columns.label), position(columns.pair)), is_header
