"""Small trainings: a file of pairs, the command `train`, and the real `fit`, which a power cut may end."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from objective_cases import interrupt_at, prepared

from pipelines.console import call
from trainers.cli import app
from trainers.data.examples import Examples
from trainers.objective import Objective
from trainers.training.fit import Fitted, fit


def write_pairs(path: Path, rows: list[tuple[str, str | None, str | None]], **more: list[Any]) -> Path:
    """Write text and two views a row, and more columns, as `build-pairs` does."""
    texts, left, right = ([row[place] for row in rows] for place in range(3))
    columns = {"id": [f"{row:016x}" for row in range(len(rows))], "text": texts, "view_a": left, "view_b": right}
    columns |= {"view_a_name": ["a"] * len(rows), "view_b_name": ["b"] * len(rows), **more}
    table = pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()})
    with path.open("wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return path


def train(*arguments: object) -> int:
    """Run `train` and return its exit status."""
    return call(app, [str(argument) for argument in arguments])


def train_killed(ready: Callable[[], object], *arguments: object) -> None:
    """Run `train` in a process of its own and kill it as soon as it is `ready`."""
    code = "import sys; from pipelines.console import call; from trainers.cli import app; call(app, sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)])
    deadline = time.monotonic() + 120
    while not ready():
        assert process.poll() is None, "the training ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()


def trained(
    name: str, encoder: Path, texts: list[str], out: Path, *, last: int | None = None, dev: Examples | None = None,
    **given: object,
) -> tuple[Objective, Fitted]:  # fmt: skip
    """Train what is prepared; with `last`, `Interrupted` is raised after that step."""
    objective, rows, training = prepared(name, encoder, texts, **given)
    if last is not None:
        interrupt_at(objective, last)
    torch.seed()  # whatever was drawn before does not matter
    return objective, fit(objective, rows, training, out, seed=1, dev=dev)


def read_log(out: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def check_same(one: Objective, other: Objective) -> None:
    """Check that both have exactly the same weights."""
    expected, found = one.state_dict(), other.state_dict()
    assert expected.keys() == found.keys()
    assert [key for key in expected if not torch.equal(expected[key], found[key])] == []
