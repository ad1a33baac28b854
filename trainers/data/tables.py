"""A user's tables, read whole: their columns, the rows of a table of a kind, and which texts are copies."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import regex

from pipelines.base.tables.columns import Roles, find_columns, find_kind, header_names
from pipelines.base.tables.reader import IN_MEMORY, TableSource, opened
from pipelines.base.tables.table import Row

TEXT, LABEL = ("text", "sentence"), ("label", "category", "class", "intent")
SCORES = ("score", "similarity_score", "relatedness_score", "similarity", "label", "gold", "grade")
FIRST = ("sentence1", "sentence_1", "sentence_a", "text1", "text_a", "premise", "question1", "s1")
SECOND = ("sentence2", "sentence_2", "sentence_b", "text2", "text_b", "hypothesis", "question2", "s2")
GRADED: Roles = {"first": FIRST, "second": SECOND, "grade": SCORES}
LABELLED: Roles = {"text": TEXT, "label": LABEL}
TEXT_ROLES = frozenset({"text", "first", "second", "query"})
"""The roles of columns that hold strings alone."""
SINGLE_ROLES = ("label",)
"""The roles of columns that hold one value a row, no list."""
# Not marks, which are vowels in many scripts. Joiners and other invisible characters go with the spaces.
IGNORED = regex.compile(r"[\p{P}\p{S}\p{Z}\p{C}]+")


@dataclass(frozen=True, kw_only=True)
class WholeTable:
    """A table of a kind, "" if of none: its columns by role, and their cells, stripped.

    `names` are all its columns, or the first row of a CSV without a header; `places` say where each row stands.
    """

    name: str
    kind: str
    names: Sequence[str]
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, str]]
    places: Sequence[str]


def read_table(
    table: TableSource,
    kinds: Mapping[str, Roles],
    own: Mapping[str, str] | None = None,
    optional: Mapping[str, Roles] | None = None,
) -> WholeTable:
    """Read a table of the first of the kinds all of whose columns it has, with the `optional` ones of that kind.

    `own`: the columns that the user names, by role. Raises InputError if it cannot be read.
    """
    name = str(table) if isinstance(table, str) else IN_MEMORY
    with opened(table, header_names(kinds.values(), own)) as source:
        kind, columns = find_kind(name, kinds, source.names, own)
        columns |= find_columns(name, (optional or {}).get(kind, {}), source.names, own)
        texts = [role for role in columns if role in TEXT_ROLES]
        located = [*source.located_rows(columns, texts, SINGLE_ROLES)] if kind else []
    return WholeTable(
        name=name,
        kind=kind,
        names=source.opening or source.names,
        columns=columns,
        rows=[stripped(row) for _, row in located],
        places=[place for place, _ in located],
    )


def stripped(row: Row) -> dict[str, str]:
    """Return the cells of a row without white space around them, "" for a missing one."""
    return {role: (cell or "").strip() for role, cell in row.items()}


def normalised(text: str) -> str:
    """Return what copies of a text share: it without case, spaces, punctuation and symbols, or those alone."""
    return IGNORED.sub("", unicodedata.normalize("NFKC", text).casefold()) or text.strip()


def left_out(counts: Mapping[str, int]) -> str:
    """Return in words what is left out of a table, by reason; "" for nothing."""
    reasons = [f"{reason} ({count:,})" for reason, count in counts.items() if count]
    return f"left out: {', '.join(reasons)}" if reasons else ""
