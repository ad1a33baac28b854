import random
from pathlib import Path

import numpy as np
import pytest
import torch
from objective_cases import prepared

from pipelines.console import TwinviewsError
from trainers.catalogue import objective_names
from trainers.data.rows import Rows
from trainers.objective import Objective
from trainers.training.checks import check


def look(objective: Objective, rows: Rows, count: int = 8) -> tuple[list[str], list[str]]:
    return check(objective, [rows[row] for row in range(count)])


@pytest.mark.parametrize("name", objective_names())
def test_sound_objective_raises_nothing_and_is_left_untouched(
    name: str, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    objective, rows, _ = prepared(name, tiny_bert, sentences)
    objective.before_training(tmp_path)
    objective.eval()
    before = {key: value.clone() for key, value in objective.state_dict().items()}
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)
    expected = random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)
    findings = look(objective, rows)
    assert (random.random(), np.random.rand(), torch.rand(1).item()) == expected  # noqa: NPY002
    assert findings == ([], [])
    assert not objective.training
    assert all(parameter.grad is None for parameter in objective.parameters())
    after = objective.state_dict()
    assert [key for key in before if not torch.equal(before[key], after[key])] == []


def test_loss_that_does_not_come_from_the_encoder_is_refused(tiny_bert: Path, sentences: list[str]) -> None:
    objective, rows, _ = prepared("bsl", tiny_bert, sentences)
    embed = objective.embed
    objective.embed = lambda *batch: embed(*batch).detach()  # type: ignore[method-assign]
    with pytest.raises(TwinviewsError, match="no gradient of Bsl reaches the encoder"):
        look(objective, rows)


def test_parameter_without_gradient_is_named(tiny_bert: Path, sentences: list[str]) -> None:
    objective, rows, _ = prepared("mirror", tiny_bert, sentences)
    embeddings = objective.encoder[0].model.embeddings
    forward = embeddings.forward
    embeddings.forward = lambda *given, **named: forward(*given, **named).detach()
    assert "encoder.0.model.embeddings.word_embeddings.weight" in look(objective, rows)[0]


@pytest.mark.parametrize(
    ("preset", "warned"), [("sentence", False), ("no-dropout", False), ("no-mask", False), ("neither", True)]
)
def test_views_that_nothing_tells_apart_are_said(
    preset: str, warned: bool, tiny_bert: Path, sentences: list[str]
) -> None:
    from trainers.catalogue import load_objective

    values = load_objective("mirror").PRESETS[preset]
    given = {key: values[key] for key in ("dropout", "span") if key in values}
    objective, rows, _ = prepared("mirror", tiny_bert, sentences, **given)
    warnings = look(objective, rows)[1]
    assert any("both views of every sentence are the same" in line for line in warnings) is warned
    assert len(warnings) == warned
