"""Run a suite: find its sets, encode every distinct text once, score each set under every aggregation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.console import InputError
from trainers.evaluation.benchmarks import STS
from trainers.evaluation.encoder import Encoder, cosines
from trainers.evaluation.graded import GradedSet, Missing
from trainers.evaluation.hub import read_hub
from trainers.evaluation.local import read_local, read_sample
from trainers.evaluation.metrics import AGGREGATIONS, Score, aggregate, average, score

HUB = "hf:"
SUITES = ("sample", "sts")


@dataclass(frozen=True, slots=True)
class SetScores:
    """One set's scores: per subset, and under each aggregation that the copy allows."""

    graded: GradedSet
    subsets: dict[str, Score]
    aggregated: dict[str, Score]


@dataclass(frozen=True, slots=True)
class SuiteScores:
    """A suite's scores. `averages` are over the `counted` sets; `expected` is how many there should be."""

    suite: str
    sets: tuple[SetScores, ...]
    missing: tuple[Missing, ...]
    averages: dict[str, Score]
    counted: int
    expected: int
    distinct_texts: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether the averages are over every set that papers average."""
        return self.counted == self.expected


def find_sets(suite: str, data: str | None) -> tuple[list[GradedSet], list[Missing]]:
    """Read a suite's sets from a folder, or from the Hub where `data` is `hf:ORGANISATION`; list what is missing.

    Raises:
        InputError: Nothing was found, a count is wrong, a file is malformed, or there is no such suite or folder.
    """
    if suite == "sample":
        return [read_sample()], []
    if suite not in SUITES:
        raise InputError(f"no suite {suite!r}: there are {', '.join(SUITES)}")
    if data is None:
        raise InputError(f"the suite {suite} needs data: --data DIR, --data hf:mteb, or TWINVIEWS_DATA=DIR")
    if not data.startswith(HUB) and not Path(data).expanduser().is_dir():
        raise InputError(f"no data folder {data!r}: give a folder that exists, or hf:mteb")
    read = [
        read_hub(benchmark, data.removeprefix(HUB))
        if data.startswith(HUB)
        else read_local(benchmark, Path(data).expanduser())
        for benchmark in STS
    ]
    found = [item for item in read if isinstance(item, GradedSet)]
    missing = [item for item in read if isinstance(item, Missing)]
    if not found:
        raise InputError(f"none of the suite's sets is in {data}. " + "; ".join(map(str, missing)))
    return found, missing


def evaluate_sets(
    encoder: Encoder,
    suite: str,
    sets: Sequence[GradedSet],
    missing: Sequence[Missing] = (),
    *,
    batch_size: int = 256,
    batch_tokens: int = 8192,
    advance: Callable[[int], None] = lambda count: None,
) -> SuiteScores:
    """Encode the distinct texts of all sets once and score every set."""
    texts = distinct_texts(sets)
    start = time.perf_counter()
    vectors = encoder.encode(texts, batch_size=batch_size, batch_tokens=batch_tokens, advance=advance)
    seconds = time.perf_counter() - start
    scored = []
    for graded in sets:
        parts = {
            name: (
                [pair.gold for pair in pairs],
                cosines(vectors, [pair.first for pair in pairs], [pair.second for pair in pairs]),
            )
            for name, pairs in graded.subsets.items()
        }
        aggregated = aggregate(list(parts.values()))
        if graded.whole:
            aggregated = {"all": aggregated["all"]}
        scored.append(SetScores(graded, {name: score(*part) for name, part in parts.items()}, aggregated))
    counted = [item for item in scored if item.graded.counted]
    return SuiteScores(
        suite,
        tuple(scored),
        tuple(missing),
        averages={
            how: average([item.aggregated[how] for item in counted])
            for how in AGGREGATIONS
            if counted and all(how in item.aggregated for item in counted)
        },
        counted=len(counted),
        expected=sum(benchmark.counted for benchmark in STS) if suite == "sts" else 0,
        distinct_texts=len(texts),
        seconds=seconds,
    )


def distinct_texts(sets: Sequence[GradedSet]) -> list[str]:
    """Return the distinct texts of all sets in order of first appearance."""
    return list(dict.fromkeys(text for graded in sets for text in graded.texts()))
