"""Rows of CSV and TSV: the delimiter, the header, and whether quotation marks quote."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Literal, NamedTuple

from augment.errors import InputError
from pipelines.sentences.rows import TEXT_COLUMNS, ColumnChoice, Row, find_columns, label_text, listed

MARKS = {",": "commas", ";": "semicolons", "\t": "tabs"}
HEADER_EDGES = ' \t\ufeff"'
"""What may stand around the name of a column: of two joined files, the second has its byte-order mark
there."""


class _Header(NamedTuple):
    """The names of the columns, the places of text, label and pair (-1: none), and the header's cells, if there is one.

    Cells are in lower case, without `HEADER_EDGES`.
    """

    names: list[str]
    places: list[int]
    cells: list[str]


def read_cells(
    format: str,
    open_lines: Callable[[], Iterator[str]],
    name: str,
    columns: ColumnChoice,
    skipped: Counter[str],
) -> Iterator[Row]:
    """The rows of a CSV or TSV, from lines with their ends; the header: `_name_cells`.

    Rows that repeat the header, as files joined by `cat` have them, are counted in `skipped`. Raises
    InputError for another header, and for a row that is damaged or has too few or too many cells.
    """
    lines = open_lines()
    head = [*islice(lines, 2)]
    first = "".join(head[:1])
    delimiter = _delimiter(format, first, columns)
    is_quoted = format == "csv" or _is_quoted(open_lines(), delimiter)
    # Blanks before a cell are its own, unless the header or the first row shows that they are not.
    is_spaced = f"{delimiter} " in first or bool(re.search(rf'[{delimiter}] +"(?!")', "".join(head)))
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
    lines = chain(head, lines)
    reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, skipinitialspace=is_spaced, strict=True)
    header: _Header | None = None
    line = 1  # where the row begins
    try:
        for cells in reader:
            where, line = f"{name}: line {line}", reader.line_num + 1
            if not cells:
                yield "", None, None
                continue
            is_first = header is None
            if header is None:
                header = _read_header(columns, [cell.strip() for cell in cells], name)
            if not _is_repeated(header, cells, where):
                yield _chosen(header, cells, where, delimiter)
            elif not is_first:
                skipped["header"] += 1
    except csv.Error as error:
        raise InputError(
            f"{name}: the row that begins in line {line} is not valid CSV ({error}): fix it, or give --format"
        ) from None


def _read_header(columns: ColumnChoice, cells: Sequence[str], name: str) -> _Header:
    names, is_header = _name_cells(columns, cells)
    note = f"first row {listed(cells)}, a header if --column names one of them"
    chosen = find_columns(name if is_header else f"{name} ({note})", columns, names)
    places = [names.index(column) if column in names else -1 for column in chosen]
    return _Header(names, places, _plain(cells) if is_header else [])


def _plain(cells: Sequence[str]) -> list[str]:
    return [cell.strip(HEADER_EDGES).lower() for cell in cells]


def _is_repeated(header: _Header, cells: Sequence[str], where: str) -> bool:
    """Whether a row is the header again; raises InputError for another header, which names other columns."""
    if not header.cells:
        return False
    plain = _plain(cells)
    names_text = header.cells[header.places[0]] in plain or not set(TEXT_COLUMNS).isdisjoint(plain)
    if plain != header.cells and names_text and len({*header.cells, *TEXT_COLUMNS}.intersection(plain)) > 1:
        raise InputError(f"{where} is another header ({listed(cells)}): give the joined files one by one")
    return plain == header.cells


def _chosen(header: _Header, cells: Sequence[str], where: str, delimiter: str) -> Row:
    """Text, label and pair of a row; raises InputError if it has too few or too many cells."""
    where = f"{where} has {len(cells)} cells"
    most, width = max(header.places), len(header.names)
    if most >= len(cells):
        raise InputError(f"{where}, but column {most + 1} is needed: fix the line")
    if any(cells[width:]):
        raise InputError(
            f"{where}, but the first row has {width}: "
            f"put texts with {MARKS.get(delimiter, repr(delimiter))} in quotes, or give --format text"
        )
    text, label, pair = (cells[place] if place >= 0 else None for place in header.places)
    return text or "", label_text(label), pair


def _delimiter(format: str, line: str, columns: ColumnChoice) -> str:
    """The delimiter with which the first line is a header, else the usual one of the format that the line has."""
    present = [delimiter for delimiter in ("\t,;|" if format == "tsv" else ",;\t|") if delimiter in line]
    for delimiter in present:
        with suppress(InputError):  # of a choice that needs other columns
            cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
            if _name_cells(columns, [cell.strip() for cell in cells])[1]:
                return delimiter
    return "\t" if format == "tsv" else (present or ",")[0]


def _is_quoted(lines: Iterator[str], delimiter: str) -> bool:
    """Whether a TSV quotes as pandas does: with closed and doubled quotes its rows are of more equal length."""
    widths, quoted_widths = Counter[int](), Counter[int]()

    def counted_lines() -> Iterator[str]:
        for line in lines:
            if line.strip("\r\n"):
                widths[len(line.split(delimiter))] += 1
            yield line

    with suppress(csv.Error):
        quoted_widths.update(
            len(cells) for cells in csv.reader(counted_lines(), delimiter=delimiter, strict=True) if cells
        )
        return quoted_widths.total() == widths.total() or len(quoted_widths) < len(widths)
    return False


def _name_cells(columns: ColumnChoice, cells: Sequence[str]) -> tuple[list[str], bool]:
    """The names of a table's columns, which are numbers from 1 without a header, and whether its first row is a header.

    It is one if a cell is the name of the text column, or `text`, `sentence` or the name of the label or pair
    column in upper or lower case. A text column that is given by its number has the number as its name.
    """
    columns = columns(cells) if callable(columns) else columns
    usual_names = {name.lower() for name in (*TEXT_COLUMNS, columns.label, columns.pair)}
    is_header = columns.text in cells or any(cell.lower() in usual_names for cell in cells)
    numbers = [str(number) for number in range(1, len(cells) + 1)]
    names = [*cells] if is_header else numbers
    if columns.text in numbers and columns.text not in names:
        names[numbers.index(columns.text)] = columns.text
    return names, is_header
