"""The losses that objectives share and the geometry of vectors, against their equations in NumPy and invariances."""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy_reference as reference
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from trainers import losses
from trainers.losses import MARGIN, MOST, contrast, geometry, jensen_shannon, list_mle, multi_similarity, relation_loss
from trainers.training.fit import collapse


def drawn(rows: int, seed: int) -> Tensor:
    return 3 * torch.randn(rows, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def units(rows: int, seed: int) -> Tensor:
    return functional.normalize(drawn(rows, seed), dim=-1)


TEMPERATURES = [(0.05, 0.04), (0.07, 0.05), (1.0, 0.5)]
LOSSES: list[tuple[Callable[..., Tensor], Callable[..., float], tuple[Tensor, ...], dict[str, object]]] = [
    (made, getattr(reference, made.__name__), (drawn(4, 1), drawn(4, 2)), {}) for made in (list_mle, jensen_shannon)
]
RELATED = (units(4, 1), units(4, 2), units(9, 3))
for t, t_ref in TEMPERATURES:
    made = partial(relation_loss, student_temperature=t, reference_temperature=t_ref)
    expected = partial(reference.relation_loss, t=t, t_ref=t_ref)
    LOSSES += [(made, expected, RELATED, {"divergence": divergence}) for divergence in (True, False)]


@pytest.mark.parametrize(("made", "equation", "given", "options"), LOSSES)
def test_loss_and_its_gradient_equal_the_equation_in_numpy(
    made: Callable[..., Tensor], equation: Callable[..., float], given: tuple[Tensor, ...], options: dict[str, object]
) -> None:
    student, others = given[0].clone().requires_grad_(), given[1:]
    loss = made(student, *others, **options)
    loss.backward()
    arrays = [each.double().numpy().copy() for each in given]
    expected = partial(equation, *arrays, **options)
    assert loss.item() == pytest.approx(expected(), abs=1e-9)
    np.testing.assert_allclose(student.grad, reference.gradient(expected, arrays[0]), atol=1e-6)


def test_divergence_is_none_where_both_see_the_same_and_does_not_depend_on_the_columns_order() -> None:
    z, r, columns = units(4, 1), units(4, 2), units(9, 3)
    assert relation_loss(z, z, columns, 0.05, 0.05).item() == pytest.approx(0, abs=1e-12)
    loss = relation_loss(z, r, columns, 0.05, 0.04)
    torch.testing.assert_close(relation_loss(z, r, columns.flip(0), 0.05, 0.04), loss)
    torch.testing.assert_close(relation_loss(z.flip(0), r.flip(0), columns, 0.05, 0.04), loss)


def test_ranking_losses_know_the_teachers_order_and_the_columns_have_none() -> None:
    student, teacher, order = drawn(4, 1), drawn(4, 2), [3, 0, 4, 1, 2]
    for loss in (list_mle, jensen_shannon):
        torch.testing.assert_close(loss(student[:, order], teacher[:, order]), loss(student, teacher))
    torch.testing.assert_close(list_mle(student, teacher), list_mle(student, 7 * teacher + 1))
    assert list_mle(teacher, teacher) < list_mle(-teacher, teacher)
    assert jensen_shannon(student, student).item() == pytest.approx(0, abs=1e-12)
    torch.testing.assert_close(jensen_shannon(student, teacher), jensen_shannon(teacher, student))


def twins(count: int, dimension: int, noise: float) -> Tensor:
    draw = torch.Generator().manual_seed(1)
    left = torch.randn(count, dimension, generator=draw, dtype=torch.float64)
    right = left + noise * torch.randn(count, dimension, generator=draw, dtype=torch.float64)
    return torch.cat([left, right]).float()


def by_loops(vectors: np.ndarray, excluded: Tensor | None = None) -> float:
    """Miner and loss as loops: triplets with `d_an - d_ap <= margin`, then Eq. 15 of Wang et al. 2019."""
    count, unit, total = len(vectors), reference.unit(vectors), 0.0
    for i in range(count):
        p = (i + count // 2) % count
        allowed = [j for j in range(count) if j not in (i, p) and not (excluded is not None and excluded[i, j])]
        farthest = np.linalg.norm(unit[i] - unit[p]) + MARGIN
        negatives = [j for j in allowed if np.linalg.norm(unit[i] - unit[j]) <= farthest]
        if negatives:
            total += np.log(1 + np.exp(-losses.ALPHA * (unit[i] @ unit[p] - losses.BASE))) / losses.ALPHA
            pushes = sum(np.exp(losses.BETA * (unit[i] @ unit[j] - losses.BASE)) for j in negatives)
            total += np.log(1 + pushes) / losses.BETA
    return total / count


@pytest.mark.parametrize(("dimension", "noise"), [(3, 0.5), (6, 0.8), (8, 0.6)])
def test_multi_similarity_equals_the_loops_in_numpy(dimension: int, noise: float) -> None:
    vectors = twins(12, dimension, noise)
    excluded = torch.zeros(24, 24, dtype=torch.bool)
    excluded[[0, 5, 3], [5, 0, 9]] = True
    for left_out in (None, excluded):
        expected = by_loops(vectors.double().numpy(), left_out)
        assert expected > 0
        assert multi_similarity(vectors, left_out).item() == pytest.approx(expected, rel=1e-4)
    assert multi_similarity(vectors, ~torch.zeros_like(excluded)).item() == 0


def test_far_negatives_are_not_mined_and_cost_nothing() -> None:
    axes = torch.eye(6).repeat(2, 1).requires_grad_()
    loss = multi_similarity(axes)
    loss.backward()
    assert loss.item() == 0
    assert axes.grad is not None
    assert not axes.grad.any()
    assert multi_similarity(axes.detach() + 10).item() > 0


@pytest.mark.parametrize("loss", [partial(contrast, temperature=0.1), multi_similarity])
def test_contrast_ignores_sides_order_length_and_autocast(loss: Callable[[Tensor], Tensor]) -> None:
    left, right = twins(9, 4, 0.6).chunk(2)
    plain = loss(torch.cat([left, right]))
    order = torch.tensor([3, 6, 0, 1, 5, 2, 8, 7, 4])
    torch.testing.assert_close(loss(torch.cat([right, left])), plain)
    torch.testing.assert_close(loss(torch.cat([left[order], right[order]])), plain)
    torch.testing.assert_close(loss(torch.cat([3 * left, 0.5 * right])), plain)
    assert not torch.isclose(loss(torch.cat([left[order], right])), plain)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert loss(torch.cat([left, right])).item() == plain.item()


def plain(vectors: np.ndarray, *, paired: bool) -> dict[str, float]:
    """The definitions, pair by pair."""
    count, half = len(vectors), len(vectors) // 2
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    apart = [(i, j) for i in range(count) for j in range(count) if i != j and not (paired and abs(i - j) == half)]
    found = {
        "spread": np.sqrt(1 - np.linalg.norm(unit.mean(axis=0)) ** 2),
        "uniformity": np.log(np.mean([np.exp(-2 * np.sum((unit[i] - unit[j]) ** 2)) for i, j in apart])),
        "random_cosine": np.mean([unit[i] @ unit[j] for i, j in apart]),
    }
    if paired:
        found["alignment"] = np.mean([np.sum((unit[i] - unit[half + i]) ** 2) for i in range(half)])
    _, eigenvectors = np.linalg.eigh(unit.T @ unit)
    sums = [sum(np.exp(sign * c @ v) for v in unit) for c in eigenvectors.T for sign in (1, -1)]
    found["isotropy"] = min(sums) / max(sums)
    return found


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("shape", [(24, 6), (8, 20), (6, 6)], ids=["more rows", "more dimensions", "square"])
def test_geometry_is_what_its_definitions_say(shape: tuple[int, int], paired: bool) -> None:
    vectors = np.random.default_rng(1).normal(loc=0.4, size=shape)
    found = geometry(torch.tensor(vectors, dtype=torch.float32), paired=paired)
    expected = plain(vectors, paired=paired)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].item() == pytest.approx(value, abs=2e-5), name


def test_of_a_large_batch_both_views_of_the_first_pairs_are_looked_at() -> None:
    generator = torch.Generator().manual_seed(0)
    first, second = torch.randn(MOST + 50, 4, generator=generator), torch.randn(MOST + 50, 4, generator=generator)
    some = geometry(torch.cat([first[:MOST], second[:MOST]]), paired=True)
    found = geometry(torch.cat([first, second]), paired=True)
    assert found.pop("spread") == losses.spread(torch.cat([first, second])) != some.pop("spread")
    assert found == some


@pytest.mark.parametrize(
    ("entry", "start", "said"),
    [
        ({"spread": 0.049}, None, "spread 0.049"),
        ({"spread": 0.051}, None, None),
        ({"dev": 59.9}, 65.0, "dev score 59.90, before the training it was 65.00"),
        ({"dev": 60.1}, 65.0, None),
        ({"dev": 1.0}, None, None),
        ({"spread": 0.5, "loss": 1.0}, 65.0, None),
    ],
)
def test_collapse_is_a_spread_near_zero_or_a_score_clearly_below_the_start(
    entry: dict[str, float], start: float | None, said: str | None
) -> None:
    found = collapse(entry, start)
    assert found is None if said is None else said in (found or "")
