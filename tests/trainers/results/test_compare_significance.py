"""`train compare --intervals --test`: what is tested against what, and which items are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_items import WriteRun, cells, compare, figure, figures, figures_of, lines, similar, write_study

from trainers.evaluation.task import Predictions


def test_intervals_are_printed_for_every_set_and_the_average(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    items = {"stsb": similar(1, 2.0), "sickr": similar(2, 2.0)}
    run = write_run("mine", items=items)
    assert compare(run, "--with", "none", "--intervals", "--resamples", 200, "--json") == 0
    first, second, average = json.loads(capsys.readouterr().out)["suites"][0]["intervals"]
    assert (first["name"], first["items"], second["name"]) == ("STSB", 300, "SICKR")
    assert first["interval"]["low"] < first["interval"]["value"] == figure(items["stsb"]) < first["interval"]["high"]
    assert average["name"] == "average of 2"
    assert average["interval"]["value"] == pytest.approx((figure(items["stsb"]) + figure(items["sickr"])) / 2)


def test_two_runs_are_tested_set_by_set_with_corrected_p_values(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for name, seed, noise in (("good", 1, 1.0), ("bad", 2, 6.0)):
        items = {key: similar(seed, noise if key == "stsb" else 1.0) for key in ("stsb", "sickr")}
        runs.append(write_run(name, items=items))
    assert compare(*runs, "--with", "none", "--test", "--resamples", 400, "--json") == 0
    found = json.loads(capsys.readouterr().out)["suites"][0]["tests"]
    assert [(each["first"], each["second"], each["name"]) for each in found] == [
        ("good", "bad", "STSB"), ("good", "bad", "SICKR"), ("good", "bad", "average of 2"),
    ]  # fmt: skip
    changed, kept, average = found
    assert changed["difference"]["value"] == pytest.approx(changed["scores"][1] - changed["scores"][0])
    assert changed["difference"]["randomisation"] == pytest.approx(1 / 401)
    assert changed["holm_randomisation"] == pytest.approx(2 / 401)
    assert kept["difference"]["randomisation"] > 0.05
    assert average["items"] == 600
    assert average["scores"] == pytest.approx([(one + two) / 2 for one, two in zip(*_scores(found), strict=True)])
    assert average["difference"]["value"] == pytest.approx(average["scores"][1] - average["scores"][0])
    assert average["difference"]["low"] < average["difference"]["value"] < average["difference"]["high"] < 0
    assert (average["holm_bootstrap"], average["holm_randomisation"]) == (None, None)


def _scores(found: list[dict[str, Any]]) -> list[list[float]]:
    return [each["scores"] for each in found[:2]]


def test_what_the_tests_are_is_said_below_them(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for name, seed in (("one", 1), ("two", 2)):
        items = {key: similar(seed, 2.0) for key in ("stsb", "sts12")}
        runs.append(write_run(name, items=items))
    assert compare(*runs, "--with", "none", "--test", "--intervals", "--resamples", 100) == 0
    shown = capsys.readouterr()
    found = [cells(line) for line in lines(shown.out, "one ")]
    (line,) = [line for line in found if line[1:3] == ["two", "average of 2"]]
    # Runs, set, items, two scores, difference, its interval, two p-values: none corrected.
    assert len(line) == 11
    assert shown.err.count("Holm: corrected for the number of sets, by itself for each pair of runs") == 1
    # Once for the intervals and the tests.
    assert shown.err.count("average: each set is drawn by itself, as if independent of the others") == 1
    assert shown.err.count("average of sts: STS-B does share pairs with STS12-16") == 1


def test_what_holds_for_all_suites_is_said_once_and_the_measure_with_each(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    right = Predictions("mean", np.ones(4), np.array([1.0, 0.0, 1.0, 1.0]))
    graded = similar(1, 2.0)
    run = write_run("mine", items={"stsb": graded})
    write_run("mine", {"mr": {"accuracy": 75.0}}, suite="transfer", items={"mr": right})
    assert compare(run, run, "--with", "none", "--test", "--intervals", "--resamples", 100, "--out", "page.md") == 0
    shown = capsys.readouterr()
    assert [line for line in shown.out.splitlines() if "intervals" in line or "tests" in line] == [
        "sts: intervals, Spearman over all pairs of a set", "sts: tests, Spearman over all pairs of a set",
        "transfer: intervals, accuracy", "transfer: tests, accuracy",
    ]  # fmt: skip
    for legend in ("intervals: 95%, percentiles of 100 bootstrap samples", "tests: difference is second minus first"):
        assert shown.err.count(legend) == 1
        # A page's sections are read by themselves.
        assert Path("page.md").read_text().count(legend) == 2


def test_a_run_without_items_is_named_with_the_file_that_it_lacks(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    items = similar(1, 2.0)
    full, bare = write_run("full", items={"stsb": items}), write_run("bare", figures_of({"stsb": items}))
    assert compare(full, bare, "--test") == 2
    said = "bare lacks sts.items.npz in bare/evaluation"
    assert capsys.readouterr().err == f"error: nothing to test: {said}: run `train evaluate` again\n"
    assert compare(full, bare, full, "--test", "--resamples", 100, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["second"] for each in found["suites"][0]["tests"]] == ["full"]
    assert found["notes"] == [f"no intervals, no tests: {said}"]


def test_runs_without_a_set_in_common_are_said_to_have_none(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    items = similar(1, 2.0)
    runs = [write_run(name, items={name: items}) for name in ("stsb", "sickr")]
    assert compare(*runs, "--test") == 2
    assert "the runs have no set in common on which both have a score" in capsys.readouterr().err


def test_no_average_is_tested_where_a_set_has_no_score(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    flat = Predictions("spearman", similar(1, 2.0).gold, np.ones(300))
    runs = []
    for name, seed in (("one", 1), ("two", 2)):
        items = {
            "stsb": similar(seed, 2.0),
            "sickr": similar(seed, 1.0),
            "sts12": flat if name == "two" else similar(3, 1),
        }
        runs.append(write_run(name, items=items))
    assert compare(*runs, "--with", "none", "--test", "--resamples", 100, "--json") == 0
    found = json.loads(capsys.readouterr().out)["suites"][0]["tests"]
    assert [each["name"] for each in found] == ["STSB", "SICKR"]


def test_outcomes_of_another_copy_are_refused(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    items = Predictions("mean", np.ones(4), np.array([1.0, 0.0, 1.0, 1.0]))
    runs = [
        write_run(
            name, {"mr": {"accuracy": 75.0}}, suite="transfer", items={"mr": items}, sets={"mr": {"sha256": copy}}
        )
        for name, copy in (("one", "a"), ("two", "a"), ("other", "b"))
    ]
    assert compare(*runs[:2], "--test", "--with", "none", "--resamples", 100) == 0
    capsys.readouterr()
    assert compare(runs[0], runs[2], "--test", "--with", "none") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: MR is not the same in one and other (by their checksums, other items")
    assert len(error.splitlines()) == 1


def test_grades_of_another_copy_are_tested_with_a_remark(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for number, name in enumerate(("one", "two")):
        items = similar(number, 2.0)
        sets = {"stsb": {"sha256": name}}
        runs.append(write_run(name, items={"stsb": items}, sets=sets))
    assert compare(*runs, "--with", "none", "--test", "--resamples", 100) == 0
    shown = capsys.readouterr().err
    assert "STSB: the same grades over other texts in one and in two: the copies are tested too" in shown
    assert "STSB: not the same items in one and in two: figures of different copies" in shown


def test_suites_without_items_or_a_second_run_are_left_out_of_tests(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for name, seed in (("one", 1), ("two", 2)):
        items = similar(seed, 2.0)
        runs.append(write_run(name, items={"stsb": items}))
        other = write_run(f"{name}-more", {"stsb-train": {"isotropy": 0.5}}, suite="geometry")
        (other / "evaluation" / "geometry.json").rename(runs[-1] / "evaluation" / "geometry.json")
    assert compare(*runs, "--test", "--intervals", "--resamples", 100, "--json") == 0
    sts, geometry = json.loads(capsys.readouterr().out)["suites"]
    assert (geometry["suite"], geometry["tests"], geometry["intervals"]) == ("geometry", [], [])
    assert (len(sts["tests"]), len(sts["intervals"])) == (1, 2)


def test_tests_of_other_items_are_refused(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = similar(1, 2.0), similar(2, 2.0, gold_seed=5)
    runs = [write_run(name, items={"stsb": items}) for name, items in (("one", one), ("two", two))]
    assert compare(*runs, "--test") == 2
    error = capsys.readouterr().err
    assert error.startswith("error: STSB is not the same in one and two (item 1 is graded")
    assert error.rstrip().endswith("evaluate both on the same data")


def test_items_of_an_earlier_evaluation_are_refused(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    items = similar(1, 2.0)
    run = write_run("mine", {"stsb": {"all": figure(items) + 1}}, items={"stsb": items})
    assert compare(run, "--intervals") == 2
    assert "is of another evaluation" in capsys.readouterr().err


def test_several_seeds_are_no_run_to_test(
    write_run: WriteRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (1, 2):
        write_run(f"study/seed-{seed}", figures())
    write_study(tmp_path / "study", ({}, {"seed-1": None, "seed-2": None}))
    assert compare("study", write_run("mine", figures()), "--test") == 2
    assert "study is 2 seeds: a test takes single runs" in capsys.readouterr().err
