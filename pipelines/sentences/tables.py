"""Cells of any table that `augment ingest` reads, for those who want no sentences."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pyarrow as pa

from augment.errors import InputError
from pipelines.sentences.rows import Columns, rows_of
from pipelines.sentences.sources import check_source, read_rows

TableSource: TypeAlias = str | Mapping[str, Sequence[Any]]
"""A file or the like, or columns by name, as pandas' `DataFrame` has them too."""


def table_cells(
    table: TableSource, choose: Callable[[Sequence[str]], Sequence[str]]
) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the sha256 of a table ("" in memory), and three cells of each row, stripped.

    `choose` maps the names of its columns to those of a text, a value of any type and a second text ("": none). Raises
    InputError as `augment ingest` does, and for a table that cannot be read.
    """

    def columns(names: Sequence[str]) -> Columns:
        return Columns(*choose(names))

    try:
        with TemporaryDirectory() as spool:
            if isinstance(table, str):
                source = check_source(table, Path(spool), is_table=True)
                digest, parts = source.sha256, read_rows(source, columns)
            else:
                arrow = pa.table(table)
                digest, parts = "", rows_of(lambda **_: arrow.to_batches(), arrow.schema, "the table", columns)
            rows = (row for part in parts for row in zip(*part[:3], strict=True))
            return digest, [tuple((cell or "").strip() for cell in row) for row in rows]  # type: ignore[misc]
    except InputError as error:  # these options are those of `augment ingest`
        raise InputError(re.sub(r"(, or|:) give --(column|format)( text)?$", "", str(error))) from None
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"the table cannot be read ({error}): give columns of one length and type by name") from None
