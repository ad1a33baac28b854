"""The recipe that trains translation models: one small model, which learns, resumes and can be fine-tuned."""

import shutil
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import DataCollatorForSeq2Seq, MarianMTModel, MarianTokenizer

from augment.translate.marian import MarianTranslator
from recipes.starter_train import ParallelIds, Translation, main, token_batches

pytestmark = pytest.mark.exhaustive

WORDS = {"dog": "Hund", "cat": "Katze", "bird": "Vogel", "sees": "sieht", "hears": "hoert"}
WORDS |= {"the": "der", "a": "ein", "red": "rote", "small": "kleine"}
ARTICLES, NOUNS = ("the", "a"), ("dog", "cat", "bird")
SENTENCES = [*map(" ".join, product(ARTICLES, ("red", "small"), NOUNS, ("sees", "hears"), ARTICLES, NOUNS))]
PAIRS = [(text, " ".join(WORDS[word] for word in text.split())) for text in SENTENCES]
SHAPE = {
    "vocabulary": 38,
    "d-model": 32,
    "ffn": 64,
    "encoder-layers": 1,
    "decoder-layers": 1,
    "precision": "fp32",
}
LENGTH = {"epochs": 30, "save-steps": 50, "batch-tokens": 256, "lr": 5e-3, "warmup-steps": 20}
SMALL = [word for name, value in (SHAPE | LENGTH).items() for word in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with parallel text and the run that was trained on it."""
    folder = tmp_path_factory.mktemp("starter")
    lines = (f">>de<< {source}\t{target}\n" for source, target in PAIRS)
    (folder / "en-de.tsv").write_text("".join(lines), encoding="utf-8")
    run(folder, "run", SMALL)
    return folder


def run(folder: Path, out: str, options: Sequence[str]) -> dict[str, torch.Tensor]:
    main(["--parallel", str(folder / "en-de.tsv"), "--out", str(folder / out), *options])
    return load_file(folder / out / "model" / "model.safetensors")


def test_the_model_translates_as_the_views_use_it(trained: Path) -> None:
    tokenizer = MarianTokenizer.from_pretrained(trained / "run" / "model")
    assert tokenizer.convert_tokens_to_ids(["</s>", "<unk>", "<pad>"]) == [0, 1, 37]
    translator = MarianTranslator(trained / "run" / "model", prefix=">>de<<", precision="fp32")
    written = [found.text for found in translator.translate([source for source, _ in PAIRS[::9]])]
    assert sum(text == target for text, (_, target) in zip(written, PAIRS[::9], strict=True)) >= 0.9 * len(
        written
    )


def test_a_resumed_run_equals_the_whole_one_and_other_options_are_refused(trained: Path) -> None:
    whole = load_file(trained / "run" / "model" / "model.safetensors")
    earliest = min(
        (trained / "run" / "checkpoints").iterdir(), key=lambda path: int(path.name.partition("-")[2])
    )
    shutil.copytree(earliest, trained / "broken" / "checkpoints" / earliest.name)
    torch.testing.assert_close(run(trained, "broken", SMALL), whole, rtol=0, atol=0)
    with pytest.raises(SystemExit, match="belongs to other options"):
        run(trained, "broken", [*SMALL, "--seed", "2"])


def test_fine_tuning_begins_with_the_model_and_what_is_not_finite_is_not_saved(trained: Path) -> None:
    start, model = load_file(trained / "run" / "model" / "model.safetensors"), str(trained / "run" / "model")
    same = run(trained, "same", ["--model", model, "--epochs", "0.1", "--lr", "0", "--precision", "fp32"])
    torch.testing.assert_close(same, start, rtol=0, atol=0)
    with pytest.raises(SystemExit, match="the weights became NaN or too large for float16"):
        run(trained, "wild", ["--model", model, "--epochs", "1", "--lr", "1e30", "--precision", "fp32"])
    assert not (trained / "wild" / "model").exists()


def test_loss_is_the_whole_model_s_own_and_batches_hold_every_row_once_an_epoch(trained: Path) -> None:
    model = MarianMTModel.from_pretrained(trained / "run" / "model", dtype=torch.float32).eval()
    tokenizer = MarianTokenizer.from_pretrained(trained / "run" / "model")
    rows = ParallelIds(PAIRS, tokenizer, 12)
    batches = token_batches(rows, budget=100, epochs=2, seed=1)
    assert sorted(row for batch in batches for row in batch) == sorted([*range(len(PAIRS))] * 2)
    assert all(len(batch) * max(rows.targets.lengths[batch]) <= 100 for batch in batches)
    batch = DataCollatorForSeq2Seq(tokenizer)([rows[row] for row in batches[0]])
    batch = {key: batch[key] for key in ("input_ids", "attention_mask", "labels")}
    logits = model(**batch).logits.flatten(0, 1)
    expected = torch.nn.functional.cross_entropy(logits, batch["labels"].flatten(), label_smoothing=0.1)
    torch.testing.assert_close(Translation(model, 0.1)(**batch)["loss"], expected)
