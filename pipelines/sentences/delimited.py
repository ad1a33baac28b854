"""Rows of CSV and TSV: the delimiter, the header, and whether quotation marks quote."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Literal

from augment.errors import InputError
from pipelines.sentences.rows import TEXT_COLUMNS, ColumnChoice, Row, find_columns, listed


def read_cells(format: str, open_lines: Callable[[], Iterator[str]], name: str, columns: ColumnChoice) -> Iterator[Row]:
    """The rows of a CSV or TSV, from lines with their ends; the header: `_name_cells`."""
    lines = open_lines()
    head = [*islice(lines, 2)]
    delimiter = _delimiter(format, "".join(head[:1]), columns)
    is_quoted = format == "csv" or _is_quoted(open_lines(), delimiter)
    # Blanks before a cell are its own, unless the header or the first row shows that they are not.
    is_spaced = f"{delimiter} " in "".join(head[:1]) or re.search(rf'[{delimiter}] +"(?!")', "".join(head)) is not None
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
    lines = chain(head, lines)
    reader = csv.reader(lines, delimiter=delimiter, quoting=quoting, skipinitialspace=is_spaced, strict=True)
    indices: list[int] = []
    try:
        for cells in reader:
            if not cells:
                yield "", None, None
                continue
            if not indices:
                stripped = [cell.strip() for cell in cells]
                names, is_header = _name_cells(columns, stripped)
                note = f"first row {listed(stripped)}, a header if --column names one of them"
                chosen = find_columns(name if is_header else f"{name} ({note})", columns, names)
                indices = [names.index(column) if column in names else -1 for column in chosen]
                if is_header:
                    continue
            where = f"{name}: line {reader.line_num} has {len(cells)} cells"
            if max(indices) >= len(cells):
                raise InputError(f"{where}, but column {max(indices) + 1} is needed: fix the line")
            if any(cells[len(names) :]):
                mark = {",": "commas", ";": "semicolons", "\t": "tabs"}.get(delimiter, repr(delimiter))
                advice = f"put texts with {mark} in quotes, or give --format text"
                raise InputError(f"{where}, but the first row has {len(names)}: {advice}")
            text, label, pair = (cells[index] if index >= 0 else None for index in indices)
            yield text or "", label, pair
    except csv.Error as error:
        problem = f"line {reader.line_num} is not valid CSV ({error})"
        raise InputError(f"{name}: {problem}: fix the line, or give --format") from None


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
    line_widths = (line for line in lines if not widths.update([len(line.split(delimiter)) if line.strip() else 0]))
    with suppress(csv.Error):
        quoted_widths.update(map(len, csv.reader(line_widths, delimiter=delimiter, strict=True)))
        del widths[0], quoted_widths[0]  # of blank lines
        return quoted_widths.total() == widths.total() or len(quoted_widths) < len(widths)
    return False


def _name_cells(columns: ColumnChoice, cells: Sequence[str]) -> tuple[list[str], bool]:
    """The names of a table's columns, which are numbers from 1 without a header, and whether its first row is a header.

    It is one if a cell is the name of the text column, or `text`, `sentence` or the name of the label or pair column in
    upper or lower case. A text column that is given by its number has the number as its name.
    """
    columns = columns(cells) if callable(columns) else columns
    usual_names = {name.lower(): name for name in (*TEXT_COLUMNS, columns.label, columns.pair)}
    is_header = columns.text in cells or any(cell.lower() in usual_names for cell in cells)
    numbers = [str(number) for number in range(1, len(cells) + 1)]
    names = [cell if cell == columns.text else usual_names.get(cell.lower(), cell) for cell in cells]
    if columns.text in numbers and columns.text not in cells:
        names[numbers.index(columns.text)] = columns.text
    return (names if is_header else numbers), is_header
