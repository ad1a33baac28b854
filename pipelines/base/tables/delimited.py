"""Rows of CSV and TSV: the delimiter, the header, and whether quotation marks quote."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from augment.errors import InputError
from augment.files import MAX_LINE
from pipelines.base.tables.columns import TEXT_COLUMNS, listed
from pipelines.base.tables.table import Records, Table

MARKS = {",": "commas", ";": "semicolons", "\t": "tabs"}
DELIMITERS = {"csv": ",;\t|", "tsv": "\t,;|"}
SEPARATOR_LINE = re.compile(r'"?sep=([^\w"])"?\s*', re.IGNORECASE)
"""The line that Excel takes the delimiter from, and writes before the header."""
HEADER_EDGES = ' \t\ufeff"'
"""What may stand around the name of a column: of two joined files, the second has its byte-order mark
there."""


@dataclass(frozen=True, kw_only=True)
class _File:
    """A CSV or TSV whose first row was read: its header, or numbers in its place."""

    name: str
    open_lines: Callable[[], Iterator[str]]
    dialect: dict[str, Any]
    names: Sequence[str]
    has_header: bool
    skipped: Counter[str]

    def records(self, columns: Sequence[str]) -> Records:
        """The cells of some columns; rows that repeat the header are counted in `skipped`."""
        places = {column: self._place(column) for column in columns}
        is_first = True
        for line, cells in _numbered_rows(self.name, self.open_lines, self.dialect):
            where = f"{self.name}: line {line}"
            if self.has_header and self._is_repeated(cells, places[columns[0]], where):
                self.skipped["repeated header"] += not is_first
                is_first = False
                continue
            if cells:
                self._check_width(cells, max(places.values()), where)
            yield where, {column: cells[place] for column, place in places.items() if cells and place >= 0}

    def _place(self, column: str) -> int:
        """The place of a column in a row, -1 if there is none of this name or number."""
        if column in self.names:
            return self.names.index(column)
        return int(column) - 1 if column.isdecimal() else -1

    def _is_repeated(self, cells: Sequence[str], lead: int, where: str) -> bool:
        """Whether a row is the header again.

        Raises InputError for another header, which names other columns.
        """
        plain, header = _plain(cells), _plain(self.names)
        names_text = header[lead] in plain or not set(TEXT_COLUMNS).isdisjoint(plain)
        if plain != header and names_text and len({*header, *TEXT_COLUMNS}.intersection(plain)) > 1:
            raise InputError(f"{where} is another header ({listed(cells)}): give the joined files one by one")
        return plain == header

    def _check_width(self, cells: Sequence[str], last: int, where: str) -> None:
        """Raise InputError if a row lacks the `last` column that is read, or has text that the first row has not."""
        width, delimiter = len(self.names), self.dialect["delimiter"]
        where = f"{where} has {len(cells)} cells"
        if last >= len(cells):
            raise InputError(f"{where}, but column {last + 1} is needed: fix the line")
        # Without a header, rows may be of any number of cells; a comma may also be one of a text.
        is_strict = self.has_header or delimiter != "\t"
        if is_strict and any(cells[width:]):
            raise InputError(
                f"{where}, but the first row has {width}: "
                f"put texts with {MARKS.get(delimiter, repr(delimiter))} in quotes, or give --format text"
            )


def open_delimited(
    format: str,
    open_lines: Callable[[], Iterator[str]],
    name: str,
    header: Collection[str],
    skipped: Counter[str],
) -> Table:
    """A CSV or TSV of lines with their ends.

    Its first row is a header if a cell is one of `header`, in any case.

    Without one, columns are called by numbers from 1. Rows that repeat the header, as files joined by `cat`
    have them, are counted in `skipped`.
    """
    # A quote that is never closed makes one cell of all lines after it.
    csv.field_size_limit(MAX_LINE)
    wanted = {column.lower() for column in header}
    dialect = _dialect(format, open_lines, wanted)
    rows = _numbered_rows(name, open_lines, dialect)
    opening = next(([cell.strip() for cell in cells] for _, cells in rows if cells), [])
    has_header = _has_name(opening, wanted)
    names = opening if has_header else [str(number) for number in range(1, len(opening) + 1)]
    file = _File(
        name=name,
        open_lines=open_lines,
        dialect=dialect,
        names=names,
        has_header=has_header,
        skipped=skipped,
    )
    note = "" if has_header else f" (first row {listed(opening)}, a header if --column names one of them)"
    return Table(name=name + note, names=names, records=file.records, opening=opening)


def _numbered_rows(
    name: str, open_lines: Callable[[], Iterator[str]], dialect: dict[str, Any]
) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row, none of a blank line, with the number of the line that it begins in.

    A line that says the delimiter is no row.
    """
    delimiter = dialect["delimiter"]
    reader = csv.reader(open_lines(), **dialect)
    line = 1
    try:
        for cells in reader:
            separator = SEPARATOR_LINE.fullmatch(delimiter.join(cells))
            if separator is None or separator[1] != delimiter:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        problem = f"{name}: the row that begins in line {line} is not valid CSV ({error})"
        raise InputError(f"{problem}: fix it, or give --format") from None


def _plain(cells: Sequence[str]) -> list[str]:
    return [cell.strip(HEADER_EDGES).lower() for cell in cells]


def _has_name(cells: Sequence[str], wanted: Collection[str]) -> bool:
    return any(cell.strip().lower() in wanted for cell in cells)


def _dialect(format: str, open_lines: Callable[[], Iterator[str]], wanted: Collection[str]) -> dict[str, Any]:
    """The parameters of `csv.reader`."""
    head = [*islice(filter(str.strip, open_lines()), 3)]
    separator = SEPARATOR_LINE.fullmatch(head[0]) if head else None
    head = head[1:] if separator else head[:2]
    first = "".join(head[:1])
    delimiter = separator[1] if separator else _delimiter(format, first, wanted)
    is_quoted = format == "csv" or _is_quoted(open_lines(), delimiter)
    # Blanks before a cell are its own, unless the header or the first row shows that they are not.
    is_spaced = f"{delimiter} " in first or re.search(rf'{re.escape(delimiter)} +"(?!")', "".join(head))
    quoting = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
    return {"delimiter": delimiter, "quoting": quoting, "skipinitialspace": bool(is_spaced), "strict": True}


def _delimiter(format: str, line: str, wanted: Collection[str]) -> str:
    """The delimiter with which the first line is a header, else the usual one of the format that the line has."""
    present = [delimiter for delimiter in DELIMITERS[format] if delimiter in line]
    for delimiter in present:
        if _has_name(next(csv.reader([line], delimiter=delimiter, skipinitialspace=True)), wanted):
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
