"""STS17 in eight language pairs.

Spanish and Russian STS, translated STS-B: Spearman and Pearson of the cosine.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from trainers.files import Rows, bad_line, check_count, csv_rows, tsv_rows, usual_places
from trainers.scores.pairs import Benchmark, Layout, Pair, Pairs, checked_pair, read_benchmarks, read_pairs
from trainers.scores.suites.sts import read_gold
from trainers.scores.task import Missing

_MULTI_MT = "https://github.com/PhilipMay/stsb-multi-mt"
_MULTI_MT_FOLDERS = ("stsb-multi-mt", "stsb_multi_mt", "stsb-multi-mt/data")


def read_scored_lines(subset: str, path: Path, rows: Callable[[Path], Rows] = tsv_rows) -> Iterator[Pair]:
    """Two sentences and their grade a line, separated by tabs or as `rows` reads them."""
    for number, cells in rows(path):
        yield checked_pair(f"{path} line {number}", cells[:-1], "".join(cells[-1:]))


SETS = read_benchmarks(
    "sts_multilingual", gold=read_gold, first_gold=partial(read_gold, rest=True), lines=read_scored_lines
)
# of the distribution; others are read too
LANGUAGES = (
    "en",
    "de",
    "es",
    "fr",
    "it",
    "nl",
    "pl",
    "pt",
    "ru",
    "zh",
)
SPLITS = {"test": 1379, "dev": 1500}
TRANSLATED = "machine translated (DeepL)"
read_translated = partial(read_scored_lines, rows=csv_rows)


def read_beside_english(subset: str, path: Path, english: Path) -> Iterator[Pair]:
    """Pair first sentences of a translation with the English second ones.

    Raises InputError if grades differ.
    """
    rows, english_rows = [*read_translated(subset, path)], [*read_translated(subset, english)]
    check_count(path, len(rows), len(english_rows), f"pairs as in {english.name}")
    for number, (pair, original) in enumerate(zip(rows, english_rows, strict=True), 1):
        if pair.gold != original.gold:
            raise bad_line(path, number, f"the grade {original.gold:g} of {english.name}", f"{pair.gold:g}")
        yield Pair(pair.first, original.second, pair.gold)


def translated(language: str, split: str, *, beside_english: bool = False) -> Benchmark:
    """Return STS-B in a language, or first sentences in that language and second ones in English."""
    languages = f"{language}-en" if beside_english else language
    files = [f"stsb-{language}-{{}}.csv", *["stsb-en-{}.csv"] * beside_english]
    reader = read_beside_english if beside_english else read_translated
    ending = "" if split == "test" else f"-{split}"
    return Benchmark(
        f"stsb-{languages}{ending}",
        f"STS-B {languages.upper()}{ending.replace('-', ' ')}",
        {split: SPLITS[split]},
        _MULTI_MT,
        (Layout(_MULTI_MT_FOLDERS, tuple(files), reader),),
        counted=False,
        two_sided=beside_english,
        note=None if language == "en" else TRANSLATED,
    )


def translations(languages: Iterable[str]) -> list[Benchmark]:
    """Return the test sets, then the development sets, of STS-B in these languages, and each of them beside English."""
    others = [language for language in languages if language != "en"]
    return [
        benchmark
        for split in SPLITS
        for benchmark in (
            *(translated(language, split) for language in languages),
            *(translated(language, split, beside_english=True) for language in others),
        )
    ]


def languages_in(data: str) -> list[str]:
    """Return the languages whose translation of STS-B is in a folder, those of the distribution first."""
    folders = usual_places(_MULTI_MT_FOLDERS, data)
    names = {path.name.split("-")[1] for folder in folders for path in folder.glob("stsb-*-*.csv*")}
    return sorted(names, key=[*LANGUAGES, *sorted(names)].index)


def find(data: str) -> list[Pairs | Missing]:
    """Read the sets in a folder, the translations of STS-B in the languages that are there."""
    sets = [read_pairs(benchmark, data) for benchmark in SETS]
    stsb = [read_pairs(benchmark, data) for benchmark in translations(languages_in(data))]
    # Of a language not every split need be there.
    present = [item for item in stsb if isinstance(item, Pairs)]
    if not present:
        reason = f"no {_MULTI_MT_FOLDERS[0]} in {data}"
        sets.append(Missing("stsb-multi-mt", "translated STS-B", reason, _MULTI_MT))
    return sets + present


BENCHMARKS = (*SETS, *translations(LANGUAGES))
