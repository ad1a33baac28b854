"""Read graded pairs from local files, in the layouts of the original distributions and of SentEval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.benchmarks import MULTI_SIMLEX_LANGUAGES, SAMPLE, Benchmark
from trainers.evaluation.graded import Graded, GradedSet, Missing, file_sha256
from trainers.evaluation.lexical import read_multi_simlex, read_simlex
from trainers.evaluation.lines import checked_pair, file_lines

# Where the benchmarks' folders stand below a data folder: itself, ours, SentEval's archive, SentEval's checkout.
PARENTS = ("", "sts", "STS", "lexical", "downstream", "downstream/STS", "data/downstream", "data/downstream/STS")
TOKENISED = "tokenised, lower-cased text as in SentEval"


def read_local(benchmark: Benchmark, data: Path) -> GradedSet | Missing:
    """Read one benchmark from below `data`, or say what is missing.

    Raises:
        InputError: A file that is there is malformed, or holds another number of graded pairs than published.
    """
    places = [data / parent / folder for parent in PARENTS for folder in benchmark.folders]
    folders = [place for place in places if place.is_dir()]
    if not folders:
        return Missing(benchmark, f"no folder {' or '.join(benchmark.folders)} below {data}", benchmark.where)
    folder = next((place for place in folders if not _absent(benchmark, place)), folders[0])
    files = _files(benchmark, folder)
    absent = _absent(benchmark, folder)
    if absent:
        return Missing(benchmark, f"{folder} lacks {', '.join(absent)}", benchmark.where)
    read = _READERS.get(benchmark.name, _read_year)
    subsets = {benchmark.label(name): tuple(read(*paths)) for name, paths in files.items()}
    for name, expected in benchmark.sizes.items():
        _check_count(f"{benchmark.title} {name} in {folder}", len(subsets[benchmark.label(name)]), expected)
    return GradedSet(
        benchmark,
        subsets,
        str(folder),
        files={path.name: file_sha256(path) for paths in files.values() for path in paths},
        note=TOKENISED if _is_tokenised([pair.first for pairs in subsets.values() for pair in pairs]) else None,
        counted=benchmark.counted,
    )


def read_sample() -> GradedSet:
    """Read the bundled pairs: a smoke test written for this project, no benchmark."""
    path = Path(__file__).parent / "sample" / "pairs.tsv"
    pairs = tuple(_read_sample(path))
    _check_count(f"the bundled sample {path.name}", len(pairs), SAMPLE.pairs)
    return GradedSet(
        SAMPLE,
        {"sample": pairs},
        "bundled",
        files={path.name: file_sha256(path)},
        note="written for this project; no benchmark, its figures compare with nothing else",
        counted=False,
    )


def _files(benchmark: Benchmark, folder: Path) -> dict[str, tuple[Path, ...]]:
    if benchmark.file is not None:
        paths = tuple(folder / name for name in (benchmark.file, *benchmark.beside))
        return dict.fromkeys(benchmark.sizes, paths)
    # The original archive of 2016 has the year in its file names.
    prefix = "STS2016" if (folder / f"STS2016.gs.{next(iter(benchmark.sizes))}.txt").exists() else "STS"
    return {
        name: (folder / f"{prefix}.input.{name}.txt", folder / f"{prefix}.gs.{name}.txt") for name in benchmark.sizes
    }


def _absent(benchmark: Benchmark, folder: Path) -> list[str]:
    return [path.name for paths in _files(benchmark, folder).values() for path in paths if not path.is_file()]


def _check_count(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise InputError(f"{what}: {found} graded pairs, expected {expected}: get the original files again")


def _is_tokenised(texts: list[str]) -> bool:
    """Whether the full stops at the ends of the sentences mostly stand alone."""
    stops = [text.endswith(" .") for text in texts if text.endswith(".")]
    return 2 * sum(stops) > len(stops)


def _read_year(texts: Path, gold: Path) -> Iterator[Graded]:
    """STS12-16: tab-separated pairs, and grades line by line; an empty grade marks a candidate never graded."""
    pairs, grades = file_lines(texts), file_lines(gold)
    if len(pairs) != len(grades):
        raise InputError(f"{texts} has {len(pairs)} lines, {gold.name} has {len(grades)}: get the original files again")
    for number, (pair, grade) in enumerate(zip(pairs, grades, strict=True), 1):
        if grade.strip():
            yield checked_pair(texts, number, pair.split("\t")[:2], grade)


def _read_stsb(path: Path) -> Iterator[Graded]:
    """STS-B: genre, file, year, id, score, two sentences, sometimes their sources; quotes are ordinary characters."""
    for number, line in enumerate(file_lines(path), 1):
        fields = line.split("\t")
        yield checked_pair(path, number, fields[5:7], fields[4] if len(fields) > 4 else "")


def _read_sick(path: Path) -> Iterator[Graded]:
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
        if len(fields) != len(columns):
            raise InputError(f"{path} line {number}: {len(fields)} columns, its header has {len(columns)}")
        yield checked_pair(path, number, [fields[first], fields[second]], fields[grade])


def _read_sample(path: Path) -> Iterator[Graded]:
    for number, line in enumerate(file_lines(path)[1:], 2):
        grade, *texts = line.split("\t")
        yield checked_pair(path, number, texts, grade)


_READERS: dict[str, Callable[..., Iterator[Graded]]] = {
    "stsb": _read_stsb,
    "stsb-dev": _read_stsb,
    "sickr": _read_sick,
    "simlex999": read_simlex,
    **{f"multisimlex-{code.lower()}": partial(read_multi_simlex, code) for code in MULTI_SIMLEX_LANGUAGES},
}
