"""Multi-SimLex in thirteen languages and SimLex-999: Spearman of the cosine of two words."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.base.console import InputError
from trainers.files import columns, csv_rows
from trainers.scores.pairs import Pair, checked_pair, read_benchmarks

LOST = "null"  # Estonian for zero; the published table has an empty cell, as its readers took it for missing


def read_multi_simlex(language: str, scores: Path, words: Path) -> Iterator[Pair]:
    """Yield a language's pairs, graded from 0 to 6, of two files joined by ID.

    Raises InputError for a broken line.
    """
    names = ("ID", f"{language} 1", f"{language} 2")
    pairs = {key.strip(): (number, pair) for number, (key, *pair) in columns(words, csv_rows(words), names)}
    grades = {key.strip(): grade for _, (key, grade) in columns(scores, csv_rows(scores), ("ID", language))}
    if pairs.keys() != grades.keys():
        extra_key = next(iter(pairs.keys() ^ grades.keys()))
        raise InputError(f"{scores} and {words.name}: only one has {extra_key!r}: both must be of one release")
    for key, grade in grades.items():
        number, pair = pairs[key]
        texts = [word.strip() or LOST for word in pair] if language == "EST" else pair
        yield checked_pair(f"{words} line {number}", texts, grade)


BENCHMARKS = read_benchmarks("lexical", language=read_multi_simlex)
