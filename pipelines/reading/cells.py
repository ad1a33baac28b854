"""Rows of comma- and tab-separated files."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from augment.errors import InputError
from pipelines.reading.rows import TEXT_COLUMNS, Columns, Row, listed

NUMBER = re.compile(r"\d{1,9}")
DIALECTS: Mapping[str, Mapping[str, Any]] = {
    "csv": {"strict": True},
    "tsv": {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
}
"""RFC 4180 with commas; with tabs a quotation mark is an ordinary character, as in most corpora."""


def read_cells(form: str, lines: Iterator[str], name: str, columns: Columns) -> Iterator[Row]:
    """The rows of a CSV or TSV; for the header see `_find_columns`."""
    reader = csv.reader((f"{line}\n" for line in lines), **DIALECTS[form])
    places: list[int | None] | None = None
    last = 0
    try:
        for cells in reader:
            if not cells:
                yield Row("")
                continue
            if places is None:
                places, is_header = _find_columns(name, columns, cells)
                last = max(place for place in places if place is not None)
                if is_header:
                    continue
            if last >= len(cells):
                raise InputError(
                    f"{name}: line {reader.line_num} has {len(cells)} cells, column {last + 1} is wanted: fix the line"
                )
            text, label, pair = (None if place is None else cells[place] for place in places)
            yield Row(text or "", label, pair)
    except csv.Error as error:
        raise InputError(
            f"{name}: line {reader.line_num} is not valid CSV ({error}): fix the line, or give --format"
        ) from None


def _find_columns(name: str, columns: Columns, first: Sequence[str]) -> tuple[list[int | None], bool]:
    """The places of text, label and pair, and whether the first row is a header.

    It is one when a cell is the wanted column's name or, with none given or a number, `text`, `sentence`, or the
    name of the label or pair column (upper or lower case). Otherwise every row is data.
    """
    cells = [cell.strip() for cell in first]
    lowered = [cell.lower() for cell in cells]
    known = [cell for cell in (*TEXT_COLUMNS, columns.label.lower(), columns.pair.lower()) if cell in lowered]
    is_header = columns.text in cells or bool(known)
    if columns.text is not None and columns.text in cells:
        text = cells.index(columns.text)
    elif columns.text is not None and NUMBER.fullmatch(columns.text):
        text = int(columns.text) - 1
        if not 0 <= text < len(cells):
            raise InputError(
                f"{name} has {len(cells)} columns, not column {columns.text}: give --column 1 to {len(cells)}"
            )
    elif columns.text is not None:
        wanted = listed([columns.text])
        raise InputError(f"{name} has no column {wanted}, its first row is {listed(cells)}: give --column")
    elif known and known[0] in TEXT_COLUMNS:
        text = lowered.index(known[0])
    elif len(cells) == 1:
        text = 0
    else:
        raise InputError(f"{name} has {len(cells)} columns ({listed(cells)}): say which with --column NAME or NUMBER")
    more = [each.lower() for each in (columns.label, columns.pair)]
    return [text, *(lowered.index(each) if is_header and each in lowered else None for each in more)], is_header
