"""The losses that objectives share and the geometry of vectors, against their equations in NumPy and invariances."""

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
import numpy_reference as reference
import pytest
import torch
from pytorch_metric_learning.losses import MultiSimilarityLoss, NTXentLoss, SupConLoss
from pytorch_metric_learning.miners import TripletMarginMiner
from torch import Tensor
from torch.nn import functional

from trainers import losses
from trainers.losses import (
    MARGIN,
    MAX_MEASURED,
    contrast,
    equal_strings,
    geometry,
    multi_similarity,
    relation_loss,
    same_label,
)


def drawn(rows: int, seed: int) -> Tensor:
    return 3 * torch.randn(rows, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def units(rows: int, seed: int) -> Tensor:
    return functional.normalize(drawn(rows, seed), dim=-1)


TEMPERATURES = [(0.05, 0.04), (0.07, 0.05), (1.0, 0.5)]
LOSSES: list[tuple[Callable[..., Tensor], Callable[..., float], tuple[Tensor, ...], dict[str, object]]] = []
RELATED = (units(4, 1), units(4, 2), units(9, 3))
for t, t_ref in TEMPERATURES:
    made = partial(relation_loss, student_temperature=t, reference_temperature=t_ref)
    expected = partial(reference.relation_loss, t=t, t_ref=t_ref)
    LOSSES += [(made, expected, RELATED, {"divergence": divergence}) for divergence in (True, False)]


@pytest.mark.parametrize(("made", "equation", "given", "options"), LOSSES)
def test_loss_and_its_gradient_equal_the_equation_in_numpy(
    made: Callable[..., Tensor],
    equation: Callable[..., float],
    given: tuple[Tensor, ...],
    options: dict[str, object],
) -> None:
    student, others = given[0].clone().requires_grad_(), given[1:]
    loss = made(student, *others, **options)
    loss.backward()
    arrays = [each.double().numpy().copy() for each in given]
    expected = partial(equation, *arrays, **options)
    assert loss.item() == pytest.approx(expected(), abs=1e-9)
    np.testing.assert_allclose(student.grad, reference.gradient(expected, arrays[0]), atol=1e-6)


def twins(count: int, dimension: int, noise: float) -> Tensor:
    draw = torch.Generator().manual_seed(1)
    left = torch.randn(count, dimension, generator=draw, dtype=torch.float64)
    right = left + noise * torch.randn(count, dimension, generator=draw, dtype=torch.float64)
    return torch.cat([left, right]).float()


@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_contrast_and_its_gradient_equal_another_library_s(temperature: float) -> None:
    vectors, labels = twins(9, 6, 0.8).requires_grad_(), torch.arange(9).repeat(2)
    expected = NTXentLoss(temperature)(vectors, labels)
    loss = contrast(vectors, temperature)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    torch.testing.assert_close(*(torch.autograd.grad(each, vectors)[0] for each in (loss, expected)))


@pytest.mark.parametrize("temperature", [0.05, 0.5])
def test_contrast_of_labels_and_its_gradient_equal_another_library_s(temperature: float) -> None:
    vectors, labels = twins(9, 6, 0.8).requires_grad_(), torch.tensor([0, 0, 1, 2, 1, 0, 3, 3, 2])
    keys = torch.stack([torch.arange(9), torch.arange(9), torch.arange(9, 18)], dim=1)
    expected = SupConLoss(temperature)(vectors, labels.repeat(2))
    loss = contrast(vectors, temperature, equal_strings(keys), positives=same_label(keys, labels))
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    gradients = [torch.autograd.grad(value, vectors)[0] for value in (loss, expected)]
    torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-6)


def test_a_label_makes_positives_of_other_strings_only() -> None:
    # "0" is left in the first row, right in the second
    keys = torch.tensor([[0, 0, 1], [2, 2, 0], [3, 3, 4], [5, 5, 6]])
    positives = same_label(keys, torch.tensor([7, 7, -1, -1]))
    expected = torch.zeros(8, 8, dtype=torch.bool)
    for left, right in ((0, 1), (0, 4), (1, 4), (1, 5), (4, 5)):
        expected[left, right] = expected[right, left] = True
    assert torch.equal(positives, expected)
    vectors = twins(4, 6, 0.8)
    unlabelled = torch.full((4,), -1)
    plain = contrast(vectors, 0.05, equal_strings(keys))
    torch.testing.assert_close(
        contrast(vectors, 0.05, equal_strings(keys), positives=same_label(keys, unlabelled)), plain
    )


def test_multi_similarity_and_its_gradient_equal_those_that_the_authors_of_mirror_bert_import() -> None:
    vectors, labels = twins(9, 6, 0.8).requires_grad_(), torch.arange(9).repeat(2)
    triplets = TripletMarginMiner(MARGIN, type_of_triplets="all")(vectors, labels)
    expected = MultiSimilarityLoss(losses.ALPHA, losses.BETA, losses.BASE)(vectors, labels, triplets)
    loss = multi_similarity(vectors)
    assert expected > 0
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    torch.testing.assert_close(*(torch.autograd.grad(each, vectors)[0] for each in (loss, expected)))


def by_loops(vectors: np.ndarray, excluded: Tensor | None = None) -> float:
    """Miner and loss as loops: triplets with `d_an - d_ap <= margin`, then Eq. 15 of Wang et al. 2019."""
    count, unit, total = len(vectors), reference.unit(vectors), 0.0
    for i in range(count):
        p = (i + count // 2) % count
        allowed = [
            j for j in range(count) if j not in (i, p) and not (excluded is not None and excluded[i, j])
        ]
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
    assert not axes.grad.any()
    assert multi_similarity(axes.detach() + 10).item() > 0


@pytest.mark.parametrize("loss", [partial(contrast, temperature=0.1), multi_similarity])
def test_contrast_ignores_autocast(loss: Callable[[Tensor], Tensor]) -> None:
    vectors = twins(9, 4, 0.6)
    plain = loss(vectors)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert loss(vectors).item() == plain.item()


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("shape", [(24, 6), (8, 20), (6, 6)], ids=["more rows", "more dimensions", "square"])
def test_geometry_is_what_its_definitions_say(shape: tuple[int, int], paired: bool) -> None:
    vectors = np.random.default_rng(1).normal(loc=0.4, size=shape)
    found = geometry(torch.tensor(vectors, dtype=torch.float32), paired=paired)
    half = len(vectors) // 2
    close = [(row, half + row) for row in range(half)]
    apart = [pair for pair in combinations(range(2 * half), 2) if not (paired and pair in close)]
    expected = reference.geometry(vectors, close, apart)
    assert found.keys() == {
        "spread",
        "uniformity",
        "random_cosine",
        "isotropy",
        *(["alignment"] if paired else []),
    }
    for name, value in found.items():
        assert value.item() == pytest.approx(expected[name.replace("_", "-")], abs=2e-5), name


def test_geometry_of_a_large_batch_is_that_of_its_first_pairs() -> None:
    generator = torch.Generator().manual_seed(0)
    first, second = (
        torch.randn(MAX_MEASURED + 50, 4, generator=generator),
        torch.randn(MAX_MEASURED + 50, 4, generator=generator),
    )
    some = geometry(torch.cat([first[:MAX_MEASURED], second[:MAX_MEASURED]]), paired=True)
    found = geometry(torch.cat([first, second]), paired=True)
    assert found.pop("spread") == losses.spread(torch.cat([first, second])) != some.pop("spread")
    assert found == some
