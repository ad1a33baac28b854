"""Multi-SimLex across two languages, the six pairs of Mirror-BERT: Spearman of the cosine of two words."""

from collections.abc import Iterator
from pathlib import Path

from trainers.scores.pairs import Pair, read_benchmarks
from trainers.scores.suites.lexical import read_multi_simlex

AGREE = 1.2  # the most that two languages' grades of a crossed pair may differ: a fifth of the scale


def read_crossed(languages: str, scores: Path, words: Path) -> Iterator[Pair]:
    """Return both crossings of two languages' aligned pairs, once, with the mean grade (Vulic et al. 2020)."""
    sides = (read_multi_simlex(language, scores, words) for language in languages.split("-"))
    crossings: dict[tuple[str, str], float] = {}
    for left, right in zip(*sides, strict=True):
        if abs(left.gold - right.gold) <= AGREE:
            for crossing in ((left.first, right.second), (left.second, right.first)):
                crossings.setdefault(crossing, (left.gold + right.gold) / 2)
    return (Pair(*crossing, grade) for crossing, grade in crossings.items())


BENCHMARKS = read_benchmarks("lexical_crosslingual", crossed=read_crossed)
