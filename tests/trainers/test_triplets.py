import numpy as np
import pytest
import torch
from torch import Tensor

from trainers.losses.contrast import ALPHA, BASE, BETA, MARGIN, multi_similarity


def pairs(count: int, dimension: int, noise: float, seed: int = 1) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    left = torch.randn(count, dimension, generator=draw, dtype=torch.float64)
    right = left + noise * torch.randn(count, dimension, generator=draw, dtype=torch.float64)
    return torch.cat([left, right]).float()


def reference(vectors: np.ndarray, excluded: np.ndarray | None = None) -> float:
    """Miner and loss as loops: triplets with `d_an - d_ap <= margin`, then Eq. 15 of Wang et al. 2019."""
    count = len(vectors)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    total = 0.0
    for i in range(count):
        p = (i + count // 2) % count
        to_positive = np.linalg.norm(unit[i] - unit[p])
        negatives = [
            j
            for j in range(count)
            if j not in (i, p)
            and not (excluded is not None and excluded[i, j])
            and np.linalg.norm(unit[i] - unit[j]) - to_positive <= MARGIN
        ]
        if negatives:
            total += np.log(1 + np.exp(-ALPHA * (unit[i] @ unit[p] - BASE))) / ALPHA
            total += np.log(1 + sum(np.exp(BETA * (unit[i] @ unit[j] - BASE)) for j in negatives)) / BETA
    return total / count


@pytest.mark.parametrize(("dimension", "noise"), [(3, 0.5), (6, 0.8), (8, 0.6)])
def test_loss_equals_the_loops_in_numpy(dimension: int, noise: float) -> None:
    vectors = pairs(12, dimension, noise)
    expected = reference(vectors.double().numpy())
    assert expected > 0
    assert multi_similarity(vectors).item() == pytest.approx(expected, rel=1e-4)


def test_far_negatives_are_not_mined_and_cost_nothing() -> None:
    axes = torch.eye(6).repeat(2, 1).requires_grad_()
    loss = multi_similarity(axes)
    loss.backward()
    assert loss.item() == 0
    assert axes.grad is not None
    assert not axes.grad.any()
    assert multi_similarity(axes.detach(), margin=2.0).item() > 0


def test_excluded_strings_are_never_negatives() -> None:
    vectors = pairs(8, 3, 0.4)
    excluded = torch.zeros(16, 16, dtype=torch.bool)
    excluded[[0, 5, 3], [5, 0, 9]] = True
    expected = reference(vectors.double().numpy(), excluded.numpy())
    assert multi_similarity(vectors, excluded).item() == pytest.approx(expected, rel=1e-4)
    assert multi_similarity(vectors, torch.ones(16, 16, dtype=torch.bool)).item() == 0


def test_loss_ignores_sides_order_and_length() -> None:
    left, right = pairs(9, 4, 0.6).chunk(2)
    plain = multi_similarity(torch.cat([left, right]))
    order = torch.tensor([3, 6, 0, 1, 5, 2, 8, 7, 4])
    torch.testing.assert_close(multi_similarity(torch.cat([right, left])), plain)
    torch.testing.assert_close(multi_similarity(torch.cat([left[order], right[order]])), plain)
    torch.testing.assert_close(multi_similarity(torch.cat([3 * left, 0.5 * right])), plain)
    assert not torch.isclose(multi_similarity(torch.cat([left[order], right])), plain)
