"""Reading rows of CSV, TSV, JSONL, Parquet, Arrow and Hub datasets: their columns, and labelled spans in a cell."""

import csv
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from augment.errors import InputError
from augment.text.edits import LabelledSpan
from pipelines.storage.shards import check_stream_end

TEXT_COLUMNS = ("text", "sentence")
BATCH_ROWS = 10_000
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair: JSON can escape it, but UTF-8 cannot hold it."""
SPAN_KEYS = ("start", "end", "label")
Place: TypeAlias = tuple[str, int, str | None]
"""Where a sentence stands: its document, its position there from 0, and the heading that it is or stands under."""
Row: TypeAlias = tuple[str, str | None, str | None] | tuple[str, str | None, None, Place]
"""The text, label and pair of a row as the source has them, None for a missing value; the place of a sentence."""


class Rows(NamedTuple):
    """Columns of successive rows, all of one length; places only if text was split."""

    texts: Sequence[str]
    labels: Sequence[str | None]
    pairs: Sequence[str | None]
    places: Sequence[Place] = ()


class Columns(NamedTuple):
    """Which columns to read: `text` by name, by number from 1, or None for `text`, `sentence` or the only one."""

    text: str | None = None
    label: str = "label"
    pair: str = "pair"


ColumnChoice: TypeAlias = Columns | Callable[[Sequence[str]], Columns]
"""The columns to read, or what chooses them by the names of all columns."""


def collect(rows: Iterator[Row]) -> Iterator[Rows]:
    """Rows in batches."""
    while batch := list(islice(rows, BATCH_ROWS)):
        yield Rows(*zip(*batch, strict=True))


def as_text(value: object) -> str | None:
    """A value as a string; lists and objects become JSON, with dates and the like as strings."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)


def find_columns(where: str, columns: ColumnChoice, names: Sequence[str]) -> Columns:
    """The columns to read, with the name of the text column; raises InputError, naming `where`, if there is none."""
    columns = columns(names) if callable(columns) else columns
    if columns.text is not None and columns.text not in names:
        raise InputError(f"{where} has no column {listed([columns.text])}, only {listed(names)}: give --column")
    for name in TEXT_COLUMNS if columns.text is None else (columns.text,):
        if name in names:
            return columns._replace(text=name)
    if len(names) == 1 and names[0] not in ("id", columns.label, columns.pair):
        return columns._replace(text=names[0])
    raise InputError(f"{where} has the columns {listed(names)}: say which with --column")


def listed(cells: Sequence[str]) -> str:
    """The first few names or cells, quoted and shortened, for an error message."""
    short = [cell if len(cell) <= 24 else cell[:23] + "…" for cell in cells[:8]]
    return ", ".join(map(repr, short)) + (", …" if len(cells) > 8 else "")


def read_cells(format: str, lines: Iterator[str], name: str, columns: ColumnChoice) -> Iterator[Row]:
    """The rows of a CSV, from lines with their ends, or of a TSV, from lines without; the header: `_name_cells`."""
    first_line = next(lines, "")
    lines = chain([first_line], lines)
    if format == "tsv":  # a quotation mark is an ordinary character, as in most corpora
        reader = csv.reader((f"{line}\n" for line in lines), delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, delimiter=";" if ";" in first_line and "," not in first_line else ",", strict=True)
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
            if format == "csv" and any(cells[len(names) :]):
                advice = "put texts with commas in quotes, or give --format text"
                raise InputError(f"{where}, but the first row has {len(names)}: {advice}")
            text, label, pair = (cells[index] if index >= 0 else None for index in indices)
            yield text or "", label, pair
    except csv.Error as error:
        advice = "fix the line, or give --format"
        raise InputError(f"{name}: line {reader.line_num} is not valid CSV ({error}): {advice}") from None


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


def read_jsonl(lines: Iterator[str], name: str, columns: ColumnChoice) -> Iterator[Row]:
    """One JSON object or string per line, empty if blank or null; all objects have the first one's column of texts."""
    for number, line in enumerate(lines, start=1):
        where = f"{name}: line {number}"
        try:
            value = json.loads(line) if line.strip() else ""
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is not JSON ({error}): one object a line") from None
        if isinstance(value, str):
            row: tuple[str, str | None, str | None] = (value, None, None)
        elif isinstance(value, dict):
            columns = find_columns(where, columns, list(value))
            column = str(columns.text)
            for key in (column, columns.pair):
                if not isinstance(value.get(key), str | None):
                    raise InputError(f"{where}: {key!r} is {repr(value[key])[:60]}, not a string: give --column")
            row = value[column] or "", as_text(value.get(columns.label)), value.get(columns.pair)
        else:
            raise InputError(f"{where} is a {type(value).__name__}: one object or string a line")
        if any(cell and LONE_SURROGATE.search(cell) for cell in row):
            raise InputError(f"{where} holds half a surrogate pair, not a character: fix the line")
        yield row


def read_columns(format: str, path: Path, name: str, columns: ColumnChoice) -> Iterator[Rows]:
    """Stream the rows of a Parquet or Arrow file (stream or file, as Feather is); may raise pyarrow.ArrowInvalid."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if format == "parquet":
        file = pq.ParquetFile(path)
        yield from rows_of(file.iter_batches, file.schema_arrow, name, columns)
        return
    with pa.memory_map(str(path)) as mapped:
        is_file = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        reader = pa.ipc.open_file(mapped) if is_file else pa.ipc.open_stream(mapped)
        if not is_file:
            check_stream_end(path)
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
        yield from rows_of(lambda **_: batches, reader.schema, name, columns)


def rows_of(batches: Any, schema: Any, name: str, columns: ColumnChoice) -> Iterator[Rows]:  # noqa: ANN401 - pyarrow
    """The rows of the Arrow `batches(batch_size, columns)`; null texts are empty, labels become strings."""
    import pyarrow as pa

    chosen = find_columns(name, columns, schema.names)
    text, label, pair = (column if column in schema.names else None for column in chosen)
    for column in filter(None, (text, pair)):
        column_type = schema.field(column).type
        value_type = column_type.value_type if pa.types.is_dictionary(column_type) else column_type
        if str(value_type) not in ("string", "large_string", "string_view"):
            raise InputError(f"{name}: column {column!r} is {column_type}, not string: give --column")
    selection = list(dict.fromkeys(filter(None, (text, label, pair))))
    for batch in batches(batch_size=BATCH_ROWS, columns=selection):
        batch = batch.select(selection)
        batch.validate(full=True)
        nulls = [None] * batch.num_rows
        texts, labels, pairs = (batch[column].to_pylist() if column else nulls for column in (text, label, pair))
        yield Rows([cell or "" for cell in texts], [as_text(cell) for cell in labels], pairs)


def read_spans(where: str, cell: str | None, raw: str, text: str) -> list[LabelledSpan] | None:
    """The spans that a cell lists as `[start, end, label]` or as objects with these keys; None if it is blank.

    Offsets are in characters of `raw`, the text as the source has it; `text` is the same in NFC, without outer white
    space. Raises InputError, which names `where`, for anything else, and for a span that is empty, outside the text or
    cuts a character.
    """
    if not cell or not cell.strip():
        return None
    normal = partial(unicodedata.normalize, "NFC")
    margin = len(normal(raw)) - len(normal(raw).lstrip())
    try:
        items, spans = json.loads(cell), []
        if isinstance(items, dict):  # three lists, as `datasets` has them
            items = zip(*(items[key] for key in SPAN_KEYS), strict=True)
        for item in items:
            start, end, label = (item[key] for key in SPAN_KEYS) if isinstance(item, dict) else item
            if type(start) is not int or type(end) is not int or type(label) not in (str, int):
                raise TypeError
            left, right = (min(max(len(normal(raw[:offset])) - margin, 0), len(text)) for offset in (start, end))
            covered = text[left:right].strip()
            if not 0 <= start < end <= len(raw) or not covered or covered != normal(raw[start:end]).strip():
                raise ValueError
            spans.append(LabelledSpan(left, right, str(label)))
    except (ValueError, TypeError, KeyError, RecursionError):
        problem = f"{cell[:60]!r} does not list spans of {text[:40]!r}"
        raise InputError(f"{where}: {problem}: write [[start, end, label], ...], in characters from 0") from None
    return spans
