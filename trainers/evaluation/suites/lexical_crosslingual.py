"""Multi-SimLex across two languages, the six pairs of Mirror-BERT: Spearman of the cosine of two words."""

from collections.abc import Iterator
from pathlib import Path

from trainers.evaluation.pairs import Benchmark, Pair
from trainers.evaluation.suites.lexical import MULTI_SIMLEX, read_multi_simlex

AGREE = 1.2  # the most that two languages' grades of a crossed pair may differ: a fifth of the scale
NOTE = "made of the aligned pairs as its authors describe it; their own files may differ in single pairs"
SIZES = {"ENG-FRA": 1786, "ENG-CMN": 2919, "ENG-HEB": 2967, "FRA-CMN": 1801, "FRA-HEB": 2461, "CMN-HEB": 2698}


def read_crossed(languages: str, scores: Path, words: Path) -> Iterator[Pair]:
    """Return both crossings of two languages' aligned pairs, once, with the mean grade (Vulic et al. 2020)."""
    sides = (read_multi_simlex(language, scores, words) for language in languages.split("-"))
    crossings: dict[tuple[str, str], float] = {}
    for left, right in zip(*sides, strict=True):
        if abs(left.gold - right.gold) <= AGREE:
            for crossing in ((left.first, right.second), (left.second, right.first)):
                crossings.setdefault(crossing, (left.gold + right.gold) / 2)
    return (Pair(*crossing, grade) for crossing, grade in crossings.items())


BENCHMARKS = tuple(
    Benchmark(
        f"multisimlex-{languages.lower()}",
        f"Multi-SimLex {languages}",
        {languages: pairs},
        "https://multisimlex.com",
        (MULTI_SIMLEX._replace(read=read_crossed),),
        note=NOTE,
    )
    for languages, pairs in SIZES.items()
)
