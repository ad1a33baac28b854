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
from trainers.training.directory import checkpoints

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


def test_the_vocabulary_has_marians_layout_and_the_language_codes_of_the_text(trained: Path) -> None:
    assert language_codes([(">>de<< a dog", "b"), (">>fr<< a cat", "un chat"), ("a >> b <<", "c")]) == [
        ">>de<<", ">>fr<<"
    ]  # fmt: skip
    tokenizer = MarianTokenizer.from_pretrained(trained / "model")
    assert len(tokenizer) == 38
    assert tokenizer.convert_tokens_to_ids(["</s>", "<unk>", "<pad>"]) == [0, 1, 37]
    assert tokenizer.tokenize(">>de<< the dog")[0] == ">>de<<"


def test_what_it_writes_depends_on_what_it_reads(trained: Path, pairs: list[tuple[str, str]]) -> None:
    tokenizer = MarianTokenizer.from_pretrained(trained / "model")
    model = MarianMTModel.from_pretrained(trained / "model", dtype=torch.float32)
    sample = pairs[::9]
    inputs = tokenizer([source for source, _ in sample], return_tensors="pt", padding=True)
    written = tokenizer.batch_decode(model.generate(**inputs, num_beams=1, max_length=40), skip_special_tokens=True)
    right = sum(text == target for text, (_, target) in zip(written, sample, strict=True))
    assert right >= 0.9 * len(sample)


def weights(model: Path) -> dict[str, torch.Tensor]:
    return load_file(model / "model.safetensors")


def test_a_resumed_run_equals_the_uninterrupted_one(
    trained: Path, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    shutil.copytree(trained / "tokenizer", tmp_path / "run" / "tokenizer")
    shutil.copy(trained / "recipe.json", tmp_path / "run")
    earliest = checkpoints(trained / "checkpoints")[-1]
    shutil.copytree(earliest, tmp_path / "run" / "checkpoints" / earliest.name)
    torch.testing.assert_close(weights(trained_in(tmp_path / "run", pairs)), weights(trained / "model"), rtol=0, atol=0)


def test_a_run_that_is_given_more_epochs_goes_on_as_if_it_had_had_them(
    trained: Path, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    long = {"tokenizer": trained / "tokenizer", "decay": 0.25}
    trained_in(tmp_path / "in-two", pairs, epochs=15, **long)
    for later in checkpoints(tmp_path / "in-two" / "checkpoints")[:-1]:  # the rate has begun to fall
        shutil.rmtree(later)
    once, again = (weights(trained_in(tmp_path / run, pairs, epochs=20, **long)) for run in ("at-once", "in-two"))
    torch.testing.assert_close(again, once, rtol=0, atol=0)


def test_recipe_and_checkpoints_are_those_of_earlier_versions(trained: Path) -> None:
    recipe = json.loads((trained / "recipe.json").read_text())
    assert recipe.pop("text")
    assert recipe == {
        "start": None, "vocabulary_from": None, "vocabulary": 38, "epochs": 30, "batch_tokens": 256, "lr": 5e-3,
        "shape": {"d_model": 32, "ffn": 64, "heads": 4, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0},
        "warmup_steps": 20, "decay": 0.25, "label_smoothing": 0.1, "max_tokens": 96, "seed": 1, "bf16": False,
        "pairs": 144,
    }  # fmt: skip
    names = set(weights(next((trained / "checkpoints").glob("checkpoint-*"))))
    assert {"model.final_logits_bias", "model.model.shared.weight"} <= names
    assert "model.lm_head.weight" not in names, "shared tensors are written once"


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


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "en-de.tsv"
    words = [f"{a}{b}{c}" for a in "bcdfghjklmnpqrstvwxyz" for b in "aeiou" for c in ("l", "mi", "ru", "ta", "n", "so")]
    path.write_text(
        "".join(f"The {one} {two}.\tDer {two} {one}!\n" for one, two in zip(words, words[7:], strict=False))
    )
    return path


def test_several_processes_are_refused_before_anything_is_written(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert call(app, ["marian", "--parallel", str(text), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        "error: train marian trains in one process, not in 2: start it without torchrun\n"
    )
    assert not (tmp_path / "run").exists()


def test_another_recipe_is_refused_and_overwriting_removes_what_the_run_made_and_nothing_else(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    small = "--vocabulary 100 --d-model 16 --ffn 16 --heads 2 --encoder-layers 1 --decoder-layers 1 --epochs 1"
    given = ["marian", "--parallel", str(text), *small.split(), "--precision", "fp32", "--out", str(out)]
    out.mkdir()
    (out / "recipe.json.tmp").write_text("{")  # of a run that was killed before it had a recipe
    assert call(app, given) == 0
    (out / "notes.txt").write_text("mine")
    (out / "model" / "stale.txt").write_text("of the run before")
    assert call(app, [*given, "--seed", "2"]) == 2
    assert "belongs to another recipe (seed was 1, is now 2)" in capsys.readouterr().err
    with locked_folder(out):
        assert call(app, [*given, "--seed", "2", "--overwrite"]) == 2
    assert (out / "model" / "stale.txt").is_file()
    assert call(app, [*given, "--seed", "2", "--overwrite"]) == 0
    assert json.loads((out / "recipe.json").read_text())["seed"] == 2
    assert not (out / "model" / "stale.txt").exists()
    assert {path.name for path in out.iterdir()} == {"recipe.json", "notes.txt", "checkpoints", "tokenizer", "model"}
