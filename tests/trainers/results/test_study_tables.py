from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from trainers.results.axes import Axis, settings
from trainers.results.scoring import Metric
from trainers.results.study import Study, Trial
from trainers.results.study_tables import failures, seeds_tables, sweep_details, sweep_tables
from trainers.results.table import mean

METRICS = (Metric("sts12", "STS12"), Metric("stsb", "STS-B"), Metric("average", "average of 7"))
MOMENTUM = Axis("momentum", ("0.9", "1"), (0.9, 1.0))
BATCH = Axis("batch_size", ("16", "32"), (16, 32))
LIMIT = Axis("limit", ("10",), (10,))


class Made(Study):
    """A study whose metrics are those above."""

    metrics = METRICS  # type: ignore[assignment]


def study(*axes: Axis, seeds: int = 2) -> Study:
    """Return figures that say where they come from: 10 x the setting's number + the seed."""
    made = settings(axes)
    nothing: Any = ModuleType("bsl")
    whole = Made("bsl", nothing, {}, axes, made, range(1, seeds + 1), Path(), "sweep", None, False)
    for number, setting in enumerate(made, 1):
        for seed in whole.seeds:
            figures = {"sts12": 0.5, "stsb": 10.0 * number + seed, "average": -0.001}
            whole.trials.append(Trial(setting.run_title(seed), setting, seed, figures=figures))
    return whole


@pytest.mark.parametrize("values", [[72.5, 73.1, 72.9], [1.0, 1.0], [-3.0, 4.0, 2.0, 8.0]])
def test_means_have_the_deviation_with_n_minus_1(values: list[float]) -> None:
    figure = mean([*values, None])
    assert figure is not None
    assert (figure.value, figure.deviation) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    assert figure.count == len(values)


@pytest.mark.parametrize(
    ("values", "digits", "shown"),
    [
        ([72.849, 72.851], 2, "72.85 +- 0.00"),
        ([72.6, 73.1], 2, "72.85 +- 0.35"),
        ([72.6], 2, "72.60"),
        ([0.12345], 4, "0.1235"),
        ([-0.001], 2, "0.00"),
        ([None], 2, "None"),
    ],
)
def test_figures_are_shown_as_papers_print_them(values: list[float | None], digits: int, shown: str) -> None:
    assert str(mean(values, digits)) == shown


def test_seeds_are_rows_under_the_untrained_encoder_and_end_in_their_mean() -> None:
    made = study()
    made.untrained.append(Trial("untrained", figures={"sts12": 1.0, "stsb": None, "average": 2.0}))
    (table,) = seeds_tables(made)
    assert table.columns == ("run", "STS12", "STS-B", "average of 7")
    assert table.rows == (
        ("untrained", "1.00", "-", "2.00"),
        ("seed 1", "0.50", "11.00", "0.00"),
        ("seed 2", "0.50", "12.00", "0.00"),
        ("mean +- sd", "0.50 +- 0.00", "11.50 +- 0.71", "0.00 +- 0.00"),
    )


def test_one_swept_option_has_its_values_as_columns() -> None:
    made = study(MOMENTUM, seeds=1)
    made.untrained.append(Trial("untrained", figures={"stsb": 5.0}))
    (table,) = sweep_tables(made)
    assert table.title == "train bsl over momentum, 1 seed"
    assert table.columns == ("momentum", "untrained", "0.9", "1")
    assert table.rows == (("STS-B", "5.00", "11.00", "21.00"), ("average of 7", "-", "0.00", "0.00"))


def test_two_swept_options_are_a_grid_for_every_metric() -> None:
    first, second = sweep_tables(study(MOMENTUM, BATCH, seeds=1))
    assert first.title == "train bsl over momentum and batch-size, 1 seed: STS-B"
    assert first.columns == ("momentum / batch-size", "16", "32")
    assert first.rows == (("0.9", "11.00", "21.00"), ("1", "31.00", "41.00"))
    assert second.title.endswith(": average of 7")


def test_more_swept_options_are_a_row_for_every_cell() -> None:
    (table,) = sweep_tables(study(MOMENTUM, BATCH, LIMIT, seeds=1))
    assert table.columns == ("setting", "STS-B", "average of 7")
    assert [row[0] for row in table.rows][:2] == [
        "momentum=0.9, batch-size=16, limit=10",
        "momentum=0.9, batch-size=32, limit=10",
    ]
    assert sweep_details(study(MOMENTUM, BATCH, LIMIT)).columns == ("setting", "STS12", "STS-B", "average of 7")


def test_failed_runs_are_marked_and_each_reason_is_said_once() -> None:
    broken = study(MOMENTUM)
    errors = [None, "out of memory", "the loss became nan", "the loss became nan"]
    for place, error in enumerate(errors):
        if error:
            broken.trials[place] = replace(broken.trials[place], figures={}, error=error)
    (table,) = sweep_tables(broken)
    assert table.rows[0] == ("STS-B", "11.00 (1 of 2 seeds) [1]", "failed [2]")
    assert failures(broken) == [
        "[1] out of memory (momentum=0.9, seed 2)",
        "[2] the loss became nan (momentum=1, seed 1; momentum=1, seed 2)",
    ]


def test_study_that_has_just_begun_shows_what_there_is() -> None:
    begun = study(MOMENTUM, BATCH, seeds=1)
    del begun.trials[1:]
    first, _ = sweep_tables(begun)
    assert first.rows == (("0.9", "11.00", "-"), ("1", "-", "-"))
    begun.trials.clear()
    assert seeds_tables(begun)[0].rows == ()


def test_markdown_has_the_figures_to_the_right() -> None:
    lines = sweep_tables(study(MOMENTUM, seeds=1))[0].markdown()
    assert lines[2:5] == ["| momentum | 0.9 | 1 |", "|---|--:|--:|", "| STS-B | 11.00 | 21.00 |"]
