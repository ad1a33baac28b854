"""Rows of JSON, Parquet, Arrow and Hub datasets: their columns, nested ones too, and labelled spans in a cell."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from augment.errors import InputError
from augment.text.edits import LabelledSpan
from augment.types import LONE_SURROGATE, visible
from pipelines.similarity import UNSPACED
from pipelines.storage.shards import check_stream_end

TEXT_COLUMNS = ("text", "sentence")
TEXT_TYPES = ("string", "large_string", "string_view")
BATCH_ROWS = 10_000
WHOLE_NUMBER = re.compile(r"\s*([-+]?\d+)\.0+\s*")
VISIBLE = re.compile(r"\S")
SPAN_KEYS = ("start", "end", "label")
Place: TypeAlias = tuple[str, int, str | None]
"""Where a sentence stands: its document, its position there from 0, and the heading that it is or stands
under."""
Row: TypeAlias = tuple[str, str | None, str | None] | tuple[str, str | None, None, Place]
"""The text, label and pair of a row as the source has them, None for a missing value; the place of a
sentence."""


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
    """A value as a string, NaN as None; lists and objects become JSON, with dates and the like as strings."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value != value:  # pandas' mark of a missing value
        return None
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else str(value)


def label_text(value: object) -> str | None:
    """A label as a string: 1.0, which pandas writes where another label is missing, is 1, also as text."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = as_text(value)
    number = WHOLE_NUMBER.fullmatch(text) if text else None
    return number[1] if number else text


def find_columns(where: str, columns: ColumnChoice, names: Sequence[str]) -> Columns:
    """The columns to read, as a table spells them; raises InputError, naming `where`, if it has none of texts."""
    text, *others = columns(names) if callable(columns) else columns
    label, pair = (spelling(where, [name], names) or name for name in others)
    if text is not None and text not in names:
        raise InputError(f"{where} has no column {listed([text])}, only {listed(names)}: give --column")
    if text := spelling(where, TEXT_COLUMNS if text is None else (text,), names):
        return Columns(text, label, pair)
    if len(names) == 1 and names[0] not in ("id", label, pair):
        return Columns(names[0], label, pair)
    raise InputError(f"{where} has the columns {listed(names)}: say which with --column")


def spelling(where: str, choices: Iterable[str], names: Sequence[str]) -> str:
    """How a table spells the first of these names that it has, in another case if need be; "" for none.

    Raises InputError, naming `where`, if it has several of the name.
    """
    for name in choices:
        alike = [name] * names.count(name) or [
            other for other in names if other.strip().lower() == name.lower()
        ]
        if len(alike) > 1 and name:
            raise InputError(
                f"{where} has {len(alike)} columns of the name {listed([name])}: rename all but one"
            )
        if alike:
            return alike[0]
    return ""


def listed(cells: Sequence[str]) -> str:
    """The first few names or cells, quoted and shortened, for an error message."""
    short = [cell if len(cell) <= 24 else cell[:23] + "…" for cell in cells[:8]]
    return ", ".join(map(repr, short)) + (", …" if len(cells) > 8 else "")


def read_json(
    lines: Iterator[str], name: str, columns: ColumnChoice, whole: Callable[..., str]
) -> Iterator[Row]:
    """One JSON object or string a line, empty if blank or null; all objects have the first one's column of texts.

    Where the first line is no such value, rows are an array's items, or objects over lines that `whole` joins.
    """
    head = [""]
    while not head[-1].strip() and (line := next(lines, None)) is not None:
        head.append(line)
    lines, unit = chain(head[1:], lines), "item"
    with suppress(ValueError, RecursionError):
        unit = "item" if isinstance(json.loads(head[-1].strip() or '""'), list) else "line"
    values = _json_values(enumerate(lines, 1) if unit == "line" else [(0, whole(lines))], name)
    for number, value in enumerate(values, start=1):
        where = f"{name}: {unit} {number}"
        if isinstance(value, dict):
            columns = find_columns(where, columns, [*_flat(value)])
            yield from _record_rows(where, value, columns)
        elif isinstance(value, str | None):
            yield from _record_rows(where, {"": value}, Columns(""))
        else:
            raise InputError(f"{where} is a {type(value).__name__}: one object or string a line")


def _json_values(texts: Iterable[tuple[int, str]], name: str) -> Iterator[Any]:
    """The value of each line, "" for a blank one; of a document, as line 0, its values or the items of its arrays."""
    decoder = json.JSONDecoder()
    for number, text in texts:
        text, end = text.rstrip() or '""', 0
        while end < len(text):
            try:
                start = next(VISIBLE.finditer(text, end)).start()
                value, end = (json.loads(text), len(text)) if number else decoder.raw_decode(text, start)
            except (ValueError, RecursionError) as error:
                line = number or text.count("\n", 0, getattr(error, "pos", end)) + 1
                raise InputError(
                    f"{name}: line {line} is not JSON ({getattr(error, 'msg', error)})"
                    ": give one object a line, or an array of them"
                ) from None
            yield from value if isinstance(value, list) and not number else [value]


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object with what is in its objects too, as `translation.en`; of a list of objects, what is in the first."""
    flat = dict(value)
    for name, part in value.items():
        part = part[0] if isinstance(part, list) and part else part
        flat |= {f"{name}.{key}": cell for key, cell in _flat(part).items()} if isinstance(part, dict) else {}
    return {**flat, **value}


def _record_rows(where: str, value: Mapping[str, Any], columns: Columns) -> Iterator[Row]:
    """The row of an object, or a row for each item of the list that its column of texts is in."""
    text, (head, *inner) = str(columns.text), str(columns.text).split(".")
    items = value.get(head) if inner and text not in value else None
    for item in items if isinstance(items, list) else [value.get(head)]:
        cells = _flat({**value, head: item} if isinstance(items, list) else value)
        for key in (text, columns.pair):
            cell = cells.get(key)
            if not isinstance(cell, str | None):
                kind = "a missing value" if cell != cell else f"of type {type(cell).__name__}"
                raise InputError(
                    f"{where}: {key!r} is {repr(cell)[:60]}, {kind}, not text: fix it, or give --column"
                )
        row = cells.get(text) or "", label_text(cells.get(columns.label)), cells.get(columns.pair)
        if any(cell and LONE_SURROGATE.search(cell) for cell in row):
            raise InputError(f"{where} holds half a surrogate pair, not a character: fix the line")
        yield row


def read_columns(format: str, path: Path, name: str, columns: ColumnChoice) -> Iterator[Row]:
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


def rows_of(batches: Any, schema: Any, name: str, columns: ColumnChoice) -> Iterator[Row]:  # noqa: ANN401 - pyarrow
    """The rows of the Arrow `batches(batch_size, columns)`; null texts are empty, labels become strings."""
    import pyarrow as pa

    inner = [*_column_types(schema)]
    types, chosen = dict(inner), find_columns(name, columns, [column for column, _ in inner])
    present = [column for column in chosen if column in types]
    for column in (chosen.text, chosen.pair):
        kind = types[column] if column in present else pa.string()
        if str(kind.value_type if pa.types.is_dictionary(kind) else kind) not in TEXT_TYPES:
            raise InputError(f"{name}: column {column!r} is {kind}, not string: give --column")
    is_nested = not {*present} <= {*schema.names}
    outer = dict.fromkeys(column if column in schema.names else column.partition(".")[0] for column in present)
    classes, numbers = _class_names(schema, chosen.label), count(1)
    for batch in batches(batch_size=BATCH_ROWS, columns=[*outer]):
        batch = batch.select([*outer])
        batch.validate(full=True)
        if is_nested:
            for value in batch.to_pylist():
                yield from _record_rows(f"{name}: row {next(numbers)}", value, chosen)
            continue
        texts, labels, pairs = (
            batch[column].to_pylist() if column in present else [None] * batch.num_rows for column in chosen
        )
        if classes:
            labels = [classes.get(cell) for cell in labels]
        yield from zip([cell or "" for cell in texts], map(label_text, labels), pairs, strict=True)


def _column_types(fields: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The columns, and what is inside them as in `_flat`, with their Arrow types."""
    for field in fields:
        yield field.name, field.type
        kind = getattr(field.type, "value_type", field.type)
        for name, inner in _column_types(kind) if str(kind).startswith("struct") else ():
            yield f"{field.name}.{name}", inner


def _class_names(schema: Any, column: str | None) -> dict[Any, str]:  # noqa: ANN401 - a pyarrow schema
    """The names of a column's classes by number, if `datasets` recorded them; -1 has none."""
    with suppress(ValueError, AttributeError, KeyError, TypeError):
        feature = json.loads(schema.metadata[b"huggingface"])["info"]["features"][column]
        return dict(enumerate(feature["names"])) if feature["_type"] == "ClassLabel" else {}
    return {}


def read_spans(where: str, cell: str | None, raw: str, text: str) -> list[LabelledSpan] | None:
    """The spans that a cell lists as `[start, end, label]` or as objects with these keys; None if it is blank.

    Offsets are in characters of `raw`, of which `text` is the normal form. Raises InputError for any other
    cell.
    """
    if not cell or not cell.strip():
        return None
    margin = len(visible(raw)) - len(visible(raw).lstrip())
    try:
        items, spans = json.loads(cell), []
        if isinstance(items, dict):  # three lists, as `datasets` has them
            items = zip(*(items[key] for key in SPAN_KEYS), strict=True)
        for item in items:
            start, end, label = (item[key] for key in SPAN_KEYS) if isinstance(item, dict) else item
            if type(start) is not int or type(end) is not int or type(label) not in (str, int):
                raise TypeError
            left, right = (
                min(max(len(visible(raw[:offset], raw)) - margin, 0), len(text)) for offset in (start, end)
            )
            covered = text[left:right].strip()
            if (
                not 0 <= start < end <= len(raw)
                or not covered
                or covered != visible(raw[start:end], raw).strip()
            ):
                raise ValueError
            spans.append(LabelledSpan(left, right, str(label)))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(
            f"{where}: {cell[:60]!r} does not list spans of {text[:40]!r}"
            ": write [[start, end, label], ...], in characters from 0"
        ) from None
    return spans


def cuts_word(text: str, span: LabelledSpan) -> bool:
    """Whether a span begins or ends inside a word or on a blank; scripts without spaces have no words here."""
    covered = text[span.start : span.end]
    ends = [(text[span.start - 1 : span.start], covered[:1]), (covered[-1:], text[span.end : span.end + 1])]
    is_cut = (left.isalnum() and right.isalnum() and not UNSPACED.search(left + right) for left, right in ends)
    return covered != covered.strip() or any(is_cut)
