"""Rows of JSON: one value a line, or a document of values and arrays."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, islice
from typing import Any

from augment.errors import InputError
from pipelines.base.tables.columns import TEXT_COLUMNS, spelling
from pipelines.base.tables.lines import joined
from pipelines.base.tables.table import Records, Table, flat

OPENING_ROWS = 10_000
"""Rows whose columns are those of the table; any of them may lack some."""
VISIBLE = re.compile(r"\S")


def open_json(open_lines: Callable[[], Iterator[str]], name: str) -> Table:
    """Objects or strings, one a line, empty if blank or null; the columns are those of the first objects.

    Where the first line is no such value, rows are an array's items, or objects over lines.
    """
    names = dict[str, None]()
    # What is damaged is said when it is read, by then perhaps beyond the limit.
    with suppress(InputError):
        for _, value in islice(_values(open_lines, name), OPENING_ROWS):
            names.update(dict.fromkeys(flat(value) if isinstance(value, dict) else ()))
    return Table(name=name, names=[*names] or TEXT_COLUMNS[:1], records=partial(_records, open_lines, name))


def _records(open_lines: Callable[[], Iterator[str]], name: str, columns: Sequence[str]) -> Records:
    """The objects, with None for the first of the columns if they lack it, in any case.

    A string is its value.
    """
    lead = columns[0]
    for where, value in _values(open_lines, name):
        if not isinstance(value, dict | str | None):
            raise InputError(f"{where} is a {type(value).__name__}: one object or string a line")
        record = value if isinstance(value, dict) else {lead: value}
        if lead not in record and lead not in flat(record):
            record = {**record, lead: record.get(spelling(where, [lead], [*record]))}
        yield where, record


def _values(open_lines: Callable[[], Iterator[str]], name: str) -> Iterator[tuple[str, Any]]:
    """The value of each line, "" for a blank one, or the values of a document, with where they stand."""
    first = next(filter(str.strip, open_lines()), '""')
    is_document = True
    with suppress(ValueError, RecursionError):
        is_document = isinstance(json.loads(first), list)
    if is_document:
        yield from _document_values(joined(open_lines(), name), name)
        return
    for number, line in enumerate(open_lines(), 1):
        try:
            value = json.loads(line) if line.strip() else ""
        except (ValueError, RecursionError) as error:
            raise _no_json(name, number, error) from None
        yield f"{name}: line {number}", value


def _document_values(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """The values of a document, and the items of its arrays."""
    decoder, numbers, end = json.JSONDecoder(), count(1), 0
    while start := VISIBLE.search(text, end):
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            line = text.count("\n", 0, getattr(error, "pos", end)) + 1
            raise _no_json(name, line, error) from None
        for item in value if isinstance(value, list) else [value]:
            yield f"{name}: item {next(numbers)}", item


def _no_json(name: str, line: int, error: Exception) -> InputError:
    problem = f"{name}: line {line} is not JSON ({getattr(error, 'msg', error)})"
    return InputError(f"{problem}: give one object a line, or an array of them")
