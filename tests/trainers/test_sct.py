from pathlib import Path

import numpy as np
import numpy_reference as reference
import pytest
import torch
from objective_cases import batch_of, build, pairs
from torch import nn

from trainers.objectives.bsl import chain_mlps
from trainers.objectives.sct import Sct


def objective_of(encoder: Path, **given: object) -> Sct:
    return build("sct", encoder, "paper", width=2, queue=10, **given).train()


@pytest.mark.parametrize("norm", ["batch", "none"])
def test_losses_of_several_batches_equal_the_equation_in_numpy(
    norm: str, tiny_bert: Path, sentences: list[str]
) -> None:
    objective = objective_of(tiny_bert, norm=norm, dropout=0.0)
    queues = [list(queue.vectors.double().numpy()) for queue in (objective.d1, objective.d2)]
    for start in range(0, 24, 6):
        batch = batch_of(objective, pairs(sentences[start : start + 6], sentences[start + 6 : start + 12]))
        vectors = objective.embed(**batch)
        z = objective.projector(vectors).detach().double().numpy()
        r = vectors.detach().double().numpy()
        expected = reference.sct(z, r, queues, 0.05, 0.04)
        outputs = objective(**batch)
        assert outputs["loss"].item() == pytest.approx(expected, rel=2e-6)
        torch.testing.assert_close(outputs["vectors"], vectors)
    for queue, rows in zip((objective.d1, objective.d2), queues, strict=True):
        np.testing.assert_allclose(queue.vectors, np.array(rows), atol=1e-6)


def test_references_get_no_gradient(tiny_bert: Path, sentences: list[str]) -> None:
    """The gradient at the encoder is that of the online branch alone, the references being constants."""
    objective = objective_of(tiny_bert, dropout=0.0, norm="none")
    batch = batch_of(objective, pairs(sentences[:6], sentences[6:12]))
    start = [objective.d1.vectors.clone(), objective.d2.vectors.clone()]
    objective(**batch)["loss"].backward()
    found = {name: value.grad.clone() for name, value in objective.named_parameters() if value.grad is not None}
    assert any(name.startswith("projector.") for name in found)
    objective.zero_grad()
    vectors = objective.embed(**batch)
    r1, r2 = nn.functional.normalize(vectors.detach().clone(), dim=-1).chunk(2)
    z1, z2 = nn.functional.normalize(objective.projector(vectors), dim=-1).chunk(2)
    loss = 0.0
    for z, r, queue in ((z1, r2, start[1]), (z2, r1, start[0])):
        columns = torch.cat([queue, r])
        p, q = (r @ columns.T / 0.04).softmax(1), (z @ columns.T / 0.05).softmax(1)
        loss = loss + (p * (p / q).log()).sum(1).mean() / 2
    loss.backward()
    expected = {name: value.grad for name, value in objective.named_parameters() if value.grad is not None}
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_queues_move_in_training_alone(tiny_bert: Path, sentences: list[str]) -> None:
    objective = objective_of(tiny_bert)
    batch = batch_of(objective, pairs(sentences[:6], sentences[6:12]))
    before = objective.d1.vectors.clone()
    objective.eval()(**batch)
    assert torch.equal(objective.d1.vectors, before)
    objective.train()(**batch)
    assert torch.equal(objective.d1.vectors[:4], before[6:])
    assert not torch.equal(objective.d1.vectors[4:], objective.d2.vectors[4:])


@pytest.mark.parametrize(("norm", "millions"), [("batch", 35.5), ("none", 35.4)])
def test_projector_is_three_mlps_of_one_hidden_layer(norm: str, millions: float) -> None:
    with torch.device("meta"):
        made = chain_mlps(768, 7680, [norm == "batch"], 3)
    assert round(sum(parameter.numel() for parameter in made.parameters()) / 1e6, 1) == millions
    assert sum(isinstance(module, nn.ReLU) for module in made.modules()) == 3
