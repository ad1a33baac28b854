"""The line that identifies a score: below `train compare`'s tables, in its JSON and in `train evaluate`'s notes."""

from pathlib import Path
from typing import Any

import pytest
from made_items import compare, figures, tables, write_run, write_study

from pipelines.console import call
from trainers.cli import app

Capsys = pytest.CaptureFixture[str]


def signatures(run: Path, capsys: Capsys) -> list[str]:
    assert compare(run, "--with", "mirror", "--json", "--signature") == 0
    return [line.partition(": ")[2] for line in tables(capsys.readouterr().out)[0]["notes"] if "|sets:" in line]


def test_it_is_printed_once_a_row_where_it_is_asked_for(capsys: Capsys) -> None:
    run = write_run("mine", {"stsb": {"all": 70.0}})
    assert compare(run, "--with", "mirror") == 0
    assert "weights:" not in capsys.readouterr().err
    assert compare(run, "--with", "mirror", "--signature") == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "weights:" in line]
    assert line == "mine: sts|sets:stsb|metric:all|pooling:mean|precision:fp32|items:stsb|weights:000000000000"


@pytest.mark.parametrize(
    "changed",
    [
        {"model": {"weights": {"model.safetensors": "1" * 64}}},
        {"model": {"pooling": "cls"}},
        {"model": {"max_tokens": 64}},
        {"precision": "bf16"},
        {"sets": {"sts13": {"sha256": "other"}}},
    ],
)
def test_whatever_decides_a_score_is_in_it(changed: dict[str, Any], capsys: Capsys) -> None:
    (before,) = signatures(write_run("mine", figures()), capsys)
    (after,) = signatures(write_run("mine", figures(), **changed), capsys)
    assert before != after


def test_seeds_share_one_with_what_differs_joined(tmp_path: Path, capsys: Capsys) -> None:
    for seed in (1, 2):
        write_run(
            f"study/seed-{seed}", {"stsb": {"all": 70.0}}, model={"weights": {"model.safetensors": f"{seed}" * 64}}
        )
    write_study(tmp_path / "study", ({}, {"seed-1": None, "seed-2": None}))
    (line,) = signatures(Path("study"), capsys)
    assert line.endswith("weights:111111111111+222222222222|runs:2")


def test_an_evaluation_prints_the_one_that_a_comparison_prints(tiny_bert: Path, capsys: Capsys) -> None:
    assert call(app, ["evaluate", str(tiny_bert), "--suite", "sample", "--out", "run"]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("signature: ")]
    assert signatures(Path("run"), capsys) == [line.removeprefix("signature: ")]
    assert "|tokens:32|" in line
    assert "|seed:1111|" in line
