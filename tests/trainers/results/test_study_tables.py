from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from trainers.studies.cells import Axis, cells
from trainers.studies.results import Baseline, CellResult, Results, Run, summarise
from trainers.studies.scores import Metric
from trainers.studies.table import failures, seeds_tables, shown, sweep_details, sweep_tables

METRICS = (Metric("sts12", "STS12"), Metric("stsb", "STS-B"), Metric("average", "average of 7"))
MOMENTUM = Axis("momentum", ("0.9", "1"), (0.9, 1.0))
BATCH = Axis("batch_size", ("16", "32"), (16, 32))
LIMIT = Axis("limit", ("10",), (10,))


def results(*axes: Axis, seeds: int = 2) -> Results:
    """Figures that say where they come from: 10 x the cell's number + the seed, and ten times that."""
    made = [
        CellResult(
            cell,
            tuple(
                Run(seed, Path(f"{number}/{seed}"), {"sts12": 0.5, "stsb": 10.0 * number + seed, "average": -0.001})
                for seed in range(1, seeds + 1)
            ),
        )
        for number, cell in enumerate(cells(axes), 1)
    ]
    return Results("bsl", axes, tuple(range(1, seeds + 1)), METRICS, tuple(made), ())


@pytest.mark.parametrize("values", [[72.5, 73.1, 72.9], [1.0, 1.0], [-3.0, 4.0, 2.0, 8.0]])
def test_summary_is_the_mean_and_the_deviation_with_n_minus_1(values: list[float]) -> None:
    summary = summarise([*values, None])
    assert summary is not None
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.deviation == pytest.approx(np.std(values, ddof=1))
    assert summary.count == len(values)


def test_figures_are_shown_as_papers_print_them() -> None:
    assert shown(summarise([72.849, 72.851])) == "72.85 +- 0.00"
    assert shown(summarise([72.6, 73.1])) == "72.85 +- 0.35"
    assert shown(summarise([72.6])) == "72.60"
    assert shown(summarise([0.12345]), 4) == "0.1235"
    assert shown(summarise([-0.001])) == "0.00"
    assert shown(None) == "-"


def test_seeds_are_rows_under_the_untrained_encoder_and_end_in_their_mean() -> None:
    base = Baseline("untrained", {"sts12": 1.0, "stsb": None, "average": 2.0})
    (table,) = seeds_tables(replace(results(), baselines=(base,)))
    assert table.columns == ("run", "STS12", "STS-B", "average of 7")
    assert table.rows == (
        ("untrained", "1.00", "-", "2.00"),
        ("seed 1", "0.50", "11.00", "0.00"),
        ("seed 2", "0.50", "12.00", "0.00"),
        ("mean +- sd", "0.50 +- 0.00", "11.50 +- 0.71", "0.00 +- 0.00"),
    )


def test_one_swept_option_has_its_values_as_columns() -> None:
    base = Baseline("untrained", {"stsb": 5.0})
    (table,) = sweep_tables(replace(results(MOMENTUM, seeds=1), baselines=(base,)))
    assert table.title == "train bsl over momentum, 1 seed"
    assert table.columns == ("momentum", "untrained", "0.9", "1")
    assert table.rows == (("STS-B", "5.00", "11.00", "21.00"), ("average of 7", "-", "0.00", "0.00"))


def test_two_swept_options_are_a_grid_for_every_metric() -> None:
    first, second = sweep_tables(results(MOMENTUM, BATCH, seeds=1))
    assert first.title == "train bsl over momentum and batch-size, 1 seed: STS-B"
    assert first.columns == ("momentum / batch-size", "16", "32")
    assert first.rows == (("0.9", "11.00", "21.00"), ("1", "31.00", "41.00"))
    assert second.title.endswith(": average of 7")


def test_more_swept_options_are_a_row_for_every_cell() -> None:
    (table,) = sweep_tables(results(MOMENTUM, BATCH, LIMIT, seeds=1))
    assert table.columns == ("setting", "STS-B", "average of 7")
    assert [row[0] for row in table.rows][:2] == [
        "momentum=0.9, batch-size=16, limit=10",
        "momentum=0.9, batch-size=32, limit=10",
    ]
    assert sweep_details(results(MOMENTUM, BATCH, LIMIT)).columns == ("setting", "STS12", "STS-B", "average of 7")


def test_failed_runs_are_marked_and_each_reason_is_said_once() -> None:
    whole = results(MOMENTUM)
    first, second = whole.cells
    nan = [replace(run, figures={}, error="the loss became nan") for run in second.runs]
    late = replace(first.runs[1], figures={}, error="out of memory")
    broken = replace(
        whole, cells=(replace(first, runs=(first.runs[0], late)), replace(second, runs=tuple(nan)))
    )  # fmt: skip
    (table,) = sweep_tables(broken)
    assert table.rows[0] == ("STS-B", "11.00 (1 of 2 seeds) [1]", "failed [2]")
    assert failures(broken) == [
        "[1] out of memory (momentum=0.9, seed 2)",
        "[2] the loss became nan (momentum=1, seed 1; momentum=1, seed 2)",
    ]


def test_study_that_has_just_begun_shows_what_there_is() -> None:
    begun = results(MOMENTUM, BATCH, seeds=1)
    first, _ = sweep_tables(replace(begun, cells=begun.cells[:1]))
    assert first.rows == (("0.9", "11.00", "-"), ("1", "-", "-"))
    assert seeds_tables(replace(results(), cells=()))[0].rows == ()


def test_markdown_has_the_figures_to_the_right() -> None:
    lines = sweep_tables(results(MOMENTUM, seeds=1))[0].markdown()
    assert lines[2:5] == ["| momentum | 0.9 | 1 |", "| --- | --: | --: |", "| STS-B | 11.00 | 21.00 |"]
