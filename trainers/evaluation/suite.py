"""Run a suite: find its sets, encode every distinct text once, score each set under every aggregation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.console import InputError
from trainers.evaluation.benchmarks import SUITES
from trainers.evaluation.graded import GradedSet, Missing
from trainers.evaluation.hub import read_hub
from trainers.evaluation.local import read_local, read_sample
from trainers.evaluation.metrics import AGGREGATIONS, Score, aggregate, average, score
from trainers.evaluation.vectors import Advance, TextEncoder, Vectors, still

if TYPE_CHECKING:
    from trainers.baselines.fitting import FitText
    from trainers.baselines.function import Function
    from trainers.evaluation.adaptation import Adaptation

HUB = "hf:"


@dataclass(frozen=True, slots=True)
class SetScores:
    """One set's scores: per subset, and under each aggregation that the copy allows."""

    graded: GradedSet
    subsets: dict[str, Score]
    aggregated: dict[str, Score]


@dataclass(frozen=True, slots=True)
class SuiteScores:
    """A suite's scores. `averages` are over the `counted` sets; `expected` is how many there should be.

    `adaptation` is what was done to the encoder's vectors before they were scored; `shared`, of a baseline that was
    fitted on a text, is how many of the distinct texts stand in it.
    """

    suite: str
    sets: tuple[SetScores, ...]
    missing: tuple[Missing, ...]
    averages: dict[str, Score]
    counted: int
    expected: int
    distinct_texts: int
    seconds: float
    adaptation: Adaptation | None = None
    shared: int | None = None

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
        raise InputError(f"no suite {suite!r}: there are {', '.join(['sample', *SUITES])}")
    if data is None:
        raise InputError(f"the suite {suite} needs data: --data DIR, --data hf:mteb, or TWINVIEWS_DATA=DIR")
    if not data.startswith(HUB) and not Path(data).expanduser().is_dir():
        raise InputError(f"no data folder {data!r}: give a folder that exists, or hf:mteb")
    read = [
        read_hub(benchmark, data.removeprefix(HUB))
        if data.startswith(HUB)
        else read_local(benchmark, Path(data).expanduser())
        for benchmark in SUITES[suite]
    ]
    found = [item for item in read if isinstance(item, GradedSet)]
    missing = [item for item in read if isinstance(item, Missing)]
    if not found:
        raise InputError(
            f"none of the suite's sets is in {data}; the first of {len(missing)} is {missing[0]}; "
            "data_cards/ says where all are to be had"
        )
    return found, missing


def evaluate_sets(
    encoder: TextEncoder | Function,
    suite: str,
    sets: Sequence[GradedSet],
    missing: Sequence[Missing] = (),
    *,
    adaptation: Adaptation | None = None,
    fit: FitText | None = None,
    advance: Advance = still,
) -> SuiteScores:
    """Encode the distinct texts of all sets once and score every set.

    Args:
        encoder: An encoder, or any function from a list of texts to an array with a row for each.
        suite: The suite's name.
        sets: What to score.
        missing: What could not be found, for the record.
        adaptation: A map of the vectors to be scored behind the encoder, prepared.
        fit: The text that the encoder or the adaptation was fitted on, for the record.
        advance: Called with the number of texts done.

    Raises:
        InputError: The encoder gives no row per text.
        TwinviewsError: It gives NaN or infinity.
    """
    from trainers.baselines.function import as_encoder

    encoder = as_encoder(encoder)
    texts = distinct_texts(sets)
    start = time.perf_counter()
    encoded = Vectors.encode(encoder, texts, advance)
    seconds = time.perf_counter() - start
    scored = []
    for graded in sets:
        vectors = encoded if adaptation is None else adaptation.apply(encoded, list(graded.texts()), encoder.name)
        parts = {
            name: (
                [pair.gold for pair in pairs],
                vectors.cosines([pair.first for pair in pairs], [pair.second for pair in pairs]),
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
        expected=sum(benchmark.counted for benchmark in SUITES.get(suite, ())),
        distinct_texts=len(texts),
        seconds=seconds,
        adaptation=adaptation,
        shared=fit.shared(texts) if fit else None,
    )


def distinct_texts(sets: Sequence[GradedSet]) -> list[str]:
    """Return the distinct texts of all sets in order of first appearance."""
    return list(dict.fromkeys(text for graded in sets for text in graded.texts()))
