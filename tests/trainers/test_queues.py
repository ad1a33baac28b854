import numpy as np
import numpy_reference as reference
import pytest
import torch
from torch.nn import functional

from trainers.losses.relations import relation_loss


def units(rows: int, seed: int) -> torch.Tensor:
    drawn = torch.randn(rows, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return functional.normalize(drawn, dim=-1)


@pytest.mark.parametrize("divergence", [True, False])
@pytest.mark.parametrize(("t", "t_ref"), [(0.05, 0.04), (0.07, 0.05), (1.0, 0.5)])
def test_loss_and_its_gradient_equal_the_equation_in_numpy(t: float, t_ref: float, divergence: bool) -> None:
    z, r, columns = units(4, 1).requires_grad_(), units(4, 2), units(9, 3)
    loss = relation_loss(z, r, columns, t, t_ref, divergence=divergence)
    loss.backward()

    def expected(at: np.ndarray) -> float:
        return reference.relation_loss(at, r.numpy(), columns.numpy(), t, t_ref, divergence=divergence)

    at = z.detach().numpy()
    assert loss.item() == pytest.approx(expected(at), abs=1e-9)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 1e-6
        slope = (expected(at + step) - expected(at - step)) / 2e-6
        assert z.grad[place].item() == pytest.approx(slope, abs=1e-6)


def test_divergence_is_none_where_both_see_the_same_and_does_not_depend_on_the_columns_order() -> None:
    z, r, columns = units(4, 1), units(4, 2), units(9, 3)
    assert relation_loss(z, z, columns, 0.05, 0.05).item() == pytest.approx(0, abs=1e-12)
    loss = relation_loss(z, r, columns, 0.05, 0.04)
    torch.testing.assert_close(relation_loss(z, r, columns.flip(0), 0.05, 0.04), loss)
    torch.testing.assert_close(relation_loss(z.flip(0), r.flip(0), columns, 0.05, 0.04), loss)
