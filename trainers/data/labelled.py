"""Pairs of sentences that people graded, for regression: from tab- or comma-separated files."""

import csv
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from pipelines.console import InputError
from trainers.data.examples import Examples, file_lines

SCORES = ("score", "similarity_score", "relatedness_score", "similarity", "label", "gold", "grade")
FIRST = ("sentence1", "sentence_1", "sentence_a", "text1", "text_a", "premise", "question1", "s1")
SECOND = ("sentence2", "sentence_2", "sentence_b", "text2", "text_b", "hypothesis", "question2", "s2")

Scale = tuple[float, float]


def read_graded(path: Path, scale: Scale | None = None, limit: int | None = None) -> tuple[Examples, Scale]:
    """Read graded pairs; returns them, with labels in [0, 1], and the scale that their scores were on.

    The file (UTF-8, also .gz) is tab-separated, a quotation mark being an ordinary character, or else comma-separated
    with quotes. Known are STS-B's own layout (score in column 5, sentences in 6 and 7; 0 to 5), a header that names the
    columns (score or relatedness_score, sentence1, sentence2 and the like; SICK's is 1 to 5), and three columns without
    a header, the score first or last. Other scores are taken as they are if all lie in [0, 1].

    Args:
        path: The file.
        scale: Least and greatest score, which become 0 and 1; None is the layout's.
        limit: Take the first rows only.

    Raises:
        InputError: No such file, another layout, a broken line, or scores whose scale is not known.
    """
    if not path.is_file():
        raise InputError(f"no graded pairs at {str(path)!r}: give a TSV or CSV file with --graded")
    rows = _cells(path)
    columns, header, usual = _layout(path, rows[0][1] if rows else [])
    body = rows[header:][:limit]
    if not body:
        raise InputError(f"{path} holds no graded pair: a score and two sentences a line are expected")
    graded = [_graded(path, number, cells, columns) for number, cells in body]
    scores = [score for score, _, _ in graded]
    low, high = scale or usual or (0.0, 1.0)
    for (number, _), score in zip(body, scores, strict=True):
        if not low <= score <= high:
            raise InputError(
                f"{path} line {number}: the score {score:g} is not on the scale {low:g}:{high:g}: say what scale the "
                "scores are on, e.g. --scale 0:5"
            )
    left, right = [first for _, first, _ in graded], [second for _, _, second in graded]
    return Examples(left, left, right, 0, [(score - low) / (high - low) for score in scores]), (low, high)


def parse_scale(written: str) -> Scale:
    """Understand `LOW:HIGH`; raises InputError where it is not two numbers, the first below the second."""
    low, _, high = written.partition(":")
    if not (_is_number(low) and _is_number(high) and float(low) < float(high)):
        raise InputError(f"--scale {written}: write the least and the greatest score, e.g. 0:5")
    return float(low), float(high)


def _cells(path: Path) -> list[tuple[int, list[str]]]:
    """Return the cells of every line that is not blank, with its number."""
    lines = file_lines(path)
    csv.field_size_limit(sys.maxsize)
    if "\t" in next((line for line in lines if line.strip()), ""):
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader((line + "\n" for line in lines), strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if any(cells)]
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num} is not valid CSV ({error}): fix the line") from None


def _layout(path: Path, opening: Sequence[str]) -> tuple[tuple[int, int, int], int, Scale | None]:
    """Return the columns of score and sentences, the number of header lines, and the scale if the layout has one."""
    names = [cell.strip().lower() for cell in opening]
    score, first, second = (
        next((names.index(name) for name in known if name in names), None) for known in (SCORES, FIRST, SECOND)
    )
    if score is not None and first is not None and second is not None:
        return (score, first, second), 1, (1.0, 5.0) if names[score] == "relatedness_score" else None
    if len(opening) >= 7 and _is_number(opening[4]):
        return (4, 5, 6), 0, (0.0, 5.0)
    if len(opening) == 3 and _is_number(opening[0]) != _is_number(opening[2]):
        return (0, 1, 2) if _is_number(opening[0]) else (2, 0, 1), 0, None
    raise InputError(
        f"{path} begins {' | '.join(opening)[:80]!r}: expected a header with score, sentence1 and sentence2, "
        "or STS-B's columns, or a score and two sentences"
    )


def _graded(path: Path, number: int, cells: Sequence[str], columns: tuple[int, int, int]) -> tuple[float, str, str]:
    score, first, second = (cells[column].strip() if column < len(cells) else "" for column in columns)
    if not (_is_number(score) and first and second):
        raise InputError(
            f"{path} line {number}: no score and two sentences in columns {', '.join(str(at + 1) for at in columns)}: "
            "fix the line, or remove it"
        )
    return float(score), first, second


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
