"""Names and mentions with concept ids: BioSyn's and SapBERT's files, MEDIC, CTD, COMETA's table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipelines.console import InputError
from trainers.evaluation.pubtator import Mention, concepts
from trainers.evaluation.reading import columns, csv_rows, file_lines

Fold = Callable[[str], str]
"""What is done to a name before it is compared."""


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


def lower(text: str) -> str:
    """Return a name in lower case, as SapBERT's evaluation reads names."""
    return text.strip().lower()


def read_names(path: Path, fold: Fold) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield folded names and ids of lines `id||name` or, as in MEDIC, `id|id||name|synonym`.

    Raises:
        InputError: A line is of another form.
    """
    for number, line in filled_lines(path):
        # In MEDIC a concept's further ids stand before the double bar, after a single one.
        ids, _, names = line.partition("||")
        if line.count("||") != 1 or not ids.strip() or not names.strip():
            raise InputError(f"{path} line {number}: expected id||name, got {line[:60]!r}")
        found = concepts(ids)
        for name in names.split("|"):
            yield fold(name), found


def read_ctd(path: Path, fold: Fold, *, alternatives: bool) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield folded names and ids of a vocabulary of CTD in its TSV form: name, id, ..., synonyms in column 8.

    Args:
        path: `CTD_chemicals.tsv` or `CTD_diseases.tsv`, gzipped or not.
        fold: What is done to a name.
        alternatives: Column 3 holds further ids, as in the diseases.

    Raises:
        InputError: A line has fewer than eight columns.
    """
    for number, line in filled_lines(path):
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) < 8:
            raise InputError(f"{path} line {number}: {len(fields)} columns, expected at least 8: take CTD's .tsv file")
        ids = concepts(f"{fields[1]}|{fields[2]}" if alternatives else fields[1])
        for name in [fields[0], *fields[7].split("|")]:
            yield fold(name), ids


def read_concepts(folder: Path) -> tuple[list[Mention], list[Path]]:
    """Return the mentions of BioSyn's `*.concept` files in a folder: `pmid||span||type||mention||id`.

    A composite mention is `part|part`, as in `breast cancer|ovarian cancer`. Mentions without a concept are left out.

    Raises:
        InputError: A line has other than five fields.
    """
    mentions = []
    paths = sorted(folder.glob("*.concept"))
    for path in paths:
        for number, line in filled_lines(path):
            fields = line.split("||")
            if len(fields) != 5:
                raise InputError(f"{path} line {number}: {len(fields)} fields, expected pmid||span||type||mention||id")
            text = fields[3].lower()
            parts = tuple(part.strip() for part in text.split("|") if part.strip()) or (text,)
            mentions.append(Mention(parts, concepts(fields[4])))
    return [mention for mention in mentions if mention.ids], paths


def read_queries(path: Path, fold: Fold, group: str = "") -> list[Mention]:
    """Return the mentions of lines `id||mention`; raises InputError for another line."""
    mentions = []
    for number, line in filled_lines(path):
        ids, bar, text = line.partition("||")
        if not bar or not text.strip() or not concepts(ids):
            raise InputError(f"{path} line {number}: expected id||mention, got {line[:60]!r}")
        mentions.append(Mention((fold(text) or text.strip(),), concepts(ids), group))
    return mentions


def read_cometa(path: Path, fold: Fold) -> list[Mention]:
    """Return the mentions of COMETA's tab-separated table: columns `Term` and `General SNOMED ID`.

    Raises:
        InputError: A column or a value is missing, or a quote is not closed.
    """
    mentions = []
    for number, (term, ids) in columns(path, csv_rows(path, delimiter="\t"), ("Term", "General SNOMED ID")):
        if not term.strip() or not concepts(ids):
            raise InputError(f"{path} line {number}: expected a term and its id, got {term[:40]!r} and {ids[:40]!r}")
        mentions.append(Mention((fold(term),), concepts(ids)))
    return mentions


def filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines that are not blank, with their numbers."""
    return ((number, line) for number, line in enumerate(file_lines(path), 1) if line.strip())
