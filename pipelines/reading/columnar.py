"""Rows of Parquet and Arrow files and of Hub datasets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.reading.rows import BATCH_ROWS, Columns, Rows, as_text, text_column
from pipelines.shards import check_stream_end


def read_columns(form: str, path: Path, name: str, columns: Columns) -> Iterator[Rows]:
    """Stream the rows of a Parquet or Arrow file; errors call it `name`.

    Raises:
        pyarrow.ArrowInvalid: It is none, a wanted column is damaged, or its strings are no UTF-8.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if form == "parquet":
        file = pq.ParquetFile(path)
        yield from rows_of(file.iter_batches, file.schema_arrow, name, columns)
        return
    with pa.memory_map(str(path)) as mapped:
        # Either of Arrow's formats: the IPC stream that `datasets` writes, or the IPC file that Feather is.
        is_file = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        reader = pa.ipc.open_file(mapped) if is_file else pa.ipc.open_stream(mapped)
        if not is_file:
            check_stream_end(path)
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)
        yield from rows_of(lambda **_: batches, reader.schema, name, columns)


def rows_of(batches: Any, schema: Any, name: str, columns: Columns) -> Iterator[Rows]:  # noqa: ANN401 - pyarrow
    """The rows of Arrow batches; null texts are empty, labels become strings.

    Args:
        batches: Gives the batches; it is told their size and the columns that are wanted.
        schema: The columns that are there.
        name: What an error calls the source.
        columns: The columns that are wanted.
    """
    text = text_column(name, columns, schema.names)
    label, pair = (each if each in schema.names else None for each in (columns.label, columns.pair))
    for column in filter(None, (text, pair)):
        if not _is_text(schema.field(column).type):
            raise InputError(f"{name}: column {column!r} is {schema.field(column).type}, not string: give --column")
    wanted = list(dict.fromkeys(filter(None, (text, label, pair))))
    for batch in batches(batch_size=BATCH_ROWS, columns=wanted):
        part = batch.select(wanted)
        part.validate(full=True)
        nothing = [None] * part.num_rows
        texts, labels, pairs = (nothing if each is None else part[each].to_pylist() for each in (text, label, pair))
        yield Rows([each or "" for each in texts], [as_text(each) for each in labels], pairs)


def _is_text(kind: Any) -> bool:  # noqa: ANN401 - a pyarrow type
    import pyarrow as pa

    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value))
