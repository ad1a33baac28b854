from pathlib import Path

import numpy as np
import pytest
import torch
from objective_cases import batch_of, build, pairs
from sentence_transformers.sentence_transformer.modules import CNN

from pipelines.console import InputError
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import locate
from trainers.objectives.isbert import IsBert

CASES: list[tuple[str, dict[str, object]]] = [("paper", {}), ("code", {})]


def objective_of(encoder: Path, preset: str, **given: object) -> IsBert:
    # Dropout off: what is compared is the arithmetic.
    return build("isbert", encoder, preset, **{"filters": 4, **given}).eval()


def softplus(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


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
            (own if i == j else other).append(softplus(-tokens @ y if i == j else tokens @ y))
    return float(np.concatenate(own).mean() + np.concatenate(other).mean() - 2 * np.log(2))


@pytest.mark.parametrize(
    ("preset", "given"), [*CASES, ("afs", {}), ("code", {"relu": True}), ("paper", {"widths": (7,)})]
)
def test_loss_is_the_estimate_of_equation_two_by_hand(
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


@pytest.mark.parametrize(("preset", "given"), CASES)
def test_batch_of_one_has_nothing_to_learn_and_no_nan(tiny_bert: Path, preset: str, given: dict[str, object]) -> None:
    objective = objective_of(tiny_bert, preset, **given)
    loss = objective(**batch_of(objective, pairs(["a dog"])))["loss"]
    loss.backward()
    assert loss.item() == 0
    assert all(not value.grad.any() for value in objective.parameters() if value.grad is not None)


def test_trained_directory_is_trained_further_with_its_own_cnn(
    tiny_bert: Path, tmp_path: Path, sentences: list[str]
) -> None:
    objective = objective_of(tiny_bert, "paper")
    objective.save(tmp_path / "run", "# card")
    again = objective_of(tmp_path / "run", "paper")
    torch.testing.assert_close(again.encode(sentences[:9]), objective.encode(sentences[:9]))
    assert load_for_training(locate(str(tmp_path / "run")), "mean", 24).get_embedding_dimension() == 12
    for preset, other in (("afs", r"\(3, 5, 7\), 4 filters each, with"), ("code", r"\(1, 3, 5\), 4 filters each, no")):
        with pytest.raises(InputError, match=f"has a CNN, not a CNN of widths {other} ReLU"):
            objective_of(tmp_path / "run", preset)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"widths": (1, 4)}, r"--widths \(1, 4\): a width must be odd"),
        ({"widths": ()}, "--widths"),
        ({"pooling": "cls"}, "--pooling cls: IS-BERT's sentence vector is the mean"),
    ],
)
def test_options_that_cannot_be_used_are_one_line(tiny_bert: Path, given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        objective_of(tiny_bert, "paper", **given)
    assert "\n" not in str(caught.value)
