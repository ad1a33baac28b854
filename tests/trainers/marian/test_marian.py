import json
import shutil
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small_trainings import Capsys, error_line, train
from torch.nn import functional
from transformers import DataCollatorForSeq2Seq, MarianMTModel, MarianTokenizer

from pipelines.terminal.console import InputError, TwinviewsError
from trainers.data.examples import Ragged
from trainers.marian.train import MarianOptions, train_marian
from trainers.marian.translation import ParallelIds, Translation, read_parallel, token_batches
from trainers.training.directory import checkpoints

WORDS = {"dog": "Hund", "cat": "Katze", "bird": "Vogel", "sees": "sieht", "hears": "hoert"}
WORDS |= {"the": "der", "a": "ein", "red": "rote", "small": "kleine"}
GIVEN = {
    "vocabulary": 38, "d_model": 32, "ffn": 64, "encoder_layers": 1, "decoder_layers": 1, "epochs": 30,
    "save_steps": 50, "batch_tokens": 256, "lr": 5e-3, "warmup_steps": 20, "precision": "fp32",
}  # fmt: skip


def trained_in(out: Path, pairs: list[tuple[str, str]], **given: object) -> Path:
    return train_marian(pairs, MarianOptions.model_construct(out=out, **{**GIVEN, **given}))


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    articles, nouns = ("the", "a"), ("dog", "cat", "bird")
    sentences = map(" ".join, product(articles, ("red", "small"), nouns, ("sees", "hears"), articles, nouns))
    return [(f">>de<< {text}", " ".join(WORDS[word] for word in text.split())) for text in sentences]


@pytest.fixture(scope="module")
def trained(pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_in(tmp_path_factory.mktemp("marian") / "run", pairs).parent


def test_the_vocabulary_has_marians_layout_and_the_language_codes_of_the_text(trained: Path) -> None:
    tokenizer = MarianTokenizer.from_pretrained(trained / "model")
    assert len(tokenizer) == 38
    assert tokenizer.convert_tokens_to_ids(["</s>", "<unk>", "<pad>"]) == [0, 1, 37]
    assert tokenizer.tokenize(">>de<< the dog")[0] == ">>de<<"


def test_the_model_has_learnt_to_translate(trained: Path, pairs: list[tuple[str, str]]) -> None:
    tokenizer = MarianTokenizer.from_pretrained(trained / "model")
    model = MarianMTModel.from_pretrained(trained / "model", dtype=torch.float32)
    sample = pairs[::9]
    inputs = tokenizer([source for source, _ in sample], return_tensors="pt", padding=True)
    written = tokenizer.batch_decode(model.generate(**inputs, num_beams=1, max_length=40), skip_special_tokens=True)
    right = sum(text == target for text, (_, target) in zip(written, sample, strict=True))
    assert right >= 0.9 * len(sample)


def weights(model: Path) -> dict[str, torch.Tensor]:
    return load_file(model / "model.safetensors")


def test_resumed_run_equals_the_whole_one(trained: Path, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    shutil.copytree(trained / "tokenizer", tmp_path / "run" / "tokenizer")
    shutil.copy(trained / "recipe.json", tmp_path / "run")
    earliest = checkpoints(trained / "checkpoints")[-1]
    shutil.copytree(earliest, tmp_path / "run" / "checkpoints" / earliest.name)
    torch.testing.assert_close(weights(trained_in(tmp_path / "run", pairs)), weights(trained / "model"), rtol=0, atol=0)


def test_more_epochs_continue_the_run(trained: Path, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    long = {"tokenizer": trained / "tokenizer", "decay": 0.25}
    for epochs in (15, 17):  # the rate falls at the end of each
        trained_in(tmp_path / "in-three", pairs, epochs=epochs, **long)
    once, again = (weights(trained_in(tmp_path / run, pairs, epochs=20, **long)) for run in ("at-once", "in-three"))
    torch.testing.assert_close(again, once, rtol=0, atol=0)
    assert json.loads((tmp_path / "in-three" / "recipe.json").read_text())["epochs"] == 20
    steps = [int(path.name.partition("-")[2]) for path in checkpoints(tmp_path / "in-three" / "checkpoints")]
    assert steps == [200, 150], "the second is the last before the rate falls"


def test_checkpoints_that_do_not_fit_more_epochs_are_not_continued(
    trained: Path, pairs: list[tuple[str, str]], tmp_path: Path, capsys: Capsys
) -> None:
    warmed = {"tokenizer": trained / "tokenizer", "warmup_steps": 1000}  # for a fifth of the steps
    trained_in(tmp_path / "in-two", pairs, epochs=4, **warmed)
    capsys.readouterr()
    once, again = (weights(trained_in(tmp_path / run, pairs, epochs=6, **warmed)) for run in ("at-once", "in-two"))
    torch.testing.assert_close(again, once, rtol=0, atol=0)
    assert "--epochs was 4, is now 6: trains again from step 0" in capsys.readouterr().err


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
def test_mistakes_leave_no_run(given: dict[str, object], said: str, pairs: list[tuple[str, str]]) -> None:
    run = Path("run")
    with pytest.raises(InputError, match=said):
        trained_in(run, pairs, **given)
    assert not run.exists()
    (run / "model").mkdir(parents=True)
    (run / "recipe.json").write_text('{"vocabulary_from": null, "batch_tokens": 1, "text": "0"}')
    with pytest.raises(InputError, match=said):
        trained_in(run, pairs, overwrite=True, **given)
    assert (run / "model").is_dir()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "en-de.tsv"
    words = [f"{a}{b}{c}" for a in "bcdfghjklmnpqrstvwxyz" for b in "aeiou" for c in ("l", "mi", "ru", "ta", "n", "so")]
    lines = [f"The {one} {two}.\tDer {two} {one}!\n" for one, two in zip(words, words[7:], strict=False)]
    path.write_text("".join(lines))
    return path


def test_another_recipe_is_refused_and_overwriting_removes_what_the_run_made_and_nothing_else(
    text: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Path("run")
    small = "--vocabulary 100 --d-model 16 --ffn 16 --heads 2 --encoder-layers 1 --decoder-layers 1 --epochs 1"
    given = ["marian", "--parallel", text, *small.split(), "--precision", "fp32", "--out", out]
    with monkeypatch.context() as patched:
        patched.setenv("WORLD_SIZE", "2")
        assert train(*given) == 2
    assert "train marian trains in one process, not in 2: start it without torchrun" in error_line(capsys)
    assert not out.exists()
    out.mkdir()
    (out / ".recipe.json.1.augment.tmp").write_text("{")  # of a run that was killed before it had a recipe
    assert train(*given) == 0
    (out / "notes.txt").write_text("mine")
    (out / "model" / "stale.txt").write_text("of the run before")
    assert train(*given, "--seed", 2) == 2
    assert "belongs to another recipe (seed was 1, is now 2)" in capsys.readouterr().err
    assert train(*given, "--seed", 2, "--overwrite") == 0
    assert json.loads((out / "recipe.json").read_text())["seed"] == 2
    assert not (out / "model" / "stale.txt").exists()
    assert {path.name for path in out.iterdir()} == {"recipe.json", "notes.txt", "checkpoints", "tokenizer", "model"}


def test_weights_that_are_not_finite_are_not_saved(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    with pytest.raises(TwinviewsError, match=r"weights became NaN or too large for float16: lower --lr \(1e\+30\)"):
        trained_in(tmp_path / "run", pairs, epochs=1, lr=1e30)
    assert not (tmp_path / "run" / "model").exists()


def test_fine_tuning_does_not_overwrite_the_model_that_it_begins_with(
    trained: Path, pairs: list[tuple[str, str]]
) -> None:
    before = weights(trained / "model")
    with pytest.raises(InputError, match="model is needed for this training and would be removed"):
        trained_in(trained, pairs, model=str(trained / "model"), overwrite=True)
    assert before.keys() == weights(trained / "model").keys()


def test_pairs_are_read_with_their_further_fields_ignored(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("A dog.\tEin Hund.\tCC-BY\n\nNo.\t\n Yes. \t Ja. \n", encoding="utf-8-sig")
    assert read_parallel(path) == [("A dog.", "Ein Hund."), ("Yes.", "Ja.")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        (b"", "no sentence pair"),
        (b"a\tb\n\xff\tc\n", "not UTF-8 text: byte 4 is 0xff"),
        (b"a\tb\njust one side\n", "line 2 has no tab"),
    ],
)
def test_bad_parallel_text_is_one_line(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "pairs.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_parallel(path)


@pytest.fixture
def parallel_ids() -> ParallelIds:
    rows = ParallelIds.__new__(ParallelIds)
    rows.sources = Ragged([[7] * (1 + index % 13) for index in range(500)])
    rows.targets = Ragged([[8] * (1 + index % 17) for index in range(500)])
    return rows


def test_every_row_comes_once_an_epoch_within_the_budget_in_an_order_of_the_seed(parallel_ids: ParallelIds) -> None:
    batches = token_batches(parallel_ids, budget=64, epochs=2, seed=3)
    assert Counter(index for batch in batches for index in batch) == {index: 2 for index in range(500)}
    lengths = [len(row) for row in parallel_ids.targets]
    assert all(len(batch) * max(lengths[index] for index in batch) <= 64 for batch in batches)
    assert batches == token_batches(parallel_ids, budget=64, epochs=2, seed=3)
    assert batches != token_batches(parallel_ids, budget=64, epochs=2, seed=4)


def test_the_loss_is_transformers_own_smoothed(trained: Path, parallel_ids: ParallelIds) -> None:
    model = MarianMTModel.from_pretrained(trained / "model", dtype=torch.float32).eval()
    tokenizer = MarianTokenizer.from_pretrained(trained / "model")
    batch = DataCollatorForSeq2Seq(tokenizer)([parallel_ids[row] for row in range(9)])
    batch.pop("decoder_input_ids", None)
    expected = model(**batch)
    torch.testing.assert_close(Translation(model, 0.0)(**batch)["loss"], expected.loss)
    smoothed = functional.cross_entropy(expected.logits.flatten(0, 1), batch["labels"].flatten(), label_smoothing=0.2)
    torch.testing.assert_close(Translation(model, 0.2)(**batch)["loss"], smoothed)
