"""Find a benchmark's files below a folder, in the layouts of the original distributions and of SentEval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.benchmarks import SAMPLE, Benchmark
from trainers.evaluation.folders import plain_or_gzipped, whole_folder
from trainers.evaluation.graded import GradedSet, file_sha256
from trainers.evaluation.layouts import READERS
from trainers.evaluation.task import Missing

TOKENISED = "tokenised, lower-cased text as in SentEval"
AS_WRITTEN = "the untokenised text; most papers' figures are of SentEval's tokenised copy"


def read_local(benchmark: Benchmark, data: Path) -> GradedSet | Missing:
    """Read one benchmark from below `data`, or say what is missing.

    Raises:
        InputError: A file that is there is malformed, or holds another number of graded pairs than published.
    """
    reasons = []
    for copy in (benchmark, *benchmark.copies):
        found = whole_folder(copy.folders, data, partial(_absent, copy))
        if not isinstance(found, str):
            return _read(benchmark, copy, found)
        reasons.append(found)
    return benchmark.missing(reasons[0])


def read_sample() -> GradedSet:
    """Read the bundled pairs: a smoke test written for this project, no benchmark."""
    path = Path(__file__).parent / "sample" / "pairs.tsv"
    pairs = tuple(READERS["sample"]("sample", path))
    _check_count(f"the bundled sample {path.name}", len(pairs), SAMPLE.pairs)
    return GradedSet(
        SAMPLE,
        {"sample": pairs},
        "bundled",
        files={path.name: file_sha256(path)},
        note="written for this project; no benchmark, its figures compare with nothing else",
        counted=False,
    )


def which_text(texts: Sequence[str]) -> str:
    """Return a remark on which copy of the text this is: in SentEval's the full stops at the ends stand alone."""
    stops = [text.endswith(" .") for text in texts if text.endswith(".")]
    return TOKENISED if 2 * sum(stops) > len(stops) else AS_WRITTEN


def _read(benchmark: Benchmark, copy: Benchmark, folder: Path) -> GradedSet:
    read, files = READERS[copy.layout], _files(copy, folder)
    subsets = {benchmark.label(name): tuple(read(name, *paths)) for name, paths in files.items()}
    notes, counted = [copy.note] if copy.note else [], benchmark.counted
    for name, expected in benchmark.sizes.items():
        found = len(subsets[benchmark.label(name)])
        # Of fewer than two pairs there is no correlation.
        if benchmark.exact or found < 2:
            _check_count(f"{benchmark.title} {name} in {folder}", found, expected)
        elif found != expected:
            notes.append(f"{found} graded pairs in this copy, the papers speak of {expected}: not averaged")
            counted = False
    if copy.cased:
        notes.append(which_text([pair.first for pairs in subsets.values() for pair in pairs]))
    return GradedSet(
        benchmark,
        subsets,
        str(folder),
        files={path.name: file_sha256(path) for paths in files.values() for path in paths},
        note="; ".join(notes) or None,
        counted=counted,
    )


def _files(benchmark: Benchmark, folder: Path) -> dict[str, tuple[Path, ...]]:
    if benchmark.layout == "graded-lines":
        return {name: (folder / f"{name}.test.tsv",) for name in benchmark.sizes}
    if benchmark.file is not None:
        beside = (
            _placed(name, (folder, *(folder / other for other in benchmark.beside_in))) for name in benchmark.beside
        )
        return dict.fromkeys(benchmark.sizes, (_placed(benchmark.file, (folder,)), *beside))
    # The original archive of 2016 has the year in its file names.
    prefix = "STS2016" if (folder / f"STS2016.gs.{next(iter(benchmark.sizes))}.txt").exists() else "STS"
    return {
        name: (folder / f"{prefix}.input.{name}.txt", folder / f"{prefix}.gs.{name}.txt") for name in benchmark.sizes
    }


def _placed(name: str, folders: tuple[Path, ...]) -> Path:
    """Return the file, gzipped or not, or where it should stand."""
    return plain_or_gzipped(name, folders) or folders[0] / name


def _absent(benchmark: Benchmark, folder: Path) -> list[str]:
    paths = [path for paths in _files(benchmark, folder).values() for path in paths]
    return list(dict.fromkeys(path.name for path in paths if not path.is_file()))


def _check_count(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise InputError(f"{what}: {found} graded pairs, expected {expected}: get the original files again")
