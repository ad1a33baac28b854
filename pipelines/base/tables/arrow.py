"""Rows of Parquet, Arrow and datasets, many at a time."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from augment.errors import InputError
from pipelines.base.tables.table import Records, Table

BATCH_ROWS = 10_000
LIST_FEATURES = ("Sequence", "List", "LargeList")
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def open_columns(format: str, path: Path, name: str) -> Table:
    """A Parquet or Arrow file (stream or file, as Feather is); may raise pyarrow.ArrowInvalid."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if format == "parquet":
        file = pq.ParquetFile(path)
        return arrow_table(name, file.schema_arrow, lambda names: file.iter_batches(BATCH_ROWS, columns=names))
    with pa.memory_map(str(path)) as mapped:
        is_file = mapped.read(6) == b"ARROW1"

    def open_reader() -> Any:  # noqa: ANN401 - pyarrow
        mapped = pa.memory_map(str(path))
        return pa.ipc.open_file(mapped) if is_file else pa.ipc.open_stream(mapped)

    def batches(names: Sequence[str]) -> Iterator[Any]:
        reader = open_reader()
        return map(reader.get_batch, range(reader.num_record_batches)) if is_file else iter(reader)

    schema = open_reader().schema
    if not is_file:
        check_stream_end(path)
    return arrow_table(name, schema, batches)


def check_stream_end(path: Path) -> None:
    """Raise InputError for an IPC stream without its end marker: cut between two batches, it reads as if complete."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - len(END_OF_STREAM)))
        if stream.read() != END_OF_STREAM:
            raise InputError(
                f"{path} is cut short (an Arrow stream without its end): make or download it again"
            )


def dataset_table(name: str, dataset: Any) -> Table:  # noqa: ANN401 - a datasets.Dataset
    """The table of a dataset of the Hub or in memory."""
    dataset = dataset.with_format("arrow")
    schema = dataset.features.arrow_schema
    return arrow_table(name, schema, lambda names: dataset.select_columns(names).iter(BATCH_ROWS))


def arrow_table(name: str, schema: Any, batches: Callable[[list[str]], Iterable[Any]]) -> Table:  # noqa: ANN401 - pyarrow
    """A table of Arrow batches, which may have more columns than those they are asked for."""
    types = [*_column_types(schema)]

    def records(columns: Sequence[str]) -> Records:
        heads = (column if column in schema.names else column.partition(".")[0] for column in columns)
        outer = [head for head in dict.fromkeys(heads) if head in schema.names]
        features = _features(schema)
        classes = {column: features[column] for column in outer if "ClassLabel" in str(features.get(column))}
        numbers = count(1)
        for batch in batches(outer):
            batch = batch.select(outer)
            batch.validate(full=True)
            for record in batch.to_pylist():
                for column, feature in classes.items():
                    record[column] = _with_classes(record[column], feature)
                yield f"{name}: row {next(numbers)}", record

    return Table(name=name, names=[column for column, _ in types], records=records, types=dict(types))


def _column_types(fields: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """The columns, and what is inside them as in `flat`, with their Arrow types."""
    for field in fields:
        kind = getattr(field.type, "value_type", field.type)
        is_dictionary = str(field.type).startswith("dictionary")
        yield field.name, str(kind if is_dictionary else field.type)
        for name, inner in _column_types(kind) if str(kind).startswith("struct") else ():
            yield f"{field.name}.{name}", inner


def _features(schema: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a pyarrow schema
    """What `datasets` recorded of each column, if it did."""
    with suppress(ValueError, KeyError, TypeError):
        return dict(json.loads(schema.metadata[b"huggingface"])["info"]["features"])
    return {}


def _with_classes(value: Any, feature: Any) -> Any:  # noqa: ANN401 - a value of any type, and its feature
    """A value with the names of classes, which may be inside it, in place of their numbers; -1 has none."""
    # Lists are recorded in three ways: by their type and what they hold, and in older files by that alone.
    if isinstance(feature, list):
        feature = feature[0]
    kind = feature.get("_type")
    if kind == "ClassLabel" and not isinstance(value, list):
        return dict(enumerate(feature["names"])).get(value)
    if kind in LIST_FEATURES:
        feature = feature["feature"]
    if isinstance(value, dict):
        return {name: _with_classes(part, feature.get(name, {})) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_classes(part, feature) for part in value]
    return value
