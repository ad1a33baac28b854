"""Read graded benchmarks from wherever a user has them: a folder, or an organisation on the Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainers.evaluation.benchmarks import Benchmark
from trainers.evaluation.graded import GradedSet
from trainers.evaluation.hub import HUB, read_hub
from trainers.evaluation.local import read_local
from trainers.evaluation.task import Missing


def read_all(benchmarks: Sequence[Benchmark], data: str) -> tuple[list[GradedSet], list[Missing]]:
    """Return the benchmarks that are in a folder, or on the Hub where `data` is `hf:ORGANISATION`, and the others.

    Raises:
        InputError: A file is malformed, or a count is not the published one.
    """
    if data.startswith(HUB):
        read = [read_hub(benchmark, data.removeprefix(HUB)) for benchmark in benchmarks]
    else:
        read = [read_local(benchmark, Path(data).expanduser()) for benchmark in benchmarks]
    found = [item for item in read if isinstance(item, GradedSet)]
    return found, [item for item in read if isinstance(item, Missing)]
