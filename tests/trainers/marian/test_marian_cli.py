from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.console import call
from pipelines.lock import locked_folder
from trainers.cli import app

SMALL = ["--vocabulary", 100, "--d-model", 16, "--ffn", 16, "--heads", 2, "--encoder-layers", 1, "--decoder-layers", 1]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "en-de.tsv"
    words = [f"{a}{b}{c}" for a in "bcdfghjklmnpqrstvwxyz" for b in "aeiou" for c in ("l", "mi", "ru", "ta", "n", "so")]
    path.write_text(
        "".join(f"The {one} {two}.\tDer {two} {one}!\n" for one, two in zip(words, words[7:], strict=False))
    )
    return path


def marian(*arguments: object) -> int:
    return call(app, ["marian", *map(str, arguments)])


def test_several_processes_are_refused_before_anything_is_written(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert marian("--parallel", text, "--out", tmp_path / "run") == 2
    assert capsys.readouterr().err == (
        "error: train marian trains in one process, not in 2: start it without torchrun\n"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("flags", [[], ["--overwrite"]])
def test_folder_of_something_else_is_left_alone(
    flags: list[str], text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "recipe.json").write_text('{"command": "ingest", "twinviews": "0.1.0"}')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert marian("--parallel", text, "--out", tmp_path, *flags) == 2
    assert "its recipe.json is another command's" in capsys.readouterr().err
    (tmp_path / "recipe.json").unlink()
    assert marian("--parallel", text, "--out", tmp_path, *flags) == 2
    assert "is not empty and no training run" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {text.name}
    assert text.read_bytes() == before[text.name]


def test_overwriting_removes_what_the_run_made_and_nothing_else(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    given = ["--parallel", text, *SMALL, "--precision", "fp32", "--epochs", 1, "--out", out]
    out.mkdir()
    (out / "recipe.json.tmp").write_text("{")  # of a run that was killed before it had a recipe
    assert marian(*given) == 0
    (out / "notes.txt").write_text("mine")
    (out / "model" / "stale.txt").write_text("of the run before")
    assert marian(*given, "--seed", 2) == 2
    with locked_folder(out):
        assert marian(*given, "--seed", 2, "--overwrite") == 2
    assert (out / "model" / "stale.txt").is_file()
    assert marian(*given, "--seed", 2, "--overwrite") == 0
    assert json.loads((out / "recipe.json").read_text())["seed"] == 2
    assert (out / "notes.txt").is_file()
    assert not (out / "model" / "stale.txt").exists()
    assert {path.name for path in out.iterdir()} == {"recipe.json", "notes.txt", "checkpoints", "tokenizer", "model"}
