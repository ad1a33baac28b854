"""A table of named columns, and its rows by what the columns hold."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from augment.errors import LONE_SURROGATE, InputError

Row: TypeAlias = dict[str, str | None]
"""The cells of a row by what they hold (their roles); None for a missing value."""
Records: TypeAlias = Iterator[tuple[str, Mapping[str, Any]]]
"""Where each row stands, for messages, and its values by column: of some columns, the text's first."""
TEXT_TYPES = ("string", "large_string", "string_view")
WHOLE_NUMBER = re.compile(r"\s*([-+]?\d+)\.0+\s*")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table before its rows are read: what messages call it, and its columns.

    `names` has what is inside columns too, as `translation.en`. `records` reads some of the columns; they have
    `types` where the format does. The columns of a CSV may be given by number too, from 1; `opening` is its
    first row.
    """

    name: str
    names: Sequence[str]
    records: Callable[[Sequence[str]], Records]
    types: Mapping[str, str] = field(default_factory=dict)
    opening: Sequence[str] = ()

    def has(self, column: str) -> bool:
        """Whether there is a column of this name or number."""
        return column in self.names or (column.isdecimal() and 1 <= int(column) <= len(self.opening))

    def rows(self, columns: Mapping[str, str], texts: Sequence[str]) -> Iterator[Row]:
        """Stream the rows, from the first one at each call; `columns` are the names of columns by role.

        The roles `texts` hold strings; the column of the first of them is in every row. A list of objects that
        it is in gives a row for each. Others may be missing, and become strings. Raises InputError for a row
        that says otherwise or is damaged.
        """
        return (row for _, row in self.located_rows(columns, texts))

    def located_rows(
        self, columns: Mapping[str, str], texts: Sequence[str], single: Collection[str] = ()
    ) -> Iterator[tuple[str, Row]]:
        """Stream the rows with where they stand; the roles `single` hold no lists and no objects."""
        for role in texts:
            kind = self.types.get(columns[role], TEXT_TYPES[0])
            if kind not in TEXT_TYPES:
                raise InputError(f"{self.name}: column {columns[role]!r} is {kind}, not string: give --column")
        lead = columns[texts[0]]
        for where, record in self.records([lead, *columns.values()]):
            for cells in _items(record, lead):
                row = Row()
                for role, column in columns.items():
                    value = cells.get(column)
                    if role in single and isinstance(value, list | dict):
                        problem = f"{where}: the {column} {as_text(value)!r:.60} is a list or an object"
                        raise InputError(f"{problem}: give a text one {column}")
                    row[role] = _text(where, column, value, is_text=role in texts)
                yield where, row


def flat(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object with what is in its objects too, as `translation.en`.

    Of a list of objects, what is in the first.
    """
    cells = dict(value)
    for name, part in value.items():
        part = part[0] if isinstance(part, list) and part else part
        for key, cell in flat(part).items() if isinstance(part, dict) else ():
            cells.setdefault(f"{name}.{key}", cell)
    return cells


def as_text(value: object) -> str | None:
    """A value as a string, NaN as None; lists and objects become JSON, with dates and the like as strings."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value != value:  # pandas' mark of a missing value
        return None
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)


def _items(record: Mapping[str, Any], lead: str) -> Iterator[Mapping[str, Any]]:
    """A record, or one for each item of the list that the column `lead` is in."""
    head = lead.partition(".")[0]
    items = record.get(head)
    if lead in record or not isinstance(items, list):
        yield flat(record)
        return
    for item in items:
        yield flat({**record, head: item})


def _text(where: str, column: str, value: object, *, is_text: bool) -> str | None:
    """A value as the text of a cell: 1.0, which pandas writes where another label is missing, is the label 1."""
    if is_text and not isinstance(value, str | None):
        kind = "a missing value" if value != value else f"of type {type(value).__name__}"
        raise InputError(
            f"{where}: {column!r} is {repr(value)[:60]}, {kind}, not text: fix it, or give --column"
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = as_text(value)
    if text and not text.isascii() and LONE_SURROGATE.search(text):
        raise InputError(f"{where} holds half a surrogate pair, not a character: fix the line")
    number = WHOLE_NUMBER.fullmatch(text) if text and not is_text else None
    return number[1] if number else text
