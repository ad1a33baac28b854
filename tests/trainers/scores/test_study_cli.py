import json
import re
from pathlib import Path
from typing import Any

import pytest
from small_trainings import Capsys, error_line, train, train_killed


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def stamps(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")}


def saved(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return values


def test_every_seed_is_the_run_that_the_single_command_makes(small: list[str]) -> None:
    assert train("mirror", *small, "--seeds", 2, "--seed", 4, "--out", "study") == 0
    assert train("mirror", *small, "--seed", 5, "--out", "alone") == 0
    assert sorted(path.name for path in Path("study").iterdir()) == ["seed-4", "seed-5"]
    assert weights(Path("study/seed-5")) == weights(Path("alone"))
    assert weights(Path("study/seed-4")) != weights(Path("study/seed-5"))


def test_seeds_are_scored_and_compared_as_one_row(small: list[str], graded_data: Path, capsys: Capsys) -> None:
    assert train("mirror", *small, "--seeds", 2) == 0
    before = stamps(Path("runs"))
    for folder in Path("runs/mirror").iterdir():
        assert train("evaluate", folder, "--data", graded_data) == 0
    capsys.readouterr()
    assert train("compare", "runs/mirror", "--with", "none") == 0
    title, *_, row = capsys.readouterr().out.splitlines()
    assert title == "sts"
    assert re.match(r"mirror +-?\d+\.\d\d \+- \d+\.\d\d .*, 2 seeds *$", row)
    assert train("mirror", *small, "--seeds", 2) == 0
    assert stamps(Path("runs")) == before
    assert train("mirror", *small, "--seeds", 1, "--overwrite") == 0
    assert stamps(Path("runs/mirror/seed-1")) != before


def test_seeds_without_scores_are_not_compared_but_drawn(small: list[str], capsys: Capsys) -> None:
    assert train("mirror", *small, "--seeds", 2, "--out", "study") == 0
    capsys.readouterr()
    assert train("compare", "study") == 2
    assert error_line(capsys).startswith("error: no results in 'study': run `train evaluate` first")
    assert train("report", "study", "--sample", 0) == 0
    page = Path("study/report.html").read_text()
    assert "study/seed-1" in page
    assert "seed-2" not in page
    assert page.count("<polyline") > 2


def test_a_failing_seed_says_why(small: list[str], capsys: Capsys) -> None:
    assert train("mlm", *small, "--epochs", 1, "--lr", "1e30", "--seeds", 2) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: the loss became nan by step")
    assert not Path("runs/mlm/seed-2").exists()


@pytest.mark.exhaustive
def test_killed_seeds_continue_where_they_stopped(small: list[str]) -> None:
    arguments = ["mirror", *small, "--seeds", "2", "--epochs", "15", "--save-every", "30"]
    assert train(*arguments, "--out", "whole") == 0
    train_killed(
        lambda: list(Path("killed/seed-2").glob("checkpoints/checkpoint-*/trainer_state.json")),
        *arguments,
        "--out",
        "killed",
    )
    before = stamps(Path("killed/seed-1"))
    assert before
    assert not Path("killed/seed-2/modules.json").exists()
    assert train(*arguments, "--out", "killed") == 0
    assert stamps(Path("killed/seed-1")) == before
    for seed in ("seed-1", "seed-2"):
        assert weights(Path("whole", seed)) == weights(Path("killed", seed))


def test_seeds_with_other_options_are_refused_and_left_as_they_are(small: list[str], capsys: Capsys) -> None:
    assert train("mirror", *small, "--seeds", 1) == 0
    before = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*.*")}
    capsys.readouterr()
    assert train("mirror", *small, "--seeds", 1, "--lr", "0.1") == 2
    assert "not 0.1): choose another --out, or --overwrite it" in capsys.readouterr().err
    assert train("mirror", *small, "--out", "single") == 0
    assert train("mirror", *small, "--seeds", 2, "--out", "single") == 2
    assert "single holds a single run" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*.*")} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "1", "--preset", "best"], "no preset 'best'"),
        (["--seeds", "0"], "--seeds"),
    ],
)
def test_bad_input(arguments: list[str], message: str, small: list[str], capsys: Capsys) -> None:
    assert train("mirror", *small, *arguments) == 2
    assert message in error_line(capsys)
    assert not Path("runs").exists()
