"""Multi-SimLex in thirteen languages and SimLex-999: Spearman of the cosine of two words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.pairs import METRICS as METRICS
from trainers.evaluation.pairs import Benchmark, Pair, Pairs, checked_pair, read_all
from trainers.evaluation.reading import columns, csv_rows, tsv_rows
from trainers.evaluation.task import Missing

LOST = "null"
"""Estonian for zero: the published table has an empty cell there, as table readers take the word for no value."""
LANGUAGES = ("ENG", "FRA", "EST", "ARA", "CMN", "RUS", "SPA", "POL", "CYM", "FIN", "HEB", "SWA", "YUE")
MIRROR_LANGUAGES = LANGUAGES[:8]
"""The languages over which Mirror-BERT averages; the others are reported beside them."""


def read_simlex(subset: str, path: Path) -> Iterator[Pair]:
    """SimLex-999, graded from 0 to 10: columns by the names in the header line."""
    for number, (*words, grade) in columns(path, tsv_rows(path), ("word1", "word2", "SimLex999")):
        yield checked_pair(path, number, words, grade)


def read_multi_simlex(language: str, scores: Path, words: Path) -> Iterator[Pair]:
    """Yield one language's pairs of Multi-SimLex, graded from 0 to 6: `scores.csv` and `translation.csv` by their ID.

    Args:
        language: As in the files: ENG, FRA, ...
        scores: Mean grades, one column per language.
        words: The words, two columns per language.

    Raises:
        InputError: A column is missing, a line is broken, or an ID stands in one file alone.
    """
    worded = _cells(words, ("ID", f"{language} 1", f"{language} 2"))
    pairs = {key: (number, pair) for number, (key, *pair) in worded}
    for number, (key, grade) in _cells(scores, ("ID", language)):
        if key not in pairs:
            raise InputError(f"{scores} line {number}: no pair {key!r} in {words.name}: both must be of one release")
        line, pair = pairs.pop(key)
        restored = [word or LOST for word in pair] if language == "EST" else pair
        yield checked_pair(words, line, restored, grade)
    if pairs:
        key, (line, _) = next(iter(pairs.items()))
        raise InputError(f"{words} line {line}: no grade of pair {key!r} in {scores.name}: both must be of one release")


def _cells(path: Path, names: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield some columns of a CSV file, each row with its line, without the spaces around a cell."""
    for number, cells in columns(path, csv_rows(path), names):
        yield number, [cell.strip() for cell in cells]


BENCHMARKS: tuple[Benchmark, ...] = (
    *(
        Benchmark(
            f"multisimlex-{code.lower()}", f"Multi-SimLex {code}", {code: 1888}, ("multi-simlex", "Multi-SimLex"),
            "https://multisimlex.com", read_multi_simlex, "scores.csv", ("translation.csv",),
            counted=code in MIRROR_LANGUAGES,
        )
        for code in LANGUAGES
    ),
    Benchmark(
        "simlex999", "SimLex-999", {"english": 999}, ("simlex-999", "SimLex-999"),
        "https://fh295.github.io/SimLex-999.zip", read_simlex, "SimLex-999.txt", counted=False,
    ),
)  # fmt: skip
COUNTED = len(MIRROR_LANGUAGES)


def find(data: str) -> tuple[list[Pairs], list[Missing]]:
    """Read the sets from a folder or the Hub; raises InputError for a malformed file or a wrong count."""
    return read_all(BENCHMARKS, data)
