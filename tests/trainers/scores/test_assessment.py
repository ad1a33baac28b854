"""Intervals and tests of stored runs, as `train compare` prints them."""

from pathlib import Path

import numpy as np
import pytest
from made_items import compare, figure, figures, figures_of, similar, tables, write_run, write_study
from small_trainings import Capsys, error_line

from trainers.scores.statistics.estimates import estimate, mean_of_tables
from trainers.scores.statistics.significance import score_interval
from trainers.scores.task import Predictions


def test_intervals_are_printed_for_every_set_and_the_average(capsys: Capsys) -> None:
    items = {"stsb": similar(1, 2.0), "sickr": similar(2, 2.0)}
    run = write_run("mine", items=items)
    assert compare(run, "--with", "none", "--intervals", "--json") == 0
    _, table = tables(capsys.readouterr().out)
    assert table["title"] == "sts: intervals, Spearman over all pairs of a set"
    assert table["notes"][0].startswith("intervals: 95%, of a share of as many independent items")
    first, second, average = table["rows"]
    assert (first["set"], first["items"], second["set"]) == ("STSB", "300", "SICKR")
    assert first["score"] == f"{figure(items['stsb']):.2f}"
    assert float(first["low"]) < float(first["score"]) < float(first["high"])
    assert average["set"] == "average of 2"
    assert average["score"] == f"{(figure(items['stsb']) + figure(items['sickr'])) / 2:.2f}"
    ends = score_interval(mean_of_tables([estimate(each) for each in items.values()]))
    assert [average["low"], average["high"]] == [f"{end:.2f}" for end in ends]


def test_two_runs_are_tested_set_by_set(capsys: Capsys) -> None:
    runs = []
    for name, seed, noise in (("good", 1, 1.0), ("bad", 2, 6.0)):
        items = {key: similar(seed, noise if key == "stsb" else 1.0) for key in ("stsb", "sickr")}
        runs.append(write_run(name, items=items))
    assert compare(*runs, "--with", "none", "--test", "--json") == 0
    _, table = tables(capsys.readouterr().out)
    found = table["rows"]
    assert [(each["first"], each["second"], each["set"]) for each in found] == [
        ("good", "bad", "STSB"),
        ("good", "bad", "SICKR"),
        ("good", "bad", "average of 2"),
    ]
    changed, kept, average = found
    values = {key: float(changed[key]) for key in ("first score", "second score", "difference", "low", "high")}
    assert values["difference"] == pytest.approx(values["second score"] - values["first score"], abs=0.011)
    assert values["low"] < values["difference"] < values["high"] < 0
    assert changed["p"] == f"{1 / 10_000:.4f}"
    assert float(kept["p"]) > 0.05
    assert average["items"] == "600"
    for side in ("first score", "second score"):
        mean = (float(changed[side]) + float(kept[side])) / 2
        assert float(average[side]) == pytest.approx(mean, abs=0.011)


def test_suites_and_runs_without_items_are_left_out(capsys: Capsys) -> None:
    items = similar(1, 2.0)
    full, other = (write_run(name, items={"stsb": items}) for name in ("full", "other"))
    bare = write_run("bare", figures_of({"stsb": items}))
    for run in (full, other):
        write_run(str(run), {"stsb-train": {"isotropy": 0.5}}, suite="geometry")
    write_run(
        "full",
        {"mr": {"accuracy": 75.0}},
        suite="transfer",
        items={"mr": Predictions("mean", np.ones(4), np.array([1.0, 0.0, 1.0, 1.0]))},
    )
    options = ("--with", "none", "--intervals", "--test", "--json")
    assert compare(full, bare, other, *options) == 0
    found = tables(capsys.readouterr().out)
    assert [table["title"] for table in found if ":" in table["title"]] == [
        "sts: intervals, Spearman over all pairs of a set",
        "sts: tests, Spearman over all pairs of a set",
        "transfer: intervals, accuracy",
    ]
    (tested,) = [table for table in found if "tests" in table["title"]]
    assert [row["second"] for row in tested["rows"]] == ["other"]
    assert compare(full, bare, "--test") == 2
    assert "nothing for --test" in error_line(capsys)


def test_a_set_without_a_score_is_not_tested(capsys: Capsys) -> None:
    flat = Predictions("spearman", similar(1, 2.0).gold, np.ones(300))
    runs = []
    for name, seed in (("one", 1), ("two", 2)):
        last = flat if name == "two" else similar(3, 1)
        items = {"stsb": similar(seed, 2.0), "sickr": similar(seed, 1.0), "sts12": last}
        runs.append(write_run(name, items=items))
    assert compare(*runs, "--with", "none", "--test", "--json") == 0
    assert [row["set"] for row in tables(capsys.readouterr().out)[-1]["rows"]] == [
        "STSB",
        "SICKR",
        "average of 2",
    ]


def test_runs_of_different_items_are_not_tested(capsys: Capsys) -> None:
    items = similar(1, 2.0)
    runs = [write_run(name, items={"stsb": items}, sets={"stsb": {"sha256": name}}) for name in ("one", "two")]
    assert compare(*runs, "--test") == 2
    assert error_line(capsys).startswith("error: STSB has different items in the two runs")


@pytest.mark.parametrize("content", [b"", b"PK nothing", b"\x93NUMPY", None, "earlier"])
def test_damaged_or_earlier_items_are_refused(content: bytes | str | None, capsys: Capsys) -> None:
    items = similar(1, 2.0)
    broken = Predictions("spearman", items.gold, np.where(np.arange(300) == 41, np.nan, items.predicted))
    score = figure(items) + (content == "earlier")
    run = write_run("mine", {"stsb": {"all": score}}, items={"stsb": items if content else broken})
    if isinstance(content, bytes):
        (run / "evaluation" / "sts.items.npz").write_bytes(content)
    assert compare(run, "--intervals") == 2
    said = "error: mine/evaluation/sts.items.npz does not match the results beside it"
    assert error_line(capsys).startswith(said)


def test_several_seeds_cannot_be_tested(tmp_path: Path, capsys: Capsys) -> None:
    for seed in (1, 2):
        write_run(f"study/seed-{seed}", figures())
    write_study(tmp_path / "study", 1, 2)
    assert compare("study", write_run("mine", figures()), "--test") == 2
    assert "study is 2 seeds: a test takes single runs" in error_line(capsys)
