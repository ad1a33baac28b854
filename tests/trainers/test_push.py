"""`train push` against a stand-in of the Hub on localhost: what it is asked for, and what it then holds."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from small_trainings import train

from tests.standin_hub import StandinHub, standin_hub
from trainers.training.directory import without_paths


@pytest.fixture
def hub() -> Iterator[StandinHub]:
    with standin_hub() as hub:
        yield hub


@pytest.fixture(scope="module")
def trained(tiny_bert: Path, sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on text, an encoder and a development set in somebody's home, evaluated and with more in its folder."""
    home = tmp_path_factory.mktemp("somebody")
    out, text, encoder, dev = (
        home / "work" / "run",
        home / "my text.txt",
        home / "bert",
        home / "share" / "grades.csv",
    )
    shutil.copytree(tiny_bert, encoder)
    text.write_text("\n".join(sentences), encoding="utf-8")
    dev.parent.mkdir()
    rows = (f"{left},{right},{row / 8}\n" for row, (left, right) in enumerate(pairwise(sentences[:8])))
    dev.write_text("text1,text2,grade\n" + "".join(rows), encoding="utf-8")
    given = ["--text", text, "--encoder", encoder, "--out", out, "--batch-size", 8, "--max-tokens", 16]
    assert train("mirror", *given, "--dev", dev, "--evaluations", 2, "--whiten") == 0
    assert train("evaluate", out, "--suite", "sample") == 0
    (home / "secret.txt").write_text("secret")
    for name in ("merges.txt", "link.txt"):
        (out / name).symlink_to(home / "secret.txt")
    for name in ("nohup.out", "notes.md", "report.html", "checkpoints/checkpoint-5/optimizer.pt"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("secret")
    return out


@pytest.fixture
def encoder(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "run", symlinks=True)


def push(hub: StandinHub, folder: Path, *arguments: str, token: bool = True) -> tuple[int, str, str]:
    """Return exit code, output and errors of the real command in a process of its own."""
    environment = {**os.environ, **hub.environment(), "HF_HOME": str(folder.parent / "home")}
    if not token:
        del environment["HF_TOKEN"]
    command = [sys.executable, "-m", "trainers", "push", str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.exhaustive_after(1)
def test_an_encoder_its_card_and_its_recipe_are_pushed_privately_without_a_path(
    hub: StandinHub, trained: Path, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}
    code, listed, _ = push(hub, trained, "hf:me/mine", "--dry-run")
    assert (code, hub.repositories) == (0, {})
    code, shown, errors = push(hub, trained, "hf:me/mine")
    assert (code, errors) == (0, "")
    (repository,) = hub.repositories.values()
    assert shown == f"{hub.endpoint}/me/mine: {len(repository.files)} files, private\n"
    assert repository.settings["visibility"] == "private"
    assert (
        sorted(repository.files)
        == listed.splitlines()
        == [
            "1_Pooling/config.json",
            "2_Dense/config.json",
            "2_Dense/model.safetensors",
            "README.md",
            "config.json",
            "config_sentence_transformers.json",
            "model.safetensors",
            "modules.json",
            "recipe.json",
            "record.json",
            "sentence_bert_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        ]
    )
    assert [
        name for name, content in repository.files.items() if b"somebody" in content or b"secret" in content
    ] == []
    recipe = json.loads(repository.files["recipe.json"])
    assert [recipe[key] for key in ("text", "encoder", "dev")] == ["my text.txt", "bert", "grades.csv"]
    card = repository.files["README.md"].decode()
    assert all(f"| {line} |" in card for line in ("text | my text.txt", "encoder | bert", "dev | grades.csv"))
    for name, content in repository.files.items():
        (tmp_path / "got" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "got" / name).write_bytes(content)
    encoded = [
        SentenceTransformer(str(folder), device="cpu").encode("a dog")
        for folder in (trained, tmp_path / "got")
    ]
    np.testing.assert_array_equal(*encoded)
    assert push(hub, trained, "hf:me/mine")[0] == 0, "again, into the repository that is there"
    assert {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("text", "../../../../mnt/share/x.csv", "x.csv"),
        ("views", ["/a/b.arrow", "e.arrow"], ["b.arrow", "e.arrow"]),
        ("encoder", "org/encoder", "org/encoder"),
        ("encoder", "~/models/encoder", "encoder"),
        ("encoder", "here/encoder", "encoder"),
        ("teacher", None, None),
        ("words", "en:5000", "en:5000"),
        ("schedule", "linear", "linear"),
    ],
)
def test_a_recipe_for_others_names_files_alone(key: str, value: object, name: object) -> None:
    Path("here/encoder").mkdir(parents=True)
    assert without_paths({key: value}) == {key: name}


@pytest.mark.exhaustive
def test_public_encoder_needs_a_licence_which_goes_into_its_card(hub: StandinHub, encoder: Path) -> None:
    code, _, errors = push(hub, encoder, "hf:me/mine", "--public")
    assert (code, hub.repositories) == (2, {})
    assert (
        errors == f"error: {encoder}/README.md names no licence: --public needs one, as --license apache-2.0\n"
    )
    assert push(hub, encoder, "hf:me/mine", "--public", "--license", "mit")[0] == 0
    repository = hub.repositories["model/me/mine"]
    assert repository.settings["visibility"] == "public"
    assert b"- twinviews\nlicense: mit\n---\n" in repository.files["README.md"]
    assert b"license" not in (encoder / "README.md").read_bytes()
    code, _, errors = push(hub, encoder, "hf:me/mine")
    assert code == 2
    assert errors == f"error: {hub.endpoint}/me/mine exists and is public: give --public, or another name\n"


@pytest.mark.exhaustive_after(4)
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
def test_refused_push(
    name: str, broken: str, refusing: int, said: str, hub: StandinHub, encoder: Path
) -> None:
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
