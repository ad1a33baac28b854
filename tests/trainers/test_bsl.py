import copy
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy_reference as reference
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling
from small_trainings import prepared
from torch import nn

from trainers.data.examples import Columns
from trainers.encoders.location import locate
from trainers.networks.bsl import PREDICTORS, Bsl, chain_mlps
from trainers.objectives.bsl import PARAMS
from trainers.settings import Training


class Linear(nn.Module):
    """A linear "transformer": a token's vector is its row of a table, whatever is around it."""

    tokenizer = SimpleNamespace(pad_token_id=0)

    def __init__(self, words: int, dimension: int) -> None:
        super().__init__()
        self.table = nn.Embedding(words, dimension)

    def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {**features, "token_embeddings": self.table(features["input_ids"])}


class LinearBsl(Bsl):
    """BSL of an encoder that is a table of vectors and their mean."""

    def load_encoder(self) -> None:
        self.encoder = SentenceTransformer(modules=[Linear(12, 4), Pooling(4)], device="cpu")


class HalfBsl(Bsl):
    """BSL of an encoder in half precision."""

    def load_encoder(self) -> None:
        super().load_encoder()
        self.encoder.bfloat16()


def linear_bsl(momentum: float) -> Bsl:
    torch.manual_seed(0)
    return LinearBsl(PARAMS(momentum=momentum, width=2), Training(lr=1, max_tokens=16), locate(None))


def in_numpy(objective: Bsl) -> reference.Bsl:
    def values(name: str, *layers: int) -> list[np.ndarray]:
        return [getattr(objective.predictor[layer], name).detach().double().numpy().copy() for layer in layers]

    table = objective.encoder[0].table.weight.detach().double().numpy().copy()
    linear = values("weight", 0, 3, 6), values("bias", 0, 3, 6)
    norm = values("weight", 1, 4), values("bias", 1, 4)
    return reference.Bsl(table, table.copy(), *linear, *norm, objective.params.momentum)


@pytest.mark.exhaustive_after(1)
@pytest.mark.parametrize("momentum", [0.0, 0.9, 0.999, 1.0])
def test_steps_equal_the_equations_in_numpy(momentum: float) -> None:
    objective = linear_bsl(momentum).train()
    expected = in_numpy(objective)
    optimizer = torch.optim.SGD([p for p in objective.parameters() if p.requires_grad], lr=0.3)
    draw = np.random.default_rng(1)
    for step in range(1, 7):
        left, right = (
            [draw.integers(0, 12, draw.integers(2, 7)).tolist() for _ in range(6)] for _ in range(2)
        )
        batch = objective.collate(Columns((left, right)))
        loss = objective(**batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        objective.after_step(step, 6)
        assert loss.item() == pytest.approx(expected.step(left, right, 0.3), abs=1e-5)
    np.testing.assert_allclose(objective.encoder[0].table.weight.detach(), expected.table, atol=2e-5)
    np.testing.assert_allclose(objective.target[0].table.weight, expected.target, atol=2e-5)
    np.testing.assert_allclose(objective.predictor[3].weight.detach(), expected.w[1], atol=2e-5)


def test_target_and_its_average_stay_float32_if_the_encoder_is_in_half_precision(tiny_bert: Path) -> None:
    settings = Training(lr=1, max_tokens=24)
    objective = HalfBsl(PARAMS(width=2, momentum=0.999), settings, locate(str(tiny_bert)))
    assert {value.dtype for value in objective.target.parameters()} == {torch.float32}
    moved = objective.encoder[0].model.embeddings.word_embeddings.weight
    xi = objective.target[0].model.embeddings.word_embeddings.weight
    before = xi.clone()
    with torch.no_grad():
        moved.add_(0.01)
    objective.after_step(1, 1)
    # In bf16 a step of 1e-5 would be lost.
    torch.testing.assert_close(xi, 0.999 * before + 0.001 * moved.float())
    assert not torch.equal(xi, before)


@pytest.mark.parametrize(
    ("layers", "width", "millions"),
    [
        (PREDICTORS["paper"], 8, 47.2),
        (PREDICTORS["code"], 10, 212.4),
        (([True], 3), 10, 35.5),
        (([False], 3), 10, 35.4),
    ],
)
def test_heads_have_the_published_sizes(
    layers: tuple[Sequence[bool], int], width: int, millions: float
) -> None:
    """For BERT-base: BSL's paper, its authors' repository, and SCT's projector with and without BatchNorm."""
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in chain_mlps(768, 768 * width, *layers).parameters())
    assert round(count / 1e6, 1) == millions


def test_warm_up_fits_the_predictor_to_the_untouched_encoder(tiny_bert: Path, sentences: list[str]) -> None:
    losses = {}
    for steps in (0, 200):
        given = {"dropout": 0.0, "predictor_warmup": steps, "whiten": False}
        objective, rows, _ = prepared("bsl", tiny_bert, sentences, **given)
        before = copy.deepcopy(objective.encoder.state_dict())
        objective.before_first_step(rows)
        torch.testing.assert_close(objective.encoder.state_dict(), before, rtol=0, atol=0)
        assert all(parameter.grad is None for parameter in objective.parameters())
        batch = objective.collate(rows.batch(range(16)))
        losses[steps] = objective(**batch)["loss"].item()
    assert losses[200] < -0.95 < losses[0]
