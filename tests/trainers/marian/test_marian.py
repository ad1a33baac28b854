import json
import shutil
from itertools import product
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import MarianMTModel, MarianTokenizer

from pipelines.console import InputError, call
from pipelines.lock import locked_folder
from trainers.cli import app
from trainers.marian.text import language_codes
from trainers.marian.train import MarianOptions, train_marian

WORDS = {
    "dog": "Hund", "cat": "Katze", "bird": "Vogel", "sees": "sieht", "hears": "hoert", "the": "der", "a": "ein",
    "red": "rote", "small": "kleine",
}  # fmt: skip
GIVEN = {
    "vocabulary": 38, "d_model": 32, "ffn": 64, "encoder_layers": 1, "decoder_layers": 1, "epochs": 30,
    "save_steps": 50, "batch_tokens": 256, "lr": 5e-3, "warmup_steps": 20, "precision": "fp32",
}  # fmt: skip


def trained_in(out: Path, pairs: list[tuple[str, str]], **given: object) -> Path:
    return train_marian(pairs, MarianOptions.model_construct(out=out, **{**GIVEN, **given}))


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    nouns, verbs = ("dog", "cat", "bird"), ("sees", "hears")
    sentences = [
        f"{article} {adjective} {subject} {verb} {other} {thing}"
        for article, adjective, subject, verb, other, thing in product(
            ("the", "a"), ("red", "small"), nouns, verbs, ("the", "a"), nouns
        )
    ]
    return [(f">>de<< {text}", " ".join(WORDS[word] for word in text.split())) for text in sentences]


@pytest.fixture(scope="module")
def trained(pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("marian") / "run"
    trained_in(out, pairs)
    return out


def test_language_codes_are_found_in_the_text(pairs: list[tuple[str, str]]) -> None:
    assert language_codes([*pairs, (">>fr<< a cat", "un chat"), ("a >> b <<", "c")]) == [">>de<<", ">>fr<<"]


def test_the_vocabulary_has_marians_layout(trained: Path) -> None:
    tokenizer = MarianTokenizer.from_pretrained(trained / "model")
    assert len(tokenizer) == 38
    ids = tokenizer.convert_tokens_to_ids(["</s>", "<unk>", "<pad>"])
    assert ids == [0, 1, 37]
    assert tokenizer.tokenize(">>de<< the dog")[0] == ">>de<<"


def test_what_it_writes_depends_on_what_it_reads(trained: Path, pairs: list[tuple[str, str]]) -> None:
    tokenizer = MarianTokenizer.from_pretrained(trained / "model")
    model = MarianMTModel.from_pretrained(trained / "model", dtype=torch.float32)
    sample = pairs[::9]
    inputs = tokenizer([source for source, _ in sample], return_tensors="pt", padding=True)
    written = tokenizer.batch_decode(model.generate(**inputs, num_beams=1, max_length=40), skip_special_tokens=True)
    right = sum(text == target for text, (_, target) in zip(written, sample, strict=True))
    assert right >= 0.9 * len(sample)


def test_a_resumed_run_equals_the_uninterrupted_one(
    trained: Path, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    shutil.copytree(trained / "tokenizer", tmp_path / "run" / "tokenizer")
    shutil.copy(trained / "recipe.json", tmp_path / "run")
    earliest = min((trained / "checkpoints").glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    shutil.copytree(earliest, tmp_path / "run" / "checkpoints" / earliest.name)
    again = load_file(trained_in(tmp_path / "run", pairs) / "model.safetensors")
    once = load_file(trained / "model" / "model.safetensors")
    assert once.keys() == again.keys()
    assert all(torch.equal(once[name], again[name]) for name in once)


def test_a_run_that_is_given_more_epochs_goes_on_as_if_it_had_had_them(
    trained: Path, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    long = {"tokenizer": trained / "tokenizer", "decay": 0.25}
    runs = [tmp_path / "at-once", tmp_path / "in-two"]
    trained_in(runs[1], pairs, epochs=15, **long)
    for later in runs[1].glob("checkpoints/checkpoint-*"):
        if int(later.name.split("-")[1]) > 50:  # the rate has begun to fall
            shutil.rmtree(later)
    once, again = (load_file(trained_in(run, pairs, epochs=20, **long) / "model.safetensors") for run in runs)
    assert all(torch.equal(once[name], again[name]) for name in once)


def test_recipe_and_checkpoints_are_those_of_earlier_versions(trained: Path) -> None:
    recipe = json.loads((trained / "recipe.json").read_text())
    assert recipe.pop("text")
    assert recipe == {
        "start": None, "vocabulary_from": None, "vocabulary": 38, "epochs": 30, "batch_tokens": 256, "lr": 5e-3,
        "shape": {"d_model": 32, "ffn": 64, "heads": 4, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0},
        "warmup_steps": 20, "decay": 0.25, "label_smoothing": 0.1, "max_tokens": 96, "seed": 1, "bf16": False,
        "pairs": 144,
    }  # fmt: skip
    names = set(load_file(next((trained / "checkpoints").glob("checkpoint-*")) / "model.safetensors"))
    assert {"model.final_logits_bias", "model.model.shared.weight"} <= names
    assert "model.lm_head.weight" not in names, "shared tensors are written once"


def test_another_recipe_in_the_same_folder_is_refused(trained: Path, pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(InputError, match=r"belongs to another recipe \(pairs was 144, is now 143\)"):
        trained_in(trained, pairs[:-1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"vocabulary": 4000}, r"no vocabulary of 4000 ids .*<= \d+.*: give more text or a smaller --vocabulary"),
        ({"model": "nowhere"}, "cannot load MarianMT from 'nowhere'"),
        ({"tokenizer": Path("nowhere")}, "--tokenizer nowhere: no such folder"),
    ],
)
def test_what_cannot_be_trained_leaves_no_run_and_replaces_none(
    given: dict[str, object], said: str, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        trained_in(tmp_path / "run", pairs, **given)
    assert not (tmp_path / "run").exists()
    (tmp_path / "run" / "model").mkdir(parents=True)
    (tmp_path / "run" / "recipe.json").write_text('{"vocabulary_from": null, "batch_tokens": 1, "text": "0"}')
    with pytest.raises(InputError, match=said):
        trained_in(tmp_path / "run", pairs, overwrite=True, **given)
    assert (tmp_path / "run" / "model").is_dir()


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
