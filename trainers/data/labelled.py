"""Pairs of sentences that people graded, for regression: from tab- or comma-separated files."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.console import InputError
from trainers.data.examples import Examples, file_lines

SCORES = ("score", "similarity_score", "relatedness_score", "similarity", "label", "gold", "grade")
FIRST = ("sentence1", "sentence_1", "sentence_a", "text1", "text_a", "premise", "question1", "s1")
SECOND = ("sentence2", "sentence_2", "sentence_b", "text2", "text_b", "hypothesis", "question2", "s2")

Scale = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the cells of a row are, whether the first row is a header, and the scale of the scores if that is known."""

    score: int
    first: int
    second: int
    header: bool = True
    scale: Scale | None = None


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
    at, opening = next(((number, cells) for number, cells in rows if any(cells)), (1, []))
    if not opening:
        raise InputError(f"{path} is empty: a score and two sentences a line are expected")
    layout = _layout(path, opening)
    body = [(number, cells) for number, cells in rows if any(cells)]
    if not layout.header:
        body = [(at, opening), *body]
    if not body:
        raise InputError(f"{path} holds no graded pair: a score and two sentences a line are expected")
    graded = [_graded(path, number, cells, layout) for number, cells in body[:limit]]
    scores = [score for score, _, _ in graded]
    low, high = scale or layout.scale or _unit(path, scores)
    for (number, _), score in zip(body, scores, strict=False):
        if not low <= score <= high:
            raise InputError(f"{path} line {number}: the score {score:g} is not on the scale {low:g}:{high:g}")
    left, right = [first for _, first, _ in graded], [second for _, _, second in graded]
    return Examples(left, left, right, 0, [(score - low) / (high - low) for score in scores]), (low, high)


def parse_scale(written: str) -> Scale:
    """Understand `LOW:HIGH`.

    Raises:
        InputError: It is not two numbers, the first below the second.
    """
    low, _, high = written.partition(":")
    try:
        scale = float(low), float(high)
    except ValueError:
        scale = math.nan, math.nan
    if not -math.inf < scale[0] < scale[1] < math.inf:
        raise InputError(f"--scale {written}: write the least and the greatest score, e.g. 0:5")
    return scale


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    lines = file_lines(path)
    tabs = "\t" in next((line for line in lines if line.strip()), "")
    csv.field_size_limit(sys.maxsize)
    reader = (
        csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if tabs
        else csv.reader((line + "\n" for line in lines), strict=True)
    )
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num} is not valid CSV ({error}): fix the line") from None


def _layout(path: Path, opening: Sequence[str]) -> _Layout:
    names = [cell.strip().lower() for cell in opening]
    found = [next((names.index(name) for name in known if name in names), None) for known in (SCORES, FIRST, SECOND)]
    score, first, second = found
    if score is not None and first is not None and second is not None:
        return _Layout(score, first, second, scale=(1.0, 5.0) if names[score] == "relatedness_score" else None)
    if len(opening) >= 7 and _is_number(opening[4]):
        return _Layout(4, 5, 6, header=False, scale=(0.0, 5.0))
    if len(opening) == 3 and _is_number(opening[0]) != _is_number(opening[2]):
        score = 0 if _is_number(opening[0]) else 2
        return _Layout(score, 1 - score // 2, 2 - score // 2, header=False)
    raise InputError(
        f"{path} begins {' | '.join(opening)[:80]!r}: expected a header with score, sentence1 and sentence2, "
        "or STS-B's columns, or a score and two sentences"
    )


def _graded(path: Path, number: int, cells: Sequence[str], layout: _Layout) -> tuple[float, str, str]:
    wanted = max(layout.score, layout.first, layout.second)
    if wanted >= len(cells):
        raise InputError(f"{path} line {number} has {len(cells)} columns, column {wanted + 1} is wanted: fix the line")
    score, first, second = (cells[column].strip() for column in (layout.score, layout.first, layout.second))
    if not _is_number(score):
        raise InputError(f"{path} line {number}: the score {score!r} is no number")
    if not first or not second:
        raise InputError(f"{path} line {number}: a sentence is empty: fix the line, or remove it")
    return float(score), first, second


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _unit(path: Path, scores: Sequence[float]) -> Scale:
    if min(scores) < 0 or max(scores) > 1:
        raise InputError(
            f"{path}: scores run from {min(scores):g} to {max(scores):g}: say what scale they are on, e.g. --scale 0:5"
        )
    return 0.0, 1.0
