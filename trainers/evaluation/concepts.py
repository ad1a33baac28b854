"""Names and mentions with concept ids: BioSyn's and SapBERT's files, MEDIC, COMETA's table."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from trainers.evaluation.reading import bad_line, columns, csv_rows, filled_lines, tsv_rows

UNLINKED = frozenset({"", "-", "-1", "cui-less"})
"""What corpora write for a mention that has no concept."""

_BREAK = re.compile(rf"[\s{re.escape(string.punctuation)}]+")

Fold: TypeAlias = Callable[[str], str]
"""What is done to a name before it is compared."""

Entry: TypeAlias = tuple[str, frozenset[str]]
"""A name and the ids of its concepts."""


class Mention(NamedTuple):
    """What is to be linked: the texts of its parts (one, unless it names several concepts), and its concepts' ids.

    `group` is the language, the fold or the like, for metrics of its own.
    """

    parts: tuple[str, ...]
    ids: frozenset[str]
    group: str = ""


class Dictionary(NamedTuple):
    """Distinct names, in the order of the file, each with the ids of every concept that bears it."""

    names: tuple[str, ...]
    ids: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, entries: Iterable[tuple[str, frozenset[str]]]) -> Dictionary:
        """Join the entries of one name, as BioSyn does: their ids are united, the first one's place is kept."""
        joined: dict[str, frozenset[str]] = {}
        for name, ids in entries:
            if name and ids:
                joined[name] = joined.get(name, frozenset()) | ids
        return cls(tuple(joined), tuple(joined.values()))


def concepts(text: str) -> frozenset[str]:
    """Return the ids of a field such as `C567755|613097`, `D009794+D007592` or `MESH:D001943`, prefixes removed."""
    ids = (part.strip().removeprefix("MESH:").removeprefix("OMIM:") for part in text.replace("+", "|").split("|"))
    return frozenset(part for part in ids if part.lower() not in UNLINKED)


def bare(text: str) -> str:
    """Return a name in lower case with a space for any run of ASCII punctuation: BioSyn's preprocessing."""
    return _BREAK.sub(" ", text.lower()).strip()


def lower(text: str) -> str:
    """Return a name in lower case, as SapBERT's evaluation reads names."""
    return text.strip().lower()


def read_names(path: Path, fold: Fold = lower, *, synonyms: bool = True) -> Iterator[Entry]:
    """Yield folded names and ids of lines `id||name` or, as in MEDIC, `id|id||name|synonym`.

    Raises:
        InputError: A line is of another form.
    """
    for number, line in filled_lines(path):
        # In MEDIC a concept's further ids stand before the double bar, after a single one.
        ids, _, names = line.partition("||")
        if line.count("||") != 1 or not ids.strip() or not names.strip():
            raise bad_line(path, number, "id||name", line)
        found = concepts(ids)
        yield from ((fold(name), found) for name in (names.split("|") if synonyms else [names]))


def read_concepts(path: Path) -> Iterator[Mention]:
    """Yield the mentions of one of BioSyn's `.concept` files, lines `pmid||span||type||mention||id`.

    A composite mention is `part|part`, as in `breast cancer|ovarian cancer`. Mentions without a concept are left out.

    Raises:
        InputError: A line has other than five fields.
    """
    for number, line in filled_lines(path):
        fields = line.split("||")
        if len(fields) != 5:
            raise bad_line(path, number, "pmid||span||type||mention||id", line)
        text, ids = fields[3].lower(), concepts(fields[4])
        if ids:
            yield Mention(tuple(part.strip() for part in text.split("|") if part.strip()) or (text,), ids)


def read_cells(path: Path, name: int, ids: int) -> Iterator[Entry]:
    """Yield names and ids, as they are, of two columns of a tab-separated file without a header.

    Raises:
        InputError: A line has too few columns.
    """
    for number, fields in tsv_rows(path):
        if len(fields) <= max(name, ids):
            raise bad_line(path, number, f"{max(name, ids) + 1} columns", fields)
        yield fields[name].strip(), concepts(fields[ids])


def read_cometa(path: Path) -> Iterator[Entry]:
    """Yield names and ids of COMETA's tab-separated table: columns `Term` and `General SNOMED ID`.

    Raises:
        InputError: A column is missing, or a quote is not closed.
    """
    for _, (term, ids) in columns(path, csv_rows(path, delimiter="\t"), ("Term", "General SNOMED ID")):
        yield lower(term), concepts(ids)
