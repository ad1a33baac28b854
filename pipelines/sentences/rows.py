"""Rows of a source as `ingest` takes them: a text, perhaps with a label and a second text, or a part of a document."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from augment.errors import InputError
from pipelines.base.tables.columns import TEXT_COLUMNS, find_columns, listed
from pipelines.base.tables.lines import joined, read_lines
from pipelines.base.tables.reader import checked, open_table
from pipelines.base.tables.sources import TEXT_FORMATS, Source
from pipelines.base.tables.table import Row, Table
from pipelines.sentences.documents import JoinLines, document_paragraphs, paragraphs, split_sentences
from pipelines.sentences.line_ends import join_lines


class Columns(NamedTuple):
    """Which columns to read: `text` by name, by number from 1, or None for `text`, `sentence` or the only one."""

    text: str | None = None
    label: str = "label"
    pair: str = "pair"

    def header(self) -> set[str]:
        """The names of which a CSV's header has one."""
        return {*TEXT_COLUMNS, self.label, self.pair, self.text or self.label}


def read_rows(source: Source, columns: Columns, language: str | None = None) -> Iterator[Row]:
    """Stream a source's rows, empty ones included, as `text`, `label` and `pair`.

    A paragraph of a document is one.

    With a `language`, text is read by paragraphs too, words that line ends break are joined, and every row is
    split into its sentences. Raises InputError if the content is not what the format says, or a column is
    missing.
    """
    join: JoinLines = " ".join
    if language is not None:
        join = partial(join_lines, language=language, counts=source.skipped)
    if source.format in TEXT_FORMATS:
        rows = checked(source, _text_rows(source, join, by_paragraph=language is not None))
    else:
        table = open_table(source, columns.header())
        rows = table.rows(_find(table, columns), ("text", "pair"))
    return rows if language is None else split_sentences(rows, language, join)


def _find(table: Table, columns: Columns) -> dict[str, str]:
    """The columns to read, as a table spells them; raises InputError if it has none of texts."""
    others = {"label": columns.label, "pair": columns.pair}
    texts = [columns.text] if columns.text else TEXT_COLUMNS
    roles = {"text": texts, **{role: [name] for role, name in others.items()}}
    spelt = others | find_columns(table.name, roles, table.names)
    if "text" in spelt:
        return spelt
    if columns.text:
        if table.has(columns.text):
            return {**spelt, "text": columns.text}
        problem = f"{table.name} has no column {listed([columns.text])}, only {listed(table.names)}"
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
