"""Open a table of any format, from a source or from memory: its columns, then its rows."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeVar

from augment.errors import InputError, check_several, warn_once
from pipelines.base.tables.arrow import arrow_table, dataset_table, open_columns
from pipelines.base.tables.delimited import open_delimited
from pipelines.base.tables.json_lines import open_json
from pipelines.base.tables.lines import read_lines
from pipelines.base.tables.sources import DELIMITED, Source, check_source, load_named
from pipelines.base.tables.table import Table

IN_MEMORY = "the table"
T = TypeVar("T")
TableSource: TypeAlias = str | Path | Mapping[str, Sequence[Any]]
"""A file or the like, or columns by name, as pandas' `DataFrame` and a `datasets.Dataset` have them too."""


def open_table(source: Source, header: Collection[str]) -> Table:
    """The table in a source; of a CSV, the first row is a header if it has one of the names `header`, in any case.

    Raises InputError if the content is not what the format says; so does reading the rows.
    """
    import pyarrow as pa

    try:
        table = _open(source, header)
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        raise _damaged(source, 0, error) from None

    return replace(table, records=lambda columns: checked(source, table.records(columns)))


def checked(source: Source, rows: Iterator[T]) -> Iterator[T]:
    """The rows of a source, in any form.

    Raises InputError if it is damaged, TwinviewsError if it changes meanwhile.
    """
    import pyarrow as pa

    count = 0
    source.skipped.clear()
    try:
        for row in rows:
            yield row
            count += 1
        source.check_unchanged()
    except (pa.ArrowException, OSError, ValueError, OverflowError, RecursionError) as error:
        raise _damaged(source, count, error) from None
    if headers := source.skipped["repeated header"]:
        warn_once("%s: left out %s", source.name, f"{headers:,} repeated header" + "s" * (headers > 1))


def _damaged(source: Source, count: int, error: Exception) -> InputError:
    return InputError(
        f"{source.name} cannot be read as {source.format}, or is damaged after row {count:,} ({error}): "
        "get it again, or give --format"
    )


def _open(source: Source, header: Collection[str]) -> Table:
    format, name = source.format, source.name

    def lines(*, ends: bool = False) -> Iterator[str]:
        return chain.from_iterable(read_lines(source.path, name, ends=ends))

    if format == "dataset":
        return dataset_table(name, load_named(name))
    if format in ("parquet", "arrow"):
        return open_columns(format, source.path, name)
    if format in DELIMITED:
        return open_delimited(format, partial(lines, ends=True), name, header, source.skipped)
    if format == "jsonl":
        return open_json(lines, name)
    raise InputError(f"{name} is a {format} file, not a table")


@contextmanager
def opened(table: TableSource, header: Collection[str]) -> Iterator[Table]:
    """A user's table, to read while the block lasts; see `open_table`.

    Raises InputError for what is no table, in words that name no option of `augment ingest`.
    """
    with TemporaryDirectory() as spool:
        try:
            if isinstance(table, str | Path):
                source = check_source(str(table), Path(spool), is_table=True)
                yield open_table(source, header)
            else:
                yield _memory_table(table)
        except InputError as error:
            raise InputError(re.sub(r"(, or|:) give --(column|format)( text)?$", "", str(error))) from None


def _memory_table(table: Any) -> Table:  # noqa: ANN401 - a mapping, data frame or dataset
    import pyarrow as pa

    if hasattr(table, "with_format"):
        return dataset_table(IN_MEMORY, table)
    try:
        if isinstance(table, dict):
            for values in table.values():
                check_several(values)
            # Otherwise pandas' mark of a missing value is a number among texts.
            table = {name: pa.array(values, from_pandas=True) for name, values in table.items()}
        columns = pa.table(table)
        columns.validate(full=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"the table cannot be read ({error}): give columns of one length and type by name"
        ) from None
    return arrow_table(IN_MEMORY, columns.schema, lambda _: columns.to_batches())
