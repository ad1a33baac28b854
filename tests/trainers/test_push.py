"""`train push` against a stand-in of the Hub on localhost: what it is asked for, and what it then holds."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_trainings import Capsys, train

from tests.standin_hub import StandinHub, standin_hub

WHOLE = {
    "modules.json": b"[]", "README.md": b"---\ntags:\n- twinviews\n---\n\n# Encoder\n", "recipe.json": b"{}",
    "model.safetensors": bytes(range(256)) * 50, "1_Pooling/config.json": b"{}", "LICENSE": b"Apache License",
}  # fmt: skip
LEFT = ["checkpoints/checkpoint-5/optimizer.pt", "checkpoints/best-5.safetensors", ".augment.lock", "report.html"]


@pytest.fixture
def hub() -> Iterator[StandinHub]:
    with standin_hub() as hub:
        yield hub


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    for name, content in {**WHOLE, **dict.fromkeys(LEFT, b"large")}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def push(hub: StandinHub, folder: Path, *arguments: str, token: bool = True) -> tuple[int, str, str]:
    """Return exit code, output and errors of the real command in a process of its own."""
    environment = {**os.environ, **hub.environment(), "HF_HOME": str(folder.parent / "home")}
    if not token:
        del environment["HF_TOKEN"]
    command = [sys.executable, "-m", "trainers", "push", str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_whole_encoder_is_pushed_privately(hub: StandinHub, encoder: Path) -> None:
    assert push(hub, encoder, "hf:me/mine") == (0, f"{hub.endpoint}/me/mine: 6 files, private\n", "")
    (repository,) = hub.repositories.values()
    assert (repository.settings["visibility"], repository.files) == ("private", WHOLE)
    assert push(hub, encoder, "hf:me/mine")[0] == 0, "again, into the repository that is there"


def test_public_encoder_needs_a_licence_which_goes_into_its_card(hub: StandinHub, encoder: Path) -> None:
    code, _, errors = push(hub, encoder, "hf:me/mine", "--public")
    assert (code, hub.repositories) == (2, {})
    assert errors == f"error: {encoder}/README.md names no licence: --public needs one, as --license apache-2.0\n"
    assert push(hub, encoder, "hf:me/mine", "--public", "--license", "mit")[0] == 0
    repository = hub.repositories["model/me/mine"]
    assert repository.settings["visibility"] == "public"
    assert repository.files["README.md"].startswith(b"---\ntags:\n- twinviews\nlicense: mit\n---\n")
    code, _, errors = push(hub, encoder, "hf:me/mine")
    assert code == 2
    assert errors == f"error: {hub.endpoint}/me/mine exists and is public: give --public, or another name\n"


def test_no_path_of_this_machine_is_pushed(
    hub: StandinHub, tiny_bert: Path, sentences: list[str], graded_data: Path, tmp_path: Path, capsys: Capsys
) -> None:
    home = tmp_path / "somebody"
    out, text, encoder = home / "work" / "run", home / "my text.txt", home / "bert"
    shutil.copytree(tiny_bert, encoder)
    text.write_text("\n".join(sentences), encoding="utf-8")
    data = home / "benchmarks"
    shutil.copytree(graded_data, data)
    given = ["--text", text, "--encoder", encoder, "--out", out, "--batch-size", 8, "--max-tokens", 16]
    assert train("mirror", *given, "--dev", "stsb-dev", "--dev-data", data, "--evaluations", 2) == 0
    assert train("evaluate", out, "--suite", "sts", "--data", data, "--no-cache") == 0
    text.unlink()
    (out / "report.html").write_text("sentences")
    assert train("evaluate", out, "--suite", "sample", "--no-cache") == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    code, listed, notes = push(hub, out, "hf:me/mine", "--dry-run")
    assert code == 0
    assert "left out: report.html, time.jsonl\n" in notes
    assert "paths of this machine become names: README.md, evaluation/sample.json, " in notes
    assert push(hub, out, "hf:me/mine", "--public", "--license", "mit")[0] == 0
    (repository,) = hub.repositories.values()
    assert sorted(repository.files) == listed.splitlines()
    assert [name for name, content in repository.files.items() if b"somebody" in content] == []
    recipe, scores = (json.loads(repository.files[name]) for name in ("recipe.json", "evaluation/sts.json"))
    assert [recipe[key] for key in ("text", "encoder", "dev_data")] == ["my text.txt", "bert", "benchmarks"]
    assert scores["model"]["name"] == "run"
    assert scores["settings"]["data"] == "benchmarks"
    assert b"| text | my text.txt |" in repository.files["README.md"]
    card = out / "README.md"
    assert {path: path.read_bytes() for path in before if path != card} == {
        path: content for path, content in before.items() if path != card
    }


@pytest.mark.parametrize(
    ("name", "broken", "refusing", "said"),
    [
        ("hf:me/mine", "token", 0, "no token for the Hub: run `hf auth login`, or set HF_TOKEN"),
        ("hf:me/mine", "", 401, "cannot push to hf:me/mine ("),
        ("hf:a/b/c", "", 0, "cannot push to hf:a/b/c ("),
        ("me/mine", "", 0, "cannot push to 'me/mine': give hf:USER/MODEL"),
        ("hf:me/mine", "modules.json", 0, "is not a finished run, it has no modules.json"),
        ("hf:me/mine", "model.safetensors", 0, "is not a finished run, it has no *.safetensors"),
        ("hf:me/mine", "README.md", 0, "README.md: its header is not valid YAML"),
    ],
)
def test_refused_push(name: str, broken: str, refusing: int, said: str, hub: StandinHub, encoder: Path) -> None:
    hub.refusing = refusing
    if broken == "README.md":
        (encoder / broken).write_text("---\na: [\n---\n\n# Encoder\n")
    elif (encoder / broken).is_file():
        (encoder / broken).unlink()
    card = (encoder / "README.md").read_bytes()
    code, _, errors = push(hub, encoder, name, "--license", "mit", token=broken != "token")
    assert (code in (1, 2), errors.startswith("error: "), errors.count("\n")) == (True, True, 1)
    assert said in errors
    assert hub.repositories == {}
    assert (encoder / "README.md").read_bytes() == card
