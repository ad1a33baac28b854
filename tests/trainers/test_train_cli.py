import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fitting import write_pairs

from pipelines.console import call
from trainers.cli import app


@pytest.fixture
def pairs_file(tmp_path: Path, sentences: list[str]) -> Path:
    rows = [(text, text.replace("a ", "the "), text.replace("dog", "cat")) for text in sentences]
    return write_pairs(tmp_path / "pairs.arrow", rows)


SMALL = ["--batch-size", "8", "--max-tokens", "24"]


def train(*arguments: object) -> int:
    return call(app, [str(argument) for argument in arguments])


def test_bsl_from_pairs_to_an_encoder_that_sentence_transformers_loads(
    pairs_file: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from sentence_transformers import SentenceTransformer

    out = tmp_path / "runs" / "bsl"
    assert train("bsl", "--views", pairs_file, "--encoder", tiny_bert, "--out", out, *SMALL) == 0
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 1
    assert f"next: train evaluate {out}" in captured.out
    assert SentenceTransformer(str(out), device="cpu").encode(["a dog"]).shape == (1, 16)
    assert not (out / "checkpoints").exists()
    recipe = json.loads((out / "recipe.json").read_text())
    assert (recipe["command"], recipe["preset"], recipe["lr"], recipe["momentum"]) == ("bsl", "tuned", 2e-5, 0.99)
    assert "model.encode" in (out / "README.md").read_text()


def test_finished_run_is_left_another_recipe_refused_and_a_saved_one_makes_the_same_encoder_again(
    text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    arguments = ["mirror", "--text", text_file, "--encoder", tiny_bert, "--lr", "0.001", "--out", first, *SMALL]
    assert train(*arguments) == 0
    before = {path: path.stat().st_mtime_ns for path in first.rglob("*")}
    assert train(*arguments) == 0
    assert "is already finished with this recipe" in capsys.readouterr().out
    assert train(*arguments, "--lr", "0.1") == 2
    assert "(lr was 0.001, is now 0.1): use --overwrite" in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in first.rglob("*")}
    again = ["mirror", "--config", first / "recipe.json", "--out", second]
    assert train(*again) == 0
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()
    assert train(*again, "--seed", "6", "--overwrite") == 0
    assert (first / "model.safetensors").read_bytes() != (second / "model.safetensors").read_bytes()
    assert json.loads((second / "recipe.json").read_text())["seed"] == 6


def test_killed_run_is_resumed_and_equals_the_undisturbed_one(
    pairs_file: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    arguments = ["bsl", "--views", pairs_file, "--encoder", tiny_bert, "--epochs", "20", "--save-every", "40", *SMALL]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert train(*arguments, "--out", whole) == 0
    code = "import sys; from pipelines.console import call; from trainers.cli import app; call(app, sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments), "--out", str(killed)])
    deadline = time.monotonic() + 120
    while not list(killed.glob("checkpoints/checkpoint-*/trainer_state.json")):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not (killed / "modules.json").exists()
    assert train(*arguments, "--out", killed) == 0
    assert (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()
    assert (whole / "log.jsonl").read_text() == (killed / "log.jsonl").read_text()


def test_dry_run_says_the_plan_and_writes_nothing(
    text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert train("mirror", "--text", text_file, "--encoder", tiny_bert, "--out", out, "--dry-run", *SMALL) == 0
    text = capsys.readouterr().out
    assert "rows" in text
    assert "optimiser steps" in text
    assert not out.exists()


@pytest.fixture
def inputs(text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with something wrong in them, and one with nothing, in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_bytes(text_file.read_bytes())
    Path("empty.txt").write_text("\n \n")
    Path("latin.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    Path("one.txt").write_text("a dog\n")
    Path("not.arrow").write_text("hello")
    Path("folder").mkdir()
    write_pairs(Path("single.arrow"), [("a dog", "a dog", "the dog")])
    write_pairs(Path("blank.arrow"), [("a dog", None, "the dog"), ("a cat", " ", "the cat")])


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("bsl --views nowhere.arrow", "no pairs at 'nowhere.arrow'"),
        ("bsl --views not.arrow", "not.arrow"),
        ("bsl --views single.arrow", "at least 2"),
        ("bsl --views blank.arrow", "no row with two views"),
        ("mlm --text missing.txt", "no sentences at"),
        ("mlm --text empty.txt", "holds no sentence"),
        ("mlm --text latin.txt", "byte 3 is 0xe9"),
        ("mlm --text folder", "not a dataset folder"),
        ("mlm --text text.txt --whiten", "--whiten: mlm trains no layer behind the pooling"),
        ("contrastive --preset tuned --guide starter --text text.txt", "--guide finds nothing where both views"),
        ("mirror --text a --views b", "give one of them"),
        ("mlm --text one.txt --lr -1", "--lr -1.0: input should be greater than 0"),
        ("mlm --text one.txt --seed many", "--seed"),
        ("mirror --text text.txt --encoder 'no such encoder'", "cannot load the encoder 'no such encoder'"),
        ("mirror --text text.txt --encoder runs/nothing", "no model directory"),
        ("mirror --text text.txt --max-tokens 33", "--max-tokens 33 is more than the encoder's 32 positions"),
        ("bls --text text.txt", "No such command 'bls'"),
        ("mirror --text text.txt --preset tuned", "no preset 'tuned': choose one of sentence, phrase, word"),
        ("mirror --text text.txt --patience 3", "--patience 3 needs --dev"),
        ("mirror --text text.txt --dev-similarity best", "--dev-similarity best needs --dev"),
        ("mirror --text text.txt --dev nowhere.tsv", "--dev nowhere.tsv: no such file"),
        ("mirror --text text.txt --temperature inf", "--temperature inf: input should be a finite number"),
        ("mirror --text text.txt --seed 4294967296", "--seed 4294967296: input should be less than 4294967296"),
        ("mirror --text text.txt --report-to email", "'email'"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    given: str, said: str, tiny_bert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *arguments = shlex.split(given)
    assert train(name, "--encoder", tiny_bert, *SMALL, *arguments, "--out", "run") == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert said in captured.err
    assert not Path("run").exists()


@pytest.mark.parametrize("place", ["sentences.txt/run", "/proc/run"])
def test_place_that_cannot_be_written_is_one_line(
    place: str, text_file: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = text_file.parent / place
    assert train("mirror", "--text", text_file, "--encoder", tiny_bert, *SMALL, "--out", out) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "another --out" in error
