"""STS12-16, STS-B, SICK-R: Spearman and Pearson of the cosine, subsets joined in three ways."""

from collections.abc import Iterator
from pathlib import Path

from trainers.files import check_count, file_lines, tsv_rows
from trainers.scores.pairs import Pair, checked_pair, read_benchmarks


def read_gold(subset: str, texts: Path, gold: Path, *, rest: bool = False) -> Iterator[Pair]:
    """Tab-separated pairs and their grades, empty for pairs never graded.

    With `rest`, more texts may follow.
    """
    pairs, grades = file_lines(texts), file_lines(gold)
    if not (rest and len(pairs) > len(grades)):
        check_count(texts, len(pairs), len(grades), f"lines as in {gold.name}")
    for number, (pair, grade) in enumerate(zip(pairs, grades, strict=False), 1):
        if grade.strip():
            yield checked_pair(f"{texts} line {number}", pair.split("\t")[:2], grade)


def read_stsb(subset: str, path: Path) -> Iterator[Pair]:
    """STS-B: genre, file, year, id, score, two sentences, sometimes their sources.

    Quotes are ordinary characters.
    """
    for number, fields in tsv_rows(path):
        yield checked_pair(f"{path} line {number}", fields[5:7], "".join(fields[4:5]))


BENCHMARKS = read_benchmarks("sts", gold=read_gold, stsb=read_stsb)
