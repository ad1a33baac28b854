"""Read graded pairs of words: SimLex-999, and Multi-SimLex in each of its languages and across two of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.graded import Graded
from trainers.evaluation.lines import check_width, checked_pair, columns_of, csv_columns, file_lines

LOST = "null"
"""Estonian for zero: the published table has an empty cell there, as table readers take the word for no value."""

AGREE = 1.2
"""How far two languages' grades of a pair may be apart for it to be crossed: a fifth of the scale."""


def read_simlex(path: Path) -> Iterator[Graded]:
    """Yield SimLex-999's pairs, graded from 0 to 10; columns by the names in the header line.

    Raises:
        InputError: A column is missing, or a line is broken.
    """
    header, *lines = [line.split("\t") for line in file_lines(path)] or [[]]
    columns = columns_of(path, header, ("word1", "word2", "SimLex999"))
    for number, fields in enumerate(lines, 2):
        check_width(path, number, fields, header)
        first, second, grade = (fields[column] for column in columns)
        yield checked_pair(path, number, [first, second], grade)


def read_multi_simlex(language: str, scores: Path, words: Path) -> Iterator[Graded]:
    """Yield one language's pairs of Multi-SimLex, graded from 0 to 6: `scores.csv` and `translation.csv` by their ID.

    Args:
        language: As in the files: ENG, FRA, ...
        scores: Mean grades, one column per language.
        words: The words, two columns per language.

    Raises:
        InputError: A column is missing, a line is broken, or an ID stands in one file alone.
    """
    worded = _table(words, ("ID", f"{language} 1", f"{language} 2"))
    pairs = {fields[0]: (number, fields[1:]) for number, fields in worded}
    for number, (key, grade) in _table(scores, ("ID", language)):
        if key not in pairs:
            raise InputError(f"{scores} line {number}: no pair {key!r} in {words.name}: both must be of one release")
        line, pair = pairs.pop(key)
        restored = [word or LOST for word in pair] if language == "EST" else pair
        yield checked_pair(words, line, restored, grade)
    if pairs:
        key, (line, _) = next(iter(pairs.items()))
        raise InputError(f"{words} line {line}: no grade of pair {key!r} in {scores.name}: both must be of one release")


def read_crossed_simlex(languages: str, scores: Path, words: Path) -> Iterator[Graded]:
    """Yield the cross-lingual pairs of two languages, made of Multi-SimLex's aligned pairs as its authors make them.

    Of each aligned pair both crossings are taken, the first word in one language with the second in the other; the
    grade is the mean of both languages', and pairs on which these are more than `AGREE` apart are left out (Vulic et
    al. 2020). A crossing that recurs is taken once.

    Args:
        languages: Two codes with a hyphen between them: ENG-FRA.
        scores: As in `read_multi_simlex`.
        words: As in `read_multi_simlex`.

    Raises:
        InputError: As in `read_multi_simlex`.
    """
    one, two = languages.split("-")
    aligned = zip(read_multi_simlex(one, scores, words), read_multi_simlex(two, scores, words), strict=True)
    seen: set[tuple[str, str]] = set()
    for left, right in aligned:
        if abs(left.gold - right.gold) > AGREE:
            continue
        for crossing in ((left.first, right.second), (left.second, right.first)):
            if crossing not in seen:
                seen.add(crossing)
                yield Graded(*crossing, (left.gold + right.gold) / 2)


def _table(path: Path, names: tuple[str, ...]) -> list[tuple[int, list[str]]]:
    """Return some columns of a CSV file, each row with its line, without the spaces around a cell."""
    return [(number, [cell.strip() for cell in cells]) for number, cells in csv_columns(path, names)]
