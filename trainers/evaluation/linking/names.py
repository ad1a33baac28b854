"""Dictionaries of names with concept ids: folding, ids, BioSyn's and CTD's files."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.lines import file_lines

Fold = Callable[[str], str]

UNLINKED = frozenset({"", "-", "-1", "cui-less"})
"""What corpora write for a mention that has no concept."""
_BREAK = re.compile(rf"[\s{re.escape(string.punctuation)}]+")


@dataclass(frozen=True, slots=True)
class Dictionary:
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


def bare(text: str) -> str:
    """Return a name in lower case with a space for any run of ASCII punctuation: BioSyn's preprocessing."""
    return _BREAK.sub(" ", text.lower()).strip()


def concepts(text: str) -> frozenset[str]:
    """Return the ids of a field such as `C567755|613097`, `D009794+D007592` or `MESH:D001943`, prefixes removed."""
    ids = (part.strip().removeprefix("MESH:").removeprefix("OMIM:") for part in text.replace("+", "|").split("|"))
    return frozenset(part for part in ids if part.lower() not in UNLINKED)


def read_names(path: Path, fold: Fold) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield folded names and ids of lines `id||name` or, as in MEDIC, `id|id||name|synonym`.

    Raises:
        InputError: A line is of another form.
    """
    for number, line in enumerate(file_lines(path), 1):
        if not line.strip():
            continue
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
    for number, line in enumerate(file_lines(path), 1):
        if line.startswith("#") or not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) < 8:
            raise InputError(f"{path} line {number}: {len(fields)} columns, expected at least 8: take CTD's .tsv file")
        ids = concepts(f"{fields[1]}|{fields[2]}" if alternatives else fields[1])
        for name in [fields[0], *fields[7].split("|")]:
            yield fold(name), ids
