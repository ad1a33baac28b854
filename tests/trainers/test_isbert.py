"""IS-BERT and fine-tuning on grades after it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.modules import CNN
from small_trainings import batch_of, build, pairs, train

from pipelines.base.console import InputError
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import locate
from trainers.encoders.modules import parts_of
from trainers.networks.isbert import IsBert


def objective_of(encoder: Path, preset: str, **given: object) -> IsBert:
    # Dropout off: what is compared is the arithmetic.
    return build("isbert", encoder, preset, **{"filters": 4, **given}).eval()


def convolved(tokens: np.ndarray, cnn: CNN, *, relu: bool) -> np.ndarray:
    """Eq. 1 by hand: one sentence's token vectors (l, d), zeros outside it."""
    parts = []
    for layer, width in zip(cnn.convs, cnn.kernel_sizes, strict=True):
        w, b = (value.detach().double().numpy() for value in (layer.weight, layer.bias))
        around = np.pad(tokens, ((width // 2, width // 2), (0, 0)))
        c = [np.einsum("odk,kd->o", w, around[i : i + width]) + b for i in range(len(tokens))]
        parts.append(np.maximum(c, 0) if relu else np.array(c))
    return np.concatenate(parts, axis=1)


def shortcut(x: np.ndarray, state: dict[str, np.ndarray], name: str) -> np.ndarray:
    y = x
    for layer in (0, 2, 4):
        y = np.maximum(y @ state[f"{name}.layers.{layer}.weight"].T + state[f"{name}.layers.{layer}.bias"], 0)
    return y + x @ state[f"{name}.shortcut.weight"].T + state[f"{name}.shortcut.bias"]


def jensen_shannon(local: list[np.ndarray], objective: IsBert) -> float:
    """Minus Eq. 2 as a double loop over sentences; `local` are their tokens' vectors."""
    whole = [tokens.mean(axis=0) for tokens in local]
    if objective.params.discriminator == "learned":
        state = {name: value.double().numpy() for name, value in objective.state_dict().items()}
        local = [shortcut(tokens, state, "local") for tokens in local]
        whole = [shortcut(vector[None], state, "whole")[0] for vector in whole]
    own, other = [], []
    for i, y in enumerate(whole):
        for j, tokens in enumerate(local):
            (own if i == j else other).append(np.logaddexp(0, -tokens @ y if i == j else tokens @ y))
    return float(np.concatenate(own).mean() + np.concatenate(other).mean() - 2 * np.log(2))


@pytest.mark.parametrize(
    ("preset", "given"),
    [("paper", {}), ("code", {}), ("afs", {}), ("code", {"relu": True}), ("paper", {"widths": (7,)})],
)
def test_loss_is_that_of_equation_two(
    tiny_bert: Path, sentences: list[str], preset: str, given: dict[str, object]
) -> None:
    objective = objective_of(tiny_bert, preset, **given)
    encoder = objective.encoder
    local = []
    for text in sentences[:20]:
        alone = objective.pad([objective.tokenize([text])[0]])
        tokens = encoder[0](alone)["token_embeddings"][0].detach().double().numpy()
        local.append(convolved(tokens, encoder[2], relu=objective.params.relu))
    outputs = objective(**batch_of(objective, pairs(sentences[:20])))
    assert outputs["loss"].item() == pytest.approx(jensen_shannon(local, objective), abs=1e-5)
    np.testing.assert_allclose(outputs["vectors"], [tokens.mean(axis=0) for tokens in local], atol=1e-5)


@pytest.mark.parametrize("preset", ["paper", "code"])
def test_batch_of_one_has_no_loss_and_no_nan(tiny_bert: Path, preset: str) -> None:
    objective = objective_of(tiny_bert, preset)
    loss = objective(**batch_of(objective, pairs(["a dog"])))["loss"]
    loss.backward()
    assert loss.item() == 0
    assert all(not value.grad.any() for value in objective.parameters() if value.grad is not None)


def test_training_continues_with_the_run_s_own_cnn(
    tiny_bert: Path, tmp_path: Path, sentences: list[str]
) -> None:
    objective = objective_of(tiny_bert, "paper")
    objective.save(tmp_path / "run", "# card")
    again = objective_of(tmp_path / "run", "paper")
    torch.testing.assert_close(again.encode(sentences[:9]), objective.encode(sentences[:9]))
    assert load_for_training(locate(str(tmp_path / "run")), "mean", 24).get_embedding_dimension() == 12
    for preset, other in (
        ("afs", r"\(3, 5, 7\), 4 filters each, with"),
        ("code", r"\(1, 3, 5\), 4 filters each, no"),
    ):
        with pytest.raises(InputError, match=f"has a CNN, not a CNN of widths {other} ReLU"):
            objective_of(tmp_path / "run", preset)


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


def test_fine_tuning_trains_isberts_cnn(
    tiny_bert: Path, tmp_path: Path, text_file: Path, sentences: list[str]
) -> None:
    small: list[object] = ["--max-tokens", "24", "--batch-size", "8", "--precision", "fp32", "--lr", "1e-3"]
    ssl, tuned, pairs = tmp_path / "isbert", tmp_path / "regression", tmp_path / "graded.tsv"
    rows = [f"{row / 8}\t{sentences[row]}\t{sentences[8 + row]}" for row in range(8)]
    pairs.write_text("score\tsentence1\tsentence2\n" + "\n".join(rows) + "\n", encoding="utf-8")
    cnn = ["--filters", 4, "--widths", 3, "--widths", 7]
    given = ["--preset", "paper", "--text", text_file, "--encoder", tiny_bert, "--out", ssl]
    assert train("isbert", *given, *cnn, *small) == 0
    assert json.loads((ssl / "recipe.json").read_text())["widths"] == [3, 7]
    assert train("regression", "--graded", pairs, "--encoder", ssl, "--out", tuned, *small) == 0
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
