"""Rows of Parquet and Arrow files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from augment.errors import InputError
from pipelines.reading.rows import Columns, Row, text_column
from pipelines.shards import check_stream_end

BATCH_ROWS = 10_000
Wanted: TypeAlias = tuple[str, str | None, str | None]


def read_parquet(path: Path, name: str, columns: Columns) -> Iterator[Row]:
    """Stream the rows of a Parquet file; errors call it `name`."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    wanted = wanted_columns(name, columns, file.schema_arrow)
    for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(dict.fromkeys(filter(None, wanted)))):
        yield from batch_rows(batch, wanted)


def read_arrow(path: Path, name: str, columns: Columns) -> Iterator[Row]:
    """Both of Arrow's formats, the IPC stream that `datasets` writes and the IPC file that Feather is."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as mapped:
        is_file = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        if is_file:
            reader = pa.ipc.open_file(mapped)
            batches = (reader.get_batch(index) for index in range(reader.num_record_batches))
        else:
            reader = pa.ipc.open_stream(mapped)
            check_stream_end(path)
            batches = iter(reader)
        wanted = wanted_columns(name, columns, reader.schema)
        for batch in batches:
            yield from batch_rows(batch, wanted)


def wanted_columns(name: str, columns: Columns, schema: Any) -> Wanted:  # noqa: ANN401 - a pyarrow schema
    """Names of the text, label and pair columns in an Arrow schema."""
    import pyarrow as pa

    def is_text(kind: Any) -> bool:  # noqa: ANN401 - a pyarrow type
        value = kind.value_type if pa.types.is_dictionary(kind) else kind
        return bool(pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value))

    text = text_column(name, columns, schema.names)
    pair = columns.pair if columns.pair in schema.names else None
    for column in filter(None, (text, pair)):
        kind = schema.field(column).type
        if not is_text(kind):
            raise InputError(f"{name}: column {column!r} is {kind}, not string: give --column")
    return text, columns.label if columns.label in schema.names else None, pair


def batch_rows(batch: Any, wanted: Wanted) -> Iterator[Row]:  # noqa: ANN401 - a pyarrow record batch
    """The rows of one Arrow batch; null texts are empty, labels become strings.

    Raises:
        pyarrow.ArrowInvalid: A wanted column is damaged, or its strings are no UTF-8.
    """
    batch.select(list(dict.fromkeys(filter(None, wanted)))).validate(full=True)
    nothing = [None] * batch.num_rows
    texts, labels, pairs = (nothing if name is None else batch.column(name).to_pylist() for name in wanted)
    for text, label, pair in zip(texts, labels, pairs, strict=True):
        yield Row(text or "", None if label is None else str(label), pair)
