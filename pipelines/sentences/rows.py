"""Rows of a source as `ingest` takes them: a text, perhaps with a label, or a part of a document."""

from collections.abc import Iterator
from functools import partial
from itertools import chain

from augment.errors import InputError
from pipelines.base.tables.columns import TEXT_COLUMNS, find_columns, listed
from pipelines.base.tables.lines import joined, read_lines
from pipelines.base.tables.reader import checked, open_table
from pipelines.base.tables.sources import TEXT_FORMATS, Source
from pipelines.base.tables.table import Row, Table
from pipelines.options import IngestOptions
from pipelines.sentences.documents import JoinLines, document_paragraphs, paragraphs, split_sentences
from pipelines.sentences.line_ends import join_lines


def read_rows(source: Source, options: IngestOptions) -> Iterator[Row]:
    """Stream a source's rows, empty ones included, as `text` and `label`.

    A paragraph of a document is one.

    With `split`, text is read by paragraphs too, words that line ends break are joined, and every row is split
    into its sentences. Raises InputError if the content is not what the format says, or a column is missing.
    """
    join: JoinLines = " ".join
    if options.split:
        join = partial(join_lines, language=options.language, counts=source.skipped)
    if source.format in TEXT_FORMATS:
        rows = checked(source, _text_rows(source, join, by_paragraph=options.split is not None))
    else:
        table = opened_table(source, options)
        rows = table.rows(chosen_columns(table, options), ["text"])
    return split_sentences(rows, options.language, join) if options.split else rows


def opened_table(source: Source, options: IngestOptions) -> Table:
    """The table in a source; a CSV's first row is its header if it names one of the columns to read."""
    names = {options.column or "text", options.label_column}
    return open_table(source, names.union(TEXT_COLUMNS))


def chosen_columns(table: Table, options: IngestOptions) -> dict[str, str]:
    """The columns to read, as a table spells them; raises InputError if it has none of texts."""
    label, column = options.label_column, options.column
    roles = {"text": [column] if column else TEXT_COLUMNS, "label": [label]}
    spelt = {"label": label, **find_columns(table.name, roles, table.names)}
    if "text" in spelt:
        return spelt
    if column:
        if table.has(column):
            return {**spelt, "text": column}
        problem = f"{table.name} has no column {listed([column])}, only {listed(table.names)}"
        raise InputError(f"{problem}: give --column")
    if len(table.names) == 1 and table.names[0] not in ("id", *spelt.values()):
        return {**spelt, "text": table.names[0]}
    raise InputError(f"{table.name} has the columns {listed(table.names)}: say which with --column")


def _text_rows(source: Source, join: JoinLines, *, by_paragraph: bool) -> Iterator[Row]:
    """The lines of plain text, or its paragraphs; the paragraphs of a document."""
    texts: Iterator[str] = chain.from_iterable(read_lines(source.path, source.name))
    if source.format in ("markdown", "html"):
        texts = document_paragraphs(joined(texts, source.name), source.format, join)
    elif by_paragraph:
        texts = paragraphs(texts, join)
    for text in texts:
        yield {"text": text}
