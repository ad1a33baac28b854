"""The layouts that graded pairs come in: a reader for each, from the files of one subset to its pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from pipelines.console import InputError
from trainers.evaluation.graded import Graded
from trainers.evaluation.lexical import read_crossed_simlex, read_multi_simlex, read_simlex
from trainers.evaluation.lines import check_width, checked_pair, columns_of, csv_columns, csv_rows, file_lines

SIMILAR = {"DTORCD": "0", "NS": "0", "SS": "1", "HS": "1"}
"""UKP ASPECT's labels as Reimers et al. 2019 join them: another topic or no similarity, some or high similarity."""


Reader: TypeAlias = Callable[..., Iterator[Graded]]
"""From the name of a subset and the paths of its files to its pairs; raises InputError for a broken line."""


def read_gold(subset: str, texts: Path, gold: Path) -> Iterator[Graded]:
    """Pairs separated by a tab, and grades line by line; an empty grade marks a candidate that never was graded."""
    pairs, grades = file_lines(texts), file_lines(gold)
    if len(pairs) != len(grades):
        raise InputError(f"{texts} has {len(pairs)} lines, {gold.name} has {len(grades)}: get the original files again")
    yield from _joined(texts, pairs, grades)


def read_gold_first(subset: str, texts: Path, gold: Path) -> Iterator[Graded]:
    """Pairs and grades as `read_gold` has them, where only the first pairs were graded."""
    pairs, grades = file_lines(texts), file_lines(gold)
    if len(pairs) < len(grades):
        raise InputError(f"{texts} has {len(pairs)} lines, {gold.name} has {len(grades)}: get the original files again")
    yield from _joined(texts, pairs, grades)


def read_graded_lines(subset: str, path: Path) -> Iterator[Graded]:
    """Grade and two sentences a line, separated by tabs; an empty grade marks a candidate that never was graded."""
    for number, line in enumerate(file_lines(path), 1):
        grade, *texts = line.split("\t")
        if grade.strip():
            yield checked_pair(path, number, texts, grade)


def read_scored_lines(subset: str, path: Path) -> Iterator[Graded]:
    """Two sentences and their grade a line, separated by tabs."""
    for number, line in enumerate(file_lines(path), 1):
        *texts, grade = line.split("\t")
        yield checked_pair(path, number, texts, grade)


def read_stsb(subset: str, path: Path) -> Iterator[Graded]:
    """STS-B: genre, file, year, id, score, two sentences, sometimes their sources; quotes are ordinary characters."""
    for number, line in enumerate(file_lines(path), 1):
        fields = line.split("\t")
        yield checked_pair(path, number, fields[5:7], fields[4] if len(fields) > 4 else "")


def read_companion(subset: str, *paths: Path) -> Iterator[Graded]:
    """One file of the tests of 2016 out of STS-B and its companion, which share the earlier tasks' pairs between them.

    The companion's lines lack STS-B's first column, the genre. In the order of the ids, which is that of the task.
    """
    found = []
    for path in paths:
        first = 0 if path.name in ("sts-mt.csv", "sts-other.csv") else 1
        for number, line in enumerate(file_lines(path), 1):
            name, year, key, grade, *texts = [*line.split("\t")[first:], "", "", "", ""]
            if (name, year) == (subset, "2016"):
                found.append((key, checked_pair(path, number, texts[:2], grade)))
    yield from (pair for _, pair in sorted(found, key=lambda item: item[0]))


def read_sick(subset: str, path: Path) -> Iterator[Graded]:
    """SICK: columns by the names in the header line."""
    header, *lines = file_lines(path) or [""]
    columns = header.split("\t")
    try:
        first, second, grade = (columns.index(name) for name in ("sentence_A", "sentence_B", "relatedness_score"))
    except ValueError:
        raise InputError(
            f"{path} begins {header[:60]!r}: expected the columns sentence_A, sentence_B, relatedness_score"
        ) from None
    for number, line in enumerate(lines, 2):
        fields = line.split("\t")
        check_width(path, number, fields, columns)
        yield checked_pair(path, number, [fields[first], fields[second]], fields[grade])


def read_translated(subset: str, path: Path, other: Path | None = None) -> Iterator[Graded]:
    """Comma-separated with quotes: two sentences and a grade; with `other`, the second sentence of its same line."""
    rows = csv_rows(path)
    others = rows if other is None else csv_rows(other)
    if len(rows) != len(others):
        raise InputError(f"{path} has {len(rows)} rows, {other} has {len(others)}: both must be of one release")
    for (number, fields), (_, beside) in zip(rows, others, strict=True):
        if len(fields) != 3 or len(beside) != 3 or fields[2] != beside[2]:
            raise InputError(f"{path} line {number}: expected two sentences and their grade, got {fields!r}")
        yield checked_pair(path, number, [fields[0], beside[1]], fields[2])


def read_afs(subset: str, path: Path) -> Iterator[Graded]:
    """Argument Facet Similarity: CSV, columns by the names in the header line; pairs without a grade are left out."""
    names = ("sentence_1", "sentence_2", "regression_label")
    for number, (first, second, grade) in csv_columns(path, names, mangled=True):
        if grade.strip():
            yield checked_pair(path, number, [first, second], grade)


def read_aspect(subset: str, path: Path) -> Iterator[Graded]:
    """UKP ASPECT: topic, two sentences, label, separated by tabs, under a header; the pairs of one topic, `SIMILAR`."""
    header, *lines = [line.split("\t") for line in file_lines(path)] or [[]]
    topic, *columns = columns_of(path, header, ("topic", "sentence_1", "sentence_2", "label"))
    for number, fields in enumerate(lines, 2):
        check_width(path, number, fields, header)
        if fields[topic] == subset:
            first, second, label = (fields[column] for column in columns)
            if label not in SIMILAR:
                raise InputError(f"{path} line {number}: the label {label!r} is none of {', '.join(SIMILAR)}")
            yield checked_pair(path, number, [first, second], SIMILAR[label])


def read_sample_lines(subset: str, path: Path) -> Iterator[Graded]:
    """The bundled pairs: a header line, then grade and two sentences, separated by tabs."""
    for number, line in enumerate(file_lines(path)[1:], 2):
        grade, *texts = line.split("\t")
        yield checked_pair(path, number, texts, grade)


def _joined(path: Path, pairs: list[str], grades: list[str]) -> Iterator[Graded]:
    for number, (pair, grade) in enumerate(zip(pairs, grades, strict=False), 1):
        if grade.strip():
            yield checked_pair(path, number, pair.split("\t")[:2], grade)


READERS: dict[str, Reader] = {
    "gold": read_gold,
    "gold-first": read_gold_first,
    "graded-lines": read_graded_lines,
    "scored-lines": read_scored_lines,
    "stsb": read_stsb,
    "companion": read_companion,
    "sick": read_sick,
    "translated": read_translated,
    "simlex": lambda subset, *paths: read_simlex(*paths),
    "multi-simlex": read_multi_simlex,
    "crossed-simlex": read_crossed_simlex,
    "afs": read_afs,
    "aspect": read_aspect,
    "sample": read_sample_lines,
}
