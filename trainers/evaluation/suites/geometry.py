"""How the vectors of STS-B's sentences lie: isotropy, mean vector, alignment, uniformity, cosines.

Isotropy score and mean-vector norm: Eq. 2 and 3 of Liu et al. 2021 (Mirror-BERT), who take 10,000 sentences of STS-B's
train split, so that this is looked at beside the test. Alignment and uniformity: Wang & Isola 2020.
"""

from __future__ import annotations

from dataclasses import replace

from trainers.evaluation.benchmarks import STS
from trainers.evaluation.geometry import FIGURES as FIGURES
from trainers.evaluation.geometry import GeometrySet
from trainers.evaluation.sources import read_all
from trainers.evaluation.task import Missing

COUNTED = 0
DECIMALS = 3

_TEST = next(benchmark for benchmark in STS if benchmark.name == "stsb")
_TRAIN = replace(
    _TEST, name="stsb-train", title="STS-B train", sizes={"train": 5749}, hub=("stsbenchmark-sts", "train"),
    file="sts-train.csv", counted=False, copies=(),
)  # fmt: skip


def find(data: str) -> tuple[list[GeometrySet], list[Missing]]:
    """Read the sentences from a folder or the Hub; raises InputError for a malformed file or a wrong count."""
    found, missing = read_all((_TEST, _TRAIN), data)
    return [GeometrySet(graded) for graded in found], missing
