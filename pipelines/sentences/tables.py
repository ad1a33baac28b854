"""Cells of any table that `augment ingest` reads, for those who want no sentences."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from augment.errors import InputError
from pipelines.sentences.rows import Columns
from pipelines.sentences.sources import check_source, read_rows


def table_cells(name: str, choose: Callable[[Sequence[str]], Sequence[str]]) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the sha256 of a table that `augment ingest` can read, and three cells of each row, stripped.

    `choose` maps the names of its columns to those of a text, a value of any type and a second text ("": none). Raises
    InputError as it does, and for a table that cannot be read.
    """
    try:
        with TemporaryDirectory() as spool:
            source = check_source(name, Path(spool), is_table=True)
            parts = read_rows(source, lambda names: Columns(*choose(names)))
            rows = (row for part in parts for row in zip(*part[:3], strict=True))
            return source.sha256, [tuple((cell or "").strip() for cell in row) for row in rows]  # type: ignore[misc]
    except InputError as error:  # these options are those of `augment ingest`
        raise InputError(re.sub(r"(, or|:) give --(column|format)( text)?$", "", str(error))) from None
