"""Filters that judge each pair by itself, filters that remember, and any number of workers: the same pairs."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import Field

from augment.view import Runtime
from pipelines.filter import Filter, PairColumns, Verdicts
from pipelines.pairing.candidates import Candidates, PairSource, judged_batches
from pipelines.pairs import PAIR_COLUMNS
from pipelines.workers import run_workers

Augment = Callable[..., Any]


def candidates() -> Iterator[Candidates]:
    for texts in (["a", "b", "a", "bad"], ["b", "late", "c", "c"]):
        rows = pa.RecordBatch.from_pydict(dict.fromkeys(PAIR_COLUMNS, pa.array(texts)))
        none = pa.nulls(len(texts), pa.string())
        reasons = pa.array(["no view" if text == "bad" else None for text in texts], pa.string())
        yield Candidates(rows, reasons, none)


class Picky(Filter):
    """A filter that drops a text, or without one what it was shown before; it gives scores, too."""

    column: str
    drops: str | None = None
    shown: list[str] = Field(default_factory=list)

    @property
    def by_row(self) -> bool:  # type: ignore[override]
        return self.drops is not None

    @property
    def score(self) -> str:  # type: ignore[override]
        return self.column

    def __call__(self, pairs: PairColumns) -> Verdicts:
        reasons = []
        for text in pairs.strings("text"):
            reasons.append(self.column if text == self.drops or (not self.by_row and text in self.shown) else None)
            self.shown.append(text)
        return Verdicts(reasons, [float(len(text)) for text in pairs.strings("text")])


def test_what_a_filter_drops_the_next_does_not_see() -> None:
    once = Picky(column="again")
    filters = [Picky(column="first", drops="b"), once, Picky(column="last", drops="late")]
    batches = list(judged_batches(PairSource("self", "rows", [], candidates()), filters, Runtime("cpu"), workers=1))
    assert [reason for batch in batches for reason in batch.reasons.to_pylist()] == [
        *(None, "first", "again", "no view"),
        *("first", "last", None, "again"),
    ]
    assert once.shown == ["a", "a", "late", "c", "c"]
    scores = pa.Table.from_batches([batch.pairs for batch in batches]).select(["first", "last"]).to_pydict()
    assert scores == {"first": [1, 1, 1, None, 1, 4, 1, 1], "last": [1, None, None, None, None, 4, 1, None]}


def test_any_number_of_workers_makes_the_same_bytes(
    augment: Augment, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.pairing.build.TASK_ROWS", 16)
    augment("span-mask", lines)
    filters = ["--filter", "length-ratio:unit=character,max=2", "--filter", "near-duplicates:n=2,threshold=0.5"]
    run = ["build-pairs", "--pairs", "original", "--view", "span-mask", *filters, "--filter", "chrf:max=95"]
    for workers in (1, 2):
        more = ["--workers", workers, "--out", f"{workers}.arrow", "--rejects", f"rejects-{workers}.arrow"]
        assert augment(*run, *more).code == 0
    assert Path("1.arrow").read_bytes() == Path("2.arrow").read_bytes()
    assert Path("rejects-1.arrow").read_bytes() == Path("rejects-2.arrow").read_bytes()
    assert "near-duplicates:n=2,rensa=" in Path("1.card.md").read_text()


def test_no_worker_is_started_for_one_task(augment: Augment, lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("multiprocessing.get_context")
    assert augment("build-pairs", lines, "--pairs", "self", "--workers", 8).code == 0


def nap(number: int) -> Callable[[Iterator[float]], Iterator[float]]:
    def work(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    return partial(map, work)


def test_results_without_an_order_do_not_wait_for_a_slow_worker() -> None:
    made = list(run_workers(nap, [3.0, *[0.0] * 9], workers=2, ahead=1, ordered=False))
    assert made == [*[0.0] * 9, 3.0]


def build(number: int) -> Callable[[Iterator[int]], Iterator[int]]:
    return partial(map, abs)


def test_results_come_in_the_order_of_the_tasks() -> None:
    assert list(run_workers(build, range(-9, 0), workers=2)) == list(range(9, 0, -1))
    assert list(run_workers(build, [-3], workers=2)) == [3]
    assert list(run_workers(build, [], workers=2)) == []
