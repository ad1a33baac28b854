"""How the vectors of STS-B's sentences lie: isotropy, mean vector, alignment, uniformity, cosines.

Isotropy score and mean-vector norm: Eq. 2 and 3 of Liu et al. 2021 (Mirror-BERT), who take 10,000 sentences of STS-B's
train split, so that this is looked at beside the test. Alignment and uniformity: Wang & Isola 2020.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.benchmarks import STS
from trainers.evaluation.geometry import FIGURES as FIGURES
from trainers.evaluation.geometry import GeometrySet, TextSet
from trainers.evaluation.graded import file_sha256
from trainers.evaluation.hub import HUB
from trainers.evaluation.lines import file_lines
from trainers.evaluation.sources import read_all
from trainers.evaluation.task import Missing

COUNTED = 0
DECIMALS = 3

_TEST = next(benchmark for benchmark in STS if benchmark.name == "stsb")
_TRAIN = replace(
    _TEST, name="stsb-train", title="STS-B train", sizes={"train": 5749}, hub=("stsbenchmark-sts", "train"),
    file="sts-train.csv", counted=False, copies=(),
)  # fmt: skip


def find(data: str) -> tuple[list[GeometrySet | TextSet], list[Missing]]:
    """Read the sentences from a folder or the Hub, and texts of one's own from `geometry/<name>.txt`, one a line.

    The names `word` and `phrase` stand in Mirror-BERT's columns.

    Raises:
        InputError: A file is malformed, or a count is wrong.
    """
    found, missing = read_all((_TEST, _TRAIN), data)
    own = [] if data.startswith(HUB) else sorted((Path(data).expanduser() / "geometry").glob("*.txt"))
    return [*map(GeometrySet, found), *map(_read, own)], missing


def _read(path: Path) -> TextSet:
    lines = tuple(line.strip() for line in file_lines(path) if line.strip())
    if len(set(lines)) < 2:
        raise InputError(f"{path}: two different texts are needed, one a line")
    if path.stem in (_TEST.name, _TRAIN.name):
        raise InputError(f"{path}: {path.stem} is the name of a known set: give the file another one")
    return TextSet(path.stem, lines, str(path), {path.name: file_sha256(path)})
