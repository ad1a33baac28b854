"""Run suites: find their sets, encode every distinct text of all of them once, score every set."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pipelines.console import InputError
from trainers.embedding.cache import CachedEncoder
from trainers.embedding.vectors import Advance, TextEncoder, Vectors, still
from trainers.evaluation.discovery import SMOKE_TEST, decimals, expanded, load_suite, summary
from trainers.evaluation.leakage import find_leaks
from trainers.evaluation.task import HUB, SEED, Missing, Result, Task

if TYPE_CHECKING:
    from trainers.baselines.fitting import Adaptation, FitText
    from trainers.baselines.function import Function

Progress: TypeAlias = Callable[..., AbstractContextManager[Advance]]
"""Opens a bar for a description, a total and a `unit`, such as `pipelines.console.progress`."""


@contextmanager
def silent(description: str, total: int | None, *, unit: str) -> Iterator[Advance]:
    """Show no progress."""
    yield still


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite's sets as they were found, and what is missing of it.

    `metrics` are the columns of its table; `expected` is how many sets its average is over, 0 where it has none;
    `decimals`, 2 or 3, is how many of a metric are printed.
    """

    name: str
    title: str
    metrics: tuple[str, ...]
    expected: int
    tasks: tuple[Task, ...]
    missing: tuple[Missing, ...] = ()
    decimals: int = 2


@dataclass(frozen=True, slots=True)
class SetScores:
    """One set's result; `seen` is how many of its `texts` distinct texts the model was trained on, None if unknown."""

    task: Task
    result: Result
    seen: int | None = None
    texts: int = 0


@dataclass(frozen=True, slots=True)
class SuiteScores:
    """A suite's results, in the order of its sets; `seconds` is how long the scoring took."""

    suite: Suite
    sets: tuple[SetScores, ...]
    distinct_texts: int = 0
    seconds: float = 0.0

    @property
    def counted(self) -> list[SetScores]:
        """The sets that the average is over."""
        return [item for item in self.sets if item.task.counted]

    @property
    def complete(self) -> bool:
        """Whether the average is over every set that papers average."""
        return len(self.counted) == self.suite.expected

    @property
    def averages(self) -> dict[str, float | None]:
        """The plain mean of each metric that all counted sets have; None where it is undefined for one of them."""
        if not self.suite.expected or not self.counted:
            return {}
        found = [item.result.metrics for item in self.counted]
        shared = [name for name in found[0] if all(name in metrics for metrics in found)]
        return {name: _mean([metrics[name] for metrics in found]) for name in shared}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An encoder's results on several suites, and what else must be known of them.

    `adaptation` is what was done to the vectors before they were scored; `shared`, of a baseline that was fitted on a
    text, is how many of the distinct texts stand in it. `remarks`: what could not be found out about the training.
    """

    encoder: TextEncoder
    suites: tuple[SuiteScores, ...]
    distinct_texts: int
    encode_seconds: float
    seed: int
    adaptation: Adaptation | None = None
    shared: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def cached(self) -> int:
        """How many texts were not encoded because their vectors were kept from before."""
        return self.encoder.found if isinstance(self.encoder, CachedEncoder) else 0


def find_suites(names: Sequence[str], data: str | None) -> list[Suite]:
    """Find suites in a folder, or on the Hub where `data` is `hf:ORGANISATION`; `all` names all but the smoke test.

    A suite of which nothing is there has no tasks, and says in `missing` what it looked for.

    Raises:
        InputError: Nothing at all is there, a count is wrong, a file is malformed, or there is no such suite or folder.
    """
    chosen = expanded(names)
    needy = [name for name in chosen if name != SMOKE_TEST]
    if needy and data is None:
        which = f"the suite {needy[0]} needs" if len(chosen) == 1 else f"the suites {', '.join(needy)} need"
        raise InputError(f"{which} data: --data DIR, --data hf:mteb, or TWINVIEWS_DATA=DIR")
    if needy and data and not data.startswith(HUB) and not Path(data).expanduser().is_dir():
        raise InputError(f"no data folder {data!r}: give a folder that exists, or hf:mteb")
    found = []
    for name in chosen:
        module = load_suite(name)
        tasks, missing = module.find(data or "")
        title, metrics = summary(name), tuple(module.METRICS)
        found.append(Suite(name, title, metrics, module.COUNTED, tuple(tasks), tuple(missing), decimals(name)))
    absent = [item for suite in found for item in suite.missing]
    if not any(suite.tasks for suite in found):
        whose = "the suite's sets" if len(chosen) == 1 else f"the sets of {', '.join(chosen)}"
        first = f"; the first of {len(absent)} is {absent[0]}; data_cards/ says where all are to be had"
        raise InputError(f"none of {whose} is in {data}{first if absent else ''}")
    return found


def evaluate_suites(
    encoder: TextEncoder | Function, suites: Sequence[Suite], *, seed: int = SEED,
    adaptation: Adaptation | None = None, fit: FitText | None = None, trained: Path | None = None,
    settings: Mapping[str, object] | None = None, progress: Progress = silent,
) -> Evaluation:  # fmt: skip
    """Encode the distinct texts of all suites once and score every set.

    Args:
        encoder: An encoder, or any function from a list of texts to an array with a row for each.
        suites: What to score, as `find_suites` gives it.
        seed: Decides folds and draws where a set's protocol has any.
        adaptation: A map of the vectors before they are scored; fitted on its own text, where it has one.
        fit: The text that the encoder or the adaptation was fitted on, for the record.
        trained: The model's directory, for the texts that it was trained on.
        settings: How it was asked for, for the record.
        progress: Opens a bar, first for the texts that are encoded, then for the sets that are scored.

    Raises:
        InputError: The encoder gives no row per text, or vectors that a set cannot be scored with.
        TwinviewsError: It gives NaN or infinity.
    """
    from trainers.baselines.function import as_encoder

    encoder = as_encoder(encoder)
    texts = distinct_texts(task for suite in suites for task in suite.tasks)
    with progress(f"encoding with {encoder.name}", len(texts), unit="texts") as advance:
        start = time.perf_counter()
        vectors = Vectors.encode(encoder, texts, advance)
        seconds = time.perf_counter() - start
    leaks = find_leaks(trained, {suite.name: suite.tasks for suite in suites}) if trained is not None else None
    results = []
    with progress("scoring", sum(len(suite.tasks) for suite in suites), unit="sets") as advance:
        for suite in suites:
            start = time.perf_counter()
            sets = []
            for task in suite.tasks:
                own = adaptation.apply(vectors, list(task.texts()), encoder.name) if adaptation else vectors
                seen = leaks.counts.get((suite.name, task.name), (None, 0)) if leaks else (None, 0)
                sets.append(SetScores(task, task.score(own, seed), *seen))
                advance(1)
            spent = time.perf_counter() - start
            results.append(SuiteScores(suite, tuple(sets), len(distinct_texts(suite.tasks)), spent))
    shared, remarks = fit.shared(texts) if fit else None, leaks.notes if leaks else ()
    return Evaluation(encoder, tuple(results), len(texts), seconds, seed, adaptation, shared, settings or {}, remarks)


def distinct_texts(tasks: Iterable[Task]) -> list[str]:
    """Return the distinct texts of all sets in order of first appearance."""
    return list(dict.fromkeys(text for task in tasks for text in task.texts()))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
