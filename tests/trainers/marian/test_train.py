import re
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import MarianMTModel, MarianTokenizer

from pipelines.console import InputError
from trainers.marian.model import Shape
from trainers.marian.train import MarianRecipe, train_marian
from trainers.marian.vocabulary import build_tokenizer, language_codes

WORDS = {
    "dog": "Hund", "cat": "Katze", "bird": "Vogel", "sees": "sieht", "hears": "hoert", "the": "der", "a": "ein",
    "red": "rote", "small": "kleine",
}  # fmt: skip
RECIPE = MarianRecipe(
    vocabulary=38, shape=Shape(32, 64, 4, 1, 1), epochs=30, batch_tokens=256, lr=5e-3, warmup_steps=20, bf16=False
)


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
    train_marian(pairs, out, RECIPE, save_steps=50)
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
    again = load_file(train_marian(pairs, tmp_path / "run", RECIPE, save_steps=50) / "model.safetensors")
    once = load_file(trained / "model" / "model.safetensors")
    assert once.keys() == again.keys()
    assert all(torch.equal(once[name], again[name]) for name in once)


def test_a_run_that_is_given_more_epochs_goes_on_as_if_it_had_had_them(
    trained: Path, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    long = replace(RECIPE, vocabulary_from=str(trained / "tokenizer"), epochs=20, decay=0.25)
    runs = [tmp_path / "at-once", tmp_path / "in-two"]
    train_marian(pairs, runs[1], replace(long, epochs=15), save_steps=50)
    for later in runs[1].glob("checkpoints/checkpoint-*"):
        if int(later.name.split("-")[1]) > 50:  # the rate has begun to fall
            shutil.rmtree(later)
    once, again = (load_file(train_marian(pairs, run, long, save_steps=50) / "model.safetensors") for run in runs)
    assert all(torch.equal(once[name], again[name]) for name in once)


def test_another_recipe_in_the_same_folder_is_refused(trained: Path, pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(InputError, match="holds another run"):
        train_marian(pairs[:-1], trained, RECIPE)


def test_too_little_text_for_the_vocabulary_is_said(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    said = r"no vocabulary of 4000 ids .*\(at most (\d+)\): give more text or a smaller --vocabulary"
    with pytest.raises(InputError, match=said) as caught:
        train_marian(pairs, tmp_path / "run", MarianRecipe(vocabulary=4000))
    found = re.search(said, str(caught.value))
    assert found is not None
    assert len(build_tokenizer([side for pair in pairs for side in pair], tmp_path / "most", size=int(found[1])))


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (MarianRecipe(vocabulary=4000), "no vocabulary of 4000 ids"),
        (MarianRecipe(start="nowhere"), "holds no MarianMT model"),
        (MarianRecipe(vocabulary_from="nowhere"), "no tokenizer at 'nowhere'"),
    ],
)
def test_what_cannot_be_trained_leaves_no_run_and_replaces_none(
    recipe: MarianRecipe, said: str, pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        train_marian(pairs, tmp_path / "run", recipe)
    assert not (tmp_path / "run").exists()
    (tmp_path / "run" / "model").mkdir(parents=True)
    (tmp_path / "run" / "recipe.json").write_text('{"vocabulary_from": null, "batch_tokens": 1, "text": "0"}')
    with pytest.raises(InputError, match=said):
        train_marian(pairs, tmp_path / "run", recipe, overwrite=True)
    assert (tmp_path / "run" / "model").is_dir()
