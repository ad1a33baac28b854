from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from objective_cases import batch_of, build, pairs

from pipelines.console import InputError, call
from trainers.cli import app
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import locate
from trainers.encoders.modules import parts_of


def test_loss_is_the_squared_error_of_the_cosines(tiny_bert: Path, sentences: list[str]) -> None:
    objective = build("regression", tiny_bert).eval()
    examples = replace(pairs(sentences[:8], sentences[8:16]), labels=[row / 8 for row in range(8)])
    left, right = (objective.encode(side).double().numpy() for side in (examples.left, examples.right))
    cosines = (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    expected = ((cosines - np.array(examples.labels)) ** 2).mean()
    outputs = objective(**batch_of(objective, examples))
    assert outputs["loss"].item() == pytest.approx(expected, abs=1e-6)
    assert outputs["vectors"].shape == (16, 16)
    turned = objective(**batch_of(objective, examples, list(range(7, -1, -1))))
    assert turned["loss"].item() == pytest.approx(expected, abs=1e-6)


def test_fine_tuning_after_isbert_keeps_and_trains_its_cnn(
    tiny_bert: Path, tmp_path: Path, text_file: Path, sentences: list[str]
) -> None:
    small = ["--max-tokens", "24", "--batch-size", "8", "--precision", "fp32", "--lr", "1e-3"]
    ssl, tuned, pairs = tmp_path / "isbert", tmp_path / "regression", tmp_path / "graded.tsv"
    rows = [f"{row / 8}\t{sentences[row]}\t{sentences[8 + row]}" for row in range(8)]
    pairs.write_text("score\tsentence1\tsentence2\n" + "\n".join(rows) + "\n", encoding="utf-8")
    trained = ["isbert", "--preset", "paper", "--text", str(text_file), "--encoder", str(tiny_bert), "--filters", "4"]
    assert call(app, [*trained, *small, "--out", str(ssl)]) == 0
    assert call(app, ["regression", "--graded", str(pairs), "--encoder", str(ssl), "--out", str(tuned), *small]) == 0
    before, after = (load_for_training(locate(str(path)), "mean", 24) for path in (ssl, tuned))
    assert [parts_of(encoder, "it")["relu"] for encoder in (before, after)] == [True, True]
    convolutions = zip(before[2].parameters(), after[2].parameters(), strict=True)
    moved = [(old - new).abs().max() for old, new in convolutions]
    assert min(moved) > 1e-4


def test_fresh_cnn_without_training_before_is_a_preset(tiny_bert: Path) -> None:
    objective = build("regression", tiny_bert, "isbert-ft")
    assert objective.dimension == 768
    with pytest.raises(InputError, match="--pooling first-last is for a bare transformer"):
        build("regression", tiny_bert, "isbert-ft", pooling="first-last")
