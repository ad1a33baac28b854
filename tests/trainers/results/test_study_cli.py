import json
import re
from itertools import product
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
    assert sorted(path.name for path in Path("study").iterdir()) == ["seed-4", "seed-5", "seeds.json", "seeds.md"]
    assert weights(Path("study/seed-5")) == weights(Path("alone"))
    assert weights(Path("study/seed-4")) != weights(Path("study/seed-5"))


def test_seeds_are_scored_beside_the_untrained_encoder(small: list[str], graded_data: Path, capsys: Capsys) -> None:
    assert train("mirror", *small, "--seeds", 2, "--data", graded_data, "--baseline") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sts"
    seeds, untrained = lines[3:]
    assert re.match(r"runs/mirror +-?\d+\.\d\d \+- \d+\.\d\d .*, 2 seeds *$", seeds)
    assert untrained.startswith("runs/mirror/untrained=")
    assert train("evaluate", "runs/mirror/seed-2", "--data", graded_data, "--out", "by-hand") == 0
    scores = saved(Path("by-hand/sts.json"))["sets"]
    assert saved(Path("runs/mirror/seed-2/evaluation/sts.json"))["sets"] == scores
    assert train("evaluate", small[3], "--pooling", "mean", "--data", graded_data, "--out", "start") == 0
    assert f" {saved(Path('start/sts.json'))['sets']['stsb']['figures']['all']:.2f} " in untrained
    capsys.readouterr()
    assert train("compare", "runs/mirror", "--with", "none") == 0
    assert capsys.readouterr().out.splitlines()[3:] == [seeds, untrained]
    assert "| runs/mirror/untrained=" in Path("runs/mirror/seeds.md").read_text()


def test_second_call(small: list[str], graded_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    assert train("mirror", *small, "--seeds", 1) == 0
    first = capsys.readouterr()
    assert "loss" in first.out
    assert "give --data DIR" in first.err
    before = stamps(Path("runs"))
    monkeypatch.setenv("TWINVIEWS_DATA", str(graded_data))
    assert train("mirror", *small, "--seeds", 2) == 0
    assert "STS-B dev" in capsys.readouterr().out
    assert stamps(Path("runs/mirror/seed-1")) == before
    scored = Path("runs/mirror/seed-1/evaluation/sts.json").stat().st_mtime_ns
    assert train("mirror", *small, "--seeds", 2) == 0
    assert Path("runs/mirror/seed-1/evaluation/sts.json").stat().st_mtime_ns == scored
    assert train("mirror", *small, "--seeds", 1, "--overwrite") == 0
    assert stamps(Path("runs/mirror/seed-1")) != before


def test_sweep_prints_a_row_for_every_setting(small: list[str], graded_data: Path, capsys: Capsys) -> None:
    arguments = ["--over", "temperature=0.04,0.2", "--seeds", 2, "--data", graded_data]
    assert train("sweep", "mirror", *small, *arguments) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[1].split("  ")[0] == "model"
    assert "STS-B dev" in lines[1]
    first, second = lines[3:]
    assert first.startswith("runs/sweep-mirror temperature=0.04 ")
    assert "sweep-mirror temperature=0.2 " in second
    assert "[4 of 4] temperature=0.2, seed 2" in captured.err
    runs = Path("runs/sweep-mirror")
    assert saved(runs / "temperature=0.2" / "seed-1" / "recipe.json")["temperature"] == 0.2
    files = [runs / "temperature=0.04" / f"seed-{seed}" / "evaluation" / "sts.json" for seed in (1, 2)]
    one, two = (saved(path)["sets"]["stsb"]["figures"]["all"] for path in files)
    assert f" {(one + two) / 2:.2f} +- {abs(one - two) / 2**0.5:.2f} " in first


def test_a_sweep_without_benchmarks_is_compared_and_drawn_by_its_trainings(small: list[str], capsys: Capsys) -> None:
    over = ["--over", "temperature=0.04,0.2", "--seeds", 2, "--out", "sw"]
    assert train("sweep", "mirror", *small, *over) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "training"
    for study in ("sw", "sw/sweep.json"):
        assert train("compare", study) == 0
        captured = capsys.readouterr()
        assert captured.out.splitlines() == printed
        assert captured.err.startswith("no scores of sw temperature=0.04, sw temperature=0.2: run `train evaluate`")
    assert train("report", "sw", "--sample", 0) == 0
    page = Path("sw/report.html").read_text()
    assert all(f"sw/temperature={value}/seed-1" in page for value in ("0.04", "0.2"))
    assert "seed-2" not in page
    assert page.count("<polyline") > 2
    assert all(cell in page for line in printed[3:] for cell in line.split()[2:3])


def test_data_and_presets_are_swept_like_any_option(small: list[str], tmp_path: Path, capsys: Capsys) -> None:
    other = tmp_path / "other.txt"
    other.write_text("\n".join(f"the {word} man reads" for word in "abcdefghijklmnop"), encoding="utf-8")
    arguments = ["--over", f"text={small[1]},{other}", "--over", "limit=10,16", *small[2:]]
    assert train("sweep", "mirror", *arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "training"
    assert lines[1].split() == ["model", "loss", "spread", "source"]
    assert len(lines) == 7
    recipes = [saved(path) for path in Path("runs/sweep-mirror").rglob("recipe.json")]
    trained_on = {(recipe["text"], recipe["twinviews"]["rows"]) for recipe in recipes}
    assert trained_on == set(product((small[1], str(other)), (10, 16)))
    assert train("sweep", "mlm", *small, "--over", "preset=adapt,head", "--epochs", "1", "--out", "presets") == 0
    assert saved(Path("presets/preset=head/seed-1/recipe.json"))["lr"] == 3e-4


def test_failing_cell_says_why_and_the_others_finish(small: list[str], capsys: Capsys) -> None:
    arguments = ["sweep", "mlm", *small, "--epochs", "1", "--over", "lr=1e30,1e-4"]
    assert train(*arguments) == 1
    captured = capsys.readouterr()
    (row,) = captured.out.splitlines()[3:]
    assert row.startswith("runs/sweep-mlm lr=0.0001 ")
    assert "failed: the loss became nan by step" in captured.err
    assert captured.err.splitlines()[-1].startswith("error: 1 of 2 runs failed")
    assert (Path("runs/sweep-mlm/lr=0.0001/seed-1/modules.json")).is_file()
    assert "the loss became nan" in Path("runs/sweep-mlm/sweep.md").read_text()
    assert train(*arguments[:-1], "lr=1e30", "--out", "single") == 1
    assert capsys.readouterr().err.endswith("error: 1 of 1 run failed, see above\n")
    failed, done = saved(Path("runs/sweep-mlm/sweep.json"))["cells"]
    assert "the loss became nan" in failed["runs"][0]["error"]
    assert done["runs"][0]["error"] is None


def test_killed_sweep_continues_where_it_stopped(small: list[str]) -> None:
    arguments = ["sweep", "mirror", *small, "--over", "temperature=0.04,0.2", "--epochs", "15", "--save-every", "30"]
    assert train(*arguments, "--out", "whole") == 0
    saved = "seed-1/checkpoints/checkpoint-*/trainer_state.json"
    train_killed(lambda: list(Path("killed/temperature=0.2").glob(saved)), *arguments, "--out", "killed")
    finished = Path("killed/temperature=0.04/seed-1")
    before = stamps(finished)
    assert before
    assert not Path("killed/temperature=0.2/seed-1/modules.json").exists()
    assert train(*arguments, "--out", "killed") == 0
    assert stamps(finished) == before
    for cell in ("temperature=0.04", "temperature=0.2"):
        assert weights(Path("whole", cell, "seed-1")) == weights(Path("killed", cell, "seed-1"))


def test_dry_run_lists_the_cells_and_writes_nothing(small: list[str], capsys: Capsys) -> None:
    assert train("sweep", "mirror", *small, "--over", "limit=16,48", "--seeds", 2, "--dry-run") == 0
    assert train("mirror", *small, "--seeds", 2, "--dry-run") == 0
    out = capsys.readouterr().out
    lines = [line.split()[:4] for line in out.splitlines() if "seed-" in line]
    assert [" ".join(line) for line in lines[:4]] == ["16 1 16 2", "16 2 16 2", "48 1 48 6", "48 2 48 6"]
    assert lines[4] == ["1", "48", "6", "runs/mirror/seed-1"]
    assert not Path("runs").exists()


def test_dry_run_of_a_study_counts_the_rows_that_the_single_run_trains_on(small: list[str], capsys: Capsys) -> None:
    arguments = ["distil", *small, "--teacher", small[3], "--queue", 10, "--epochs", 1, "--dry-run"]
    assert train(*arguments) == 0
    single = dict(re.findall(r"^(rows|optimiser steps) +(\d+) *$", capsys.readouterr().out, re.MULTILINE))
    assert single == {"rows": "38", "optimiser steps": "4"}
    assert train(*arguments, "--seeds", 1) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "seed-" in line)
    assert line.split()[:3] == ["1", *single.values()]


def test_study_with_other_options_is_refused_and_left_as_it_is(small: list[str], capsys: Capsys) -> None:
    assert train("sweep", "mirror", *small, "--over", "temperature=0.04") == 0
    before = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*")}
    capsys.readouterr()
    assert train("sweep", "mirror", *small, "--over", "temperature=0.04", "--lr", "0.1") == 2
    assert "(lr was None, is now 0.1): use --overwrite" in capsys.readouterr().err
    assert train("mirror", *small, "--out", "single") == 0
    assert train("mirror", *small, "--seeds", 2, "--out", "single") == 2
    assert "single holds a single run" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in Path("runs").rglob("*")} == before


@pytest.mark.parametrize(("arguments", "message"), [
    (["sweep", "mirror"], "nothing to sweep over: give --over KEY=V1,V2"),
    (["sweep", "mirror", "--over", "seed=1,2"], "no option of that name to sweep over"),
    (["sweep", "mirror", "--over", "lr=1e-4", "--lr", "1"], "--over lr: the option is given twice"),
    (["sweep", "mirror", "--over", "temperature=0.1,-1"], "--temperature -1.0: input should be greater than 0"),
    (["sweep", "mirror", "--over", "preset=sentence,best"], "no preset 'best'"),
    (["sweep", "mirror", "--over", "text=nowhere.txt"], "no sentences at 'nowhere.txt'"),
    (["sweep", "mirror", "--over", "encoder=no/such/encoder"], "no model directory 'no/such/encoder'"),
    (["sweep", "mirror", "--over", "lr=1", "--data", "nowhere"], "no data folder 'nowhere'"),
    (["sweep", "mirror", "--over", "lr=1", "--baseline"], "--baseline needs benchmarks"),
    (["mirror", "--seeds", "0"], "--seeds"),
    (["mirror", "--data", "folder"], "--data goes with --seeds N"),
    (["mirror", "--baseline"], "--baseline goes with --seeds N"),
])  # fmt: skip
def test_bad_input(arguments: list[str], message: str, text_file: Path, tiny_bert: Path, capsys: Capsys) -> None:
    swept = " ".join(arguments)
    text = [] if "text=" in swept else ["--text", text_file]
    encoder = [] if "encoder=" in swept else ["--encoder", tiny_bert]
    assert train(*arguments, *text, *encoder) == 2
    assert message in error_line(capsys)
    assert not Path("runs").exists()
