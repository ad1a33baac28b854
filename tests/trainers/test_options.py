"""Options, presets and help, of our objectives and of those that others add."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from foreigners import add_package, start_beside
from small_trainings import Capsys, error_line, train

import trainers.objectives
from pipelines.base.console import call
from trainers.cli.app import make_app
from trainers.encoders.location import locate
from trainers.encoders.model import load_model
from trainers.objectives.bsl import PARAMS, PRESETS
from trainers.settings import load_objective, objective_names, resolve


@pytest.mark.parametrize("name", objective_names())
def test_every_objective_has_help(name: str, capsys: Capsys) -> None:
    assert train(name, "--help") == 0
    text = capsys.readouterr().out
    assert f"train {name} --" in text
    for key in load_objective(name).PARAMS.model_fields:
        assert f"--{key.replace('_', '-')} " in text
    assert train("isbert", "--help") == 0
    assert "[1, 3, 5; afs: 3, 5, 7]" in " ".join(capsys.readouterr().out.split())


def test_defaults_are_in_brackets_and_presets_are_completed(capsys: Capsys) -> None:
    for command in ("evaluate", "report", "push", "auto", "compare", "contrastive"):
        assert train(command, "--help") == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "default:" not in text
        assert "4294967295" not in text
        assert text.index("Options:" if command != "contrastive" else "Running:") < text.index("--config")
    assert "[no-whiten; tuned: whiten]" in text
    line = {
        "_TRAIN_COMPLETE": "complete_bash",
        "COMP_WORDS": "train contrastive --preset s",
        "COMP_CWORD": "3",
    }
    process = [sys.executable, "-m", "trainers"]
    done = subprocess.run(process, env=os.environ | line, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["simcse", "supervised-simcse"]


NEW_OBJECTIVE = '''"""Toy: pull both views of a sentence together."""

from pydantic import Field

from trainers.objective import Objective
from trainers.settings import ObjectiveOptions

READS = ("text",)
PRESETS = {"small": {"lr": 1e-3, "batch_size": 8, "max_tokens": 24, "precision": "fp32"}}


class PARAMS(ObjectiveOptions):
    strength: float = Field(2.0, gt=0, description="Factor on the loss.")


class Toy(Objective):
    def forward(self, input_ids, attention_mask):
        vectors = self.embed(input_ids, attention_mask)
        first, second = vectors.chunk(2)
        return {"loss": self.params.strength * (first - second).square().mean(), "vectors": vectors.detach()}


build = Toy
'''


def test_objective_is_added_by_one_file(
    tiny_bert: Path, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    (tmp_path / "pull_together.py").write_text(NEW_OBJECTIVE, encoding="utf-8")
    monkeypatch.setattr(trainers.objectives, "__path__", [*trainers.objectives.__path__, str(tmp_path)])
    app = make_app()
    assert call(app, ["--help"]) == 0
    assert "pull-together" in capsys.readouterr().out
    assert call(app, ["pull-together", "--help"]) == 0
    assert "Factor on the loss. [2.0]" in " ".join(capsys.readouterr().out.split())
    run = [
        "--text",
        str(text_file),
        "--encoder",
        str(tiny_bert),
        "--out",
        str(tmp_path / "run"),
        "--strength",
        "3",
    ]
    assert call(app, ["pull-together", *run]) == 0
    assert (tmp_path / "run" / "modules.json").is_file()


def test_a_preset_may_keep_the_pooling_that_an_encoder_was_made_for(tiny_bert: Path, tmp_path: Path) -> None:
    found = {"bare": locate(str(tiny_bert)).pooling()}
    for pooling in ("mean", "cls"):
        load_model(str(tiny_bert), pooling=pooling).model.save_pretrained(str(tmp_path / pooling))
        found[pooling] = locate(str(tmp_path / pooling)).pooling()
    assert found == {"bare": "cls", "mean": "mean", "cls": "cls"}
    for preset, given, expected in (
        ("tuned", {}, "mean"),
        ("tuned", {"pooling": "cls"}, "cls"),
        ("code", {}, "mean"),
    ):
        assert resolve(PRESETS, PARAMS, preset, given, own_pooling="mean")[1].pooling == expected
    assert resolve(PRESETS, PARAMS, "code", {}, own_pooling="cls")[1].pooling == "mean"


TRAIN = "from trainers.__main__ import main; main()"
BROKEN = {
    "import nothing_of_that_name": "cannot be used: ModuleNotFoundError",
    "raise SystemExit(3)": "cannot be used: SystemExit: 3",
    "PARAMS = 1": "cannot be used: it has no READS",
}


def test_a_broken_objective_is_named_when_it_is_used_and_not_before(tmp_path: Path) -> None:
    modules = {f"broken_{number}": source for number, source in enumerate(BROKEN)}
    site = add_package(
        tmp_path / "site", modules, objectives="\n".join(f"{name} = {name}" for name in modules)
    )

    def ran(*arguments: str) -> tuple[int, str]:
        process = start_beside(site, tmp_path, *arguments, program=TRAIN)
        _, err = process.communicate(timeout=120)
        return process.returncode, err

    assert ran("--help") == (0, "")
    for name, source in modules.items():
        code, err = ran(name, "--help")
        assert (code, err.count("\n")) == (2, 1)
        assert err.startswith(f"error: objective {name!r} of {name} {BROKEN[source]}")


ODD_LENGTHS = '''"""How many lines of `lines.txt` have an odd length."""

import json
from pathlib import Path

from trainers.scores.task import Result, Task

METRICS = ("odd",)


def find(data):
    lines = Path(data, "lines.txt").read_text().splitlines()

    def score(vectors, seed):
        vectors.of(lines)
        return Result({"odd": 100 * sum(len(line) % 2 for line in lines) / SHARE})

    return [Task(name="odd", title="odd lines", source=data, size=len(lines), texts=lines, lines=lines, score=score)]
'''


def test_an_objective_with_a_name_of_ours_is_passed_over(tmp_path: Path) -> None:
    site = add_package(tmp_path / "site", {"toy": NEW_OBJECTIVE}, objectives="contrastive = toy\ntoy = toy")
    process = start_beside(site, tmp_path, "contrastive", "--help", program=TRAIN)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, "--temperature" in out, "--strength" in out) == (0, True, False)
    assert err.startswith("objective 'contrastive' of toy is passed over: Twinviews has that name;")


@pytest.mark.exhaustive
def test_a_suite_of_another_package_is_evaluated_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("a cat\na dog\na bird\n", encoding="utf-8")
    modules = {
        "odd_lengths": ODD_LENGTHS.replace("SHARE", "len(lines)"),
        "odd_zero": ODD_LENGTHS.replace("SHARE", "0"),
    }
    points = "odd-lengths = odd_lengths\nsts = odd_lengths\nodd-zero = odd_zero\nodd-none = no_such_module"
    site = add_package(tmp_path / "site", modules, suites=points)

    def evaluated(suite: str) -> tuple[int, str, str]:
        arguments = ("evaluate", "starter", "--data", tmp_path, "--out", "out", "--suite", suite)
        process = start_beside(site, tmp_path, *arguments, program=TRAIN)
        out, err = process.communicate(timeout=240)
        return process.returncode, out, err

    code, out, err = evaluated("odd-lengths")
    assert (code, "odd lines" in out, "66.67" in out) == (0, True, True), err
    assert "suite 'sts' of odd_lengths is passed over: Twinviews has that name;" in err
    code, _, err = evaluated("odd-zero")
    assert (code, "Traceback" in err) == (1, False)
    assert "error: suite 'odd-zero' of odd_zero failed: ZeroDivisionError: division by zero" in err
    code, _, err = evaluated("odd-none")
    assert (code, "Traceback" in err) == (2, False)
    assert "error: suite 'odd-none' of no_such_module cannot be used: ModuleNotFoundError" in err


SIZED = {
    "distil": ("lr", "queue", "teacher_temperature", "student_temperature"),
    "sct": ("lr", "queue", "reference_temperature", "online_temperature"),
}
"""The settings that depend on the student's size."""
LONG = {"batch_size": 128, "max_tokens": 128, "warmup": 0.1}
CONGEN = {**LONG, "epochs": 20, "method": "congen"}
DISTILLED = {**LONG, "epochs": 10, "method": "sct"}
SCT = {**LONG, "schedule": "linear", "pooling": "mean", "width": 10}
PAPER = {**SCT, "epochs": 10, "norm": "batch", "directions": "mean"}
PRINTED: list[tuple[str, str, dict[str, object], tuple[float, ...]]] = [
    ("distil", "congen", CONGEN, (5e-5, 65_536, 0.05, 0.07)),
    ("distil", "congen-tiny", CONGEN, (5e-4, 16_384, 0.05, 0.05)),
    ("distil", "congen-mini", CONGEN, (3e-4, 16_384, 0.05, 0.07)),
    ("distil", "congen-small", CONGEN, (3e-4, 65_536, 0.05, 0.07)),
    ("distil", "congen-minilm-l6", CONGEN, (3e-4, 65_536, 0.05, 0.07)),
    ("distil", "congen-minilm-l12", CONGEN, (5e-5, 16_384, 0.05, 0.07)),
    ("distil", "sct", DISTILLED, (1e-4, 65_536, 0.04, 0.05)),
    ("distil", "sct-tiny", DISTILLED, (5e-4, 131_072, 0.03, 0.04)),
    ("distil", "sct-mini", DISTILLED, (1e-4, 65_536, 0.04, 0.05)),
    ("distil", "sct-small", DISTILLED, (1e-4, 131_072, 0.04, 0.05)),
    ("sct", "paper-tiny", PAPER, (5e-4, 131_072, 0.03, 0.04)),
    ("sct", "paper-mini", PAPER, (3e-4, 131_072, 0.01, 0.03)),
    ("sct", "paper-small", PAPER, (3e-4, 65_536, 0.02, 0.03)),
    ("sct", "paper", PAPER, (5e-4, 65_536, 0.04, 0.05)),
    ("sct", "paper-large", PAPER, (5e-4, 16_384, 0.04, 0.05)),
    ("sct", "code", {**SCT, "epochs": 20, "norm": "none", "directions": "sum"}, (5e-4, 65_536, 0.04, 0.05)),
    *(("bsl", preset, {"dev_similarity": "best"}, ()) for preset in ("code", "post-training", "multilingual")),
    ("bsl", "paper", {"dev_similarity": "cosine"}, ()),
    ("contrastive", "supervised-simcse", {"lr": 5e-5, "batch_size": 512, "max_tokens": 32, "epochs": 3}, ()),
]


@pytest.mark.parametrize(("name", "preset", "common", "sized"), PRINTED)
def test_presets_are_the_papers(
    name: str, preset: str, common: dict[str, Any], sized: tuple[float, ...]
) -> None:
    module = load_objective(name)
    teacher = {"teacher": "a"} if name == "distil" else {}
    _, training, params = resolve(module.PRESETS, module.PARAMS, preset, teacher)
    found = {**training.model_dump(), **params.model_dump()}
    expected = {**common, **dict(zip(SIZED.get(name, ()), sized, strict=True))}
    assert {key: found[key] for key in expected} == expected


def test_fewer_tokens_than_special_ones_and_a_word_are_refused(
    text_file: Path, tiny_bert: Path, capsys: Capsys
) -> None:
    assert train("mirror", "--text", text_file, "--encoder", tiny_bert, "--max-tokens", "3") == 2
    assert "--max-tokens 3: input should be greater than or equal to 4" in error_line(capsys)
