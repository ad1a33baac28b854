from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy_reference as reference
import pytest
import torch
from torch import nn

from trainers.encoder import Encoder
from trainers.examples import Examples
from trainers.objectives.bsl import PARAMS, Bsl, code_predictor, negative_cosine, paper_predictor
from trainers.pretrained import load_encoder, locate


class Linear(nn.Module):
    """A linear "transformer": a token's vector is its row of a table, whatever stands around it."""

    def __init__(self, words: int, dimension: int) -> None:
        super().__init__()
        self.config = SimpleNamespace(hidden_size=dimension, vocab_size=words, max_position_embeddings=32)
        self.table = nn.Embedding(words, dimension)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(last_hidden_state=self.table(input_ids))


def linear_bsl(momentum: float) -> Bsl:
    torch.manual_seed(0)
    tokenizer = SimpleNamespace(model_max_length=32, pad_token_id=0)
    return Bsl(Encoder(Linear(12, 4), tokenizer, "mean", 16), PARAMS(momentum=momentum, width=2))


def in_numpy(objective: Bsl) -> reference.Bsl:
    layers = {index: objective.predictor[index] for index in (0, 1, 3, 4, 6)}
    values = {
        (index, name): getattr(layer, name).detach().double().numpy().copy()
        for index, layer in layers.items()
        for name in ("weight", "bias")
    }
    predictor = reference.Predictor(
        w=[values[index, "weight"] for index in (0, 3, 6)],
        b=[values[index, "bias"] for index in (0, 3, 6)],
        gamma=[values[index, "weight"] for index in (1, 4)],
        beta=[values[index, "bias"] for index in (1, 4)],
    )
    table = objective.encoder.model.table.weight.detach().double().numpy().copy()
    return reference.Bsl(table, table.copy(), predictor, objective.params.momentum)


@pytest.mark.parametrize("momentum", [0.0, 0.9, 0.999, 1.0])
def test_steps_equal_the_equations_in_numpy(momentum: float) -> None:
    objective = linear_bsl(momentum).train()
    expected = in_numpy(objective)
    optimizer = torch.optim.SGD([p for p in objective.parameters() if p.requires_grad], lr=0.3)
    draw = np.random.default_rng(1)
    for step in range(1, 7):
        left, right = ([draw.integers(0, 12, draw.integers(2, 7)).tolist() for _ in range(6)] for _ in range(2))
        batch = objective.collate([{"left": a, "right": b} for a, b in zip(left, right, strict=True)])
        loss = objective(**batch)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        objective.after_step(step, 6)
        assert loss.item() == pytest.approx(expected.step(left, right, 0.3), abs=1e-5)
    np.testing.assert_allclose(objective.encoder.model.table.weight.detach(), expected.table, atol=2e-5)
    np.testing.assert_allclose(objective.target.model.table.weight, expected.target, atol=2e-5)
    np.testing.assert_allclose(objective.predictor[3].weight.detach(), expected.predictor.w[1], atol=2e-5)


@pytest.fixture
def bert_bsl(tiny_bert: Path) -> Bsl:
    torch.manual_seed(0)
    return Bsl(load_encoder(locate(str(tiny_bert)), pooling="mean", max_tokens=24), PARAMS(width=2))


def pairs(sentences: list[str]) -> Examples:
    return Examples(sentences[:8], sentences[:8], sentences[8:16], 0)


def batch_of(objective: Bsl, examples: Examples, order: list[int]) -> dict[str, torch.Tensor]:
    columns = objective.columns(examples)
    return objective.collate([{name: column[row] for name, column in columns.items()} for row in order])


def test_loss_is_the_same_for_swapped_views_and_permuted_rows(bert_bsl: Bsl, sentences: list[str]) -> None:
    examples = pairs(sentences)
    swapped = Examples(examples.texts, examples.right, examples.left, 0)
    bert_bsl.eval()
    bert_bsl.predictor.train()
    plain = bert_bsl(**batch_of(bert_bsl, examples, list(range(8))))["loss"]
    others = [
        bert_bsl(**batch_of(bert_bsl, swapped, list(range(8))))["loss"],
        bert_bsl(**batch_of(bert_bsl, examples, [3, 1, 7, 0, 2, 6, 4, 5]))["loss"],
    ]
    assert others[0].item() == pytest.approx(plain.item(), abs=1e-5)
    assert others[1].item() == pytest.approx(plain.item(), abs=1e-5)
    mismatched = Examples(examples.texts, examples.left, examples.left[::-1], 0)
    assert abs(bert_bsl(**batch_of(bert_bsl, mismatched, list(range(8))))["loss"].item() - plain.item()) > 1e-4


def test_cosine_ignores_length() -> None:
    z, h = torch.randn(5, 3), torch.randn(5, 3)
    torch.testing.assert_close(negative_cosine(3 * z, 0.1 * h), negative_cosine(z, h))


def test_target_gets_no_gradient_and_the_rest_does(bert_bsl: Bsl, sentences: list[str]) -> None:
    bert_bsl.train()
    bert_bsl(**batch_of(bert_bsl, pairs(sentences), list(range(8))))["loss"].backward()
    assert all(parameter.grad is None for parameter in bert_bsl.target.parameters())
    layer = bert_bsl.encoder.model.encoder.layer[0].attention.self.query.weight
    assert layer.grad is not None
    assert layer.grad.abs().sum() > 0
    assert all(parameter.grad is not None for parameter in bert_bsl.predictor.parameters())


def test_target_moves_by_the_moving_average_of_every_parameter(bert_bsl: Bsl) -> None:
    before = {name: value.clone() for name, value in bert_bsl.target.named_parameters()}
    with torch.no_grad():
        for parameter in bert_bsl.encoder.parameters():
            parameter.add_(torch.randn_like(parameter))
    bert_bsl.after_step(1, 1)
    online = dict(bert_bsl.encoder.named_parameters())
    for name, value in bert_bsl.target.named_parameters():
        torch.testing.assert_close(value, 0.999 * before[name] + 0.001 * online[name])


@pytest.mark.parametrize("dropout", [True, False])
def test_target_dropout_is_on_or_off(tiny_bert: Path, dropout: bool) -> None:
    encoder = load_encoder(locate(str(tiny_bert)), pooling="mean", max_tokens=24)
    objective = Bsl(encoder, PARAMS(width=2, target_dropout=dropout)).train()
    ids = objective.encoder.pad([[2, 70, 71, 72, 3]])
    one, two = objective.target(**ids), objective.target(**ids)
    assert torch.equal(one, two) is not dropout
    assert objective.encoder.training


def test_squared_distance_is_four_times_the_cosine_loss_plus_four(bert_bsl: Bsl, sentences: list[str]) -> None:
    bert_bsl.eval()
    batch = batch_of(bert_bsl, pairs(sentences), list(range(8)))
    plain = bert_bsl(**batch)["loss"]
    bert_bsl.params = PARAMS(width=2, distance="squared")
    torch.testing.assert_close(bert_bsl(**batch)["loss"], 4 * plain + 4)


@pytest.mark.parametrize(
    ("predictor", "width", "millions"),
    [(paper_predictor, 8, 47.2), (code_predictor, 10, 212.4)],
)
def test_predictors_have_the_published_sizes(predictor: object, width: int, millions: float) -> None:
    """For BERT-base: 47.2M as printed, 212.4M as in the authors' repository."""
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in predictor(768, width).parameters())
    assert round(count / 1e6, 1) == millions
