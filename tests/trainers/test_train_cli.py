import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from fitting import read_log, write_pairs
from sentence_transformers import SentenceTransformer

from pipelines.console import InputError, call
from trainers.catalogue import load_objective
from trainers.cli import app
from trainers.data.kinds import DataOptions
from trainers.encoders.location import Source, locate
from trainers.settings import Training
from trainers.training.directory import FREE
from trainers.training.run import Request, model_card, run_training


@pytest.fixture
def pairs_file(tmp_path: Path, sentences: list[str]) -> Path:
    rows = [(text, text.replace("a ", "the "), text.replace("dog", "cat")) for text in sentences]
    return write_pairs(tmp_path / "pairs.arrow", rows)


GIVEN = {"batch_size": 8, "max_tokens": 24, "lr": 1e-2, "precision": "fp32"}
SMALL = ["--batch-size", "8", "--max-tokens", "24"]


def train(*arguments: object) -> int:
    return call(app, [str(argument) for argument in arguments])


def test_bsl_from_pairs_to_an_encoder_that_sentence_transformers_loads(
    pairs_file: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs" / "bsl"
    arguments = ["bsl", "--views", pairs_file, "--encoder", tiny_bert, "--out", out, *SMALL]
    assert train(*arguments, "--dry-run") == 0
    assert "optimiser steps" in capsys.readouterr().out
    assert not out.exists()
    assert train(*arguments) == 0
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
        ("mirror --text text.txt --dev nowhere.tsv", "--dev nowhere.tsv: neither a file"),
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


@pytest.fixture
def dev_file(sentences: list[str], tmp_path: Path) -> Path:
    pairs = zip(sentences, sentences[5:], strict=False)
    lines = [f"{row % 6}\t{one}\t{other}" for row, (one, other) in enumerate(pairs)]
    path = tmp_path / "dev.tsv"
    path.write_text("score\tsentence1\tsentence2\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def run_mirror(text: Path, encoder: Path, out: Path, **given: object) -> None:
    request = Request(objective="mirror", data=DataOptions(text=text), out=out, encoder=str(encoder))
    run_training(request, load_objective("mirror"), {**GIVEN, **given})


def test_run_with_a_development_set_saves_its_best_and_other_places_of_its_data_are_the_same_run(
    text_file: Path, tiny_bert: Path, dev_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, moved, other = tmp_path / "run", tmp_path / "moved.tsv", tmp_path / "other.tsv"
    run_mirror(text_file, tiny_bert, out, dev=str(dev_file), evaluations=3)
    said = capsys.readouterr().out
    scores = {line["step"]: line["dev"] for line in read_log(out) if "dev" in line}
    start = scores.pop(0)
    best = max(scores, key=lambda step: scores[step])
    assert set(scores) == {2, 4, 6}
    assert f"dev {scores[best]:.2f} at step {best} (before the training {start:.2f})" in said
    assert f"dev.tsv: {scores[best]:.2f}; before the training it was {start:.2f}." in (out / "README.md").read_text()
    assert SentenceTransformer(str(out), device="cpu").encode(["a dog"]).shape == (1, 16)
    assert not (out / "checkpoints").exists()
    recipe = json.loads((out / "recipe.json").read_text())
    assert (recipe["dev"], recipe["evaluations"], recipe["keep"]) == (str(dev_file), 3, "best")
    moved.write_text(dev_file.read_text())
    other.write_text(dev_file.read_text().replace("\n5\t", "\n4\t"))
    run_mirror(text_file, tiny_bert, out, dev=str(moved), evaluations=3, save_every=7, gradient_checkpointing=True)
    assert "is already finished with this recipe" in capsys.readouterr().out
    with pytest.raises(InputError, match="dev_xxh64 was"):
        run_mirror(text_file, tiny_bert, out, dev=str(other), evaluations=3)
    with pytest.raises(InputError, match="patience was None, is now 2"):
        run_mirror(text_file, tiny_bert, out, dev=str(dev_file), evaluations=3, patience=2)


def test_what_may_differ_between_resumptions_is_an_option() -> None:
    assert {*Training.model_fields, *DataOptions.model_fields} >= FREE


def test_card_shows_lists_and_bars_readably_and_the_licence_of_the_encoder(tmp_path: Path) -> None:
    recipe = {
        "command": "bsl", "twinviews": {"rows": 1234, "version": "9"}, "encoder": None, "pooling": "mean",
        "views": ["a.arrow", "b|c.arrow"], "limit": None,
    }  # fmt: skip
    card = model_card(recipe, 7, {}, locate(None))
    assert "the Twinviews starter encoder, trained for 7 steps on 1,234 rows without labels by\nTwinviews 9 (" in card
    assert "|---|---|\n| encoder |" not in card
    assert "\n| pooling | mean |\n| views | a.arrow, b\\|c.arrow |\n\n`recipe.json` holds" in card
    assert card.startswith("---\nlicense: apache-2.0\nlibrary_name: ")
    (tmp_path / "README.md").write_text("---\nlicense: [\n---\n")
    assert model_card(recipe, 7, {}, Source("x", str(tmp_path))).startswith("---\nlibrary_name: ")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_recipe_names_the_precision_that_auto_took_and_another_machine_s_is_refused(
    text_file: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"amx_bf16": True})
    run_mirror(text_file, tiny_bert, out, precision="auto")
    assert json.loads((out / "recipe.json").read_text())["precision"] == "bf16"
    monkeypatch.setattr("torch.cpu.get_capabilities", dict)
    said = r"\(precision was 'bf16', is now 'fp32'\): use --overwrite, change it back"
    with pytest.raises(InputError, match=said):
        run_mirror(text_file, tiny_bert, out, precision="auto")
    run_mirror(text_file, tiny_bert, out, precision="bf16")
