from pathlib import Path

import numpy as np
import numpy_reference as reference
import pytest
import torch

from pipelines.console import InputError
from trainers.data.examples import Examples
from trainers.data.rows import Rows
from trainers.encoders.dropout import set_dropout
from trainers.encoders.location import locate
from trainers.losses.relations import jensen_shannon, list_mle, list_net, off_diagonal
from trainers.objectives.rank import PARAMS, PRESETS, Rank, build
from trainers.settings import resolve


def drawn(seed: int) -> torch.Tensor:
    return torch.randn(4, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 3


@pytest.mark.parametrize("name", ["list_net", "list_mle", "jensen_shannon"])
def test_losses_and_their_gradients_equal_the_equations_in_numpy(name: str) -> None:
    made = {"list_net": list_net, "list_mle": list_mle, "jensen_shannon": jensen_shannon}[name]
    student, teacher = drawn(1).requires_grad_(), drawn(2)
    loss = made(student, teacher)
    loss.backward()
    at, other, expected = student.detach().numpy(), teacher.numpy(), getattr(reference, name)
    assert loss.item() == pytest.approx(expected(at, other), abs=1e-9)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 1e-6
        slope = (expected(at + step, other) - expected(at - step, other)) / 2e-6
        assert student.grad[place].item() == pytest.approx(slope, abs=1e-6)


def test_ranking_losses_know_the_teachers_order_and_the_columns_have_none() -> None:
    student, teacher, order = drawn(1), drawn(2), [3, 0, 4, 1, 2]
    for loss in (list_net, list_mle, jensen_shannon):
        torch.testing.assert_close(loss(student[:, order], teacher[:, order]), loss(student, teacher))
    torch.testing.assert_close(list_mle(student, teacher), list_mle(student, 7 * teacher + 1))
    assert list_mle(teacher, teacher) < list_mle(-teacher, teacher)
    assert jensen_shannon(student, student).item() == pytest.approx(0, abs=1e-12)
    torch.testing.assert_close(jensen_shannon(student, teacher), jensen_shannon(teacher, student))


def test_a_sentence_is_not_ranked_against_itself() -> None:
    scores = torch.arange(9.0).view(3, 3)
    assert off_diagonal(scores).tolist() == [[1, 2], [3, 5], [6, 7]]


def objective_of(encoder: Path, teachers: tuple[str, ...], **given: object) -> Rank:
    torch.manual_seed(0)
    own = {"max_tokens": 24, "teacher": teachers, **given}
    _, training, params = resolve(PRESETS, PARAMS, str(own.pop("preset", "listmle")), own)
    objective = build(params, training, locate(str(encoder))).train()
    set_dropout(objective, 0.0)
    return objective


def views(sentences: list[str], order: list[int] | None = None) -> Examples:
    rows = order or list(range(8))
    left, right = sentences[:8], sentences[8:16]
    return Examples([left[row] for row in rows], [left[row] for row in rows], [right[row] for row in rows], 0)


def loss_of(objective: Rank, examples: Examples, folder: Path) -> tuple[dict[str, torch.Tensor], list[np.ndarray]]:
    rows = Rows(objective.columns(examples), seed=1)
    objective.before_training(folder)
    taught = [np.array(vectors, dtype=float) for vectors in objective.taught]
    return objective(**objective.collate([rows[row] for row in range(len(examples))])), taught


@pytest.mark.parametrize("preset", ["listmle", "listnet"])
@pytest.mark.parametrize("shares", [[1.0], [1 / 3, 2 / 3], [0.8, 0.2]])
def test_loss_equals_the_equation_in_numpy(
    preset: str, shares: list[float], tiny_bert: Path, bare_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    teachers = (str(tiny_bert), str(bare_bert))[: len(shares)]
    objective = objective_of(tiny_bert, teachers, preset=preset, first_share=shares[0])
    outputs, taught = loss_of(objective, views(sentences), tmp_path)
    compared = objective.head(outputs["vectors"]).detach().double().numpy()
    expected = reference.rank(compared, taught, shares, preset, 0.05)
    assert outputs["loss"].item() == pytest.approx(expected, rel=1e-5)
    parts = outputs["contrast"] + outputs["consistency"] + outputs["ranking"]
    torch.testing.assert_close(outputs["loss"].detach(), parts)


@pytest.mark.parametrize(
    ("given", "said"), [({}, "field required"), ({"teacher": "abc"}, "should have at most 2 items")]
)
def test_one_teacher_or_two_must_be_given(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=f"--teacher.*: .*{said}"):
        resolve(PRESETS, PARAMS, None, {key: tuple(value) for key, value in given.items()})


@pytest.mark.parametrize("preset", ["listmle", "listnet"])
def test_presets_are_the_papers_settings(preset: str) -> None:
    _, training, params = resolve(PRESETS, PARAMS, preset, {"teacher": ("a", "b")})
    assert (training.lr, training.batch_size, training.max_tokens, training.epochs) == (3e-5, 128, 32, 1)
    assert (params.temperature, params.rank_temperature, params.first_share) == (0.05, 0.05, 1 / 3)
    assert (params.consistency, params.ranking, params.loss, training.pooling) == (1, 1, preset, "cls")
