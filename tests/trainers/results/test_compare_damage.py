"""`train compare` on damaged results: one line each, and no figure of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_items import WriteRun, compare, figure, figures, similar

from trainers.evaluation.task import Predictions

DAMAGED = "is damaged, or of another version of Twinviews: run `train evaluate` again"


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that was said."""
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    return line


@pytest.mark.parametrize("option", ["--intervals", "--test"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", ["gold", "predicted"])
def test_items_that_are_no_numbers_are_refused(
    option: str, value: float, side: str, write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = similar(1, 2.0)
    arrays = {"gold": whole.gold.copy(), "predicted": whole.predicted.copy()}
    arrays[side][41] = value
    each = {"stsb": {"all": figure(whole)}}
    good = write_run("good", each, items={"stsb": whole})
    bad = write_run("bad", each, items={"stsb": Predictions("spearman", arrays["gold"], arrays["predicted"])})
    assert compare(good, bad, option, "--resamples", 100) == 2
    assert refused(capsys) == ("error: bad/evaluation/sts.items.npz is broken (item 42 is no number): evaluate again")


@pytest.mark.parametrize("content", [b"", b"PK nothing", b"\x93NUMPY"])
def test_a_file_of_items_that_is_none_is_refused(
    content: bytes, write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    items = similar(1, 2.0)
    run = write_run("mine", items={"stsb": items})
    (run / "evaluation" / "sts.items.npz").write_bytes(content)
    assert compare(run, "--intervals") == 2
    assert "sts.items.npz is broken" in refused(capsys)


def _change(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(values: dict[str, Any]) -> None:
        values["sets"]["stsb"][name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _change("figures", {"all": float("nan")}),
        _change("figures", {"all": float("inf")}),
        _change("figures", {"all": "74.0"}),
        _change("figures", {"all": True}),
        _change("figures", {"all": 10**400}),
        _change("figures", [74.0]),
        _change("size", float("inf")),
        _change("size", None),
        _change("seen_in_training", {"texts": "many", "of": 3}),
        lambda values: values.update(model="mine"),
        lambda values: values["sets"].update(stsb=None),
    ],
)
def test_results_with_a_damaged_value_are_refused(
    change: Callable[[dict[str, Any]], None], write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_run("mine", figures()) / "evaluation" / "sts.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))
    assert compare("mine") == 2
    assert refused(capsys) == f"error: mine/evaluation/sts.json {DAMAGED}"


def test_a_suite_is_no_path(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_run("mine", figures()) / "evaluation" / "sts.json"
    path.write_text(path.read_text().replace('"suite": "sts"', '"suite": "../sts"'))
    assert compare("mine", "--intervals") == 2
    assert "holds no evaluation" in refused(capsys)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "{", "\x00", "1" * 5000])
def test_json_that_cannot_be_read_is_refused(content: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("deep.json").write_text(content)
    assert compare("deep.json") == 2
    assert refused(capsys).startswith("error: deep.json cannot be read as JSON (")
