import pytest
import torch
from torch.nn import functional

from trainers.marian.model import BLOCK, output_cross_entropy

Problem = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


@pytest.fixture
def problem() -> Problem:
    generator = torch.Generator().manual_seed(0)
    rows = 2 * BLOCK + 7
    return (
        torch.randn(rows, 12, generator=generator, requires_grad=True),
        torch.randn(40, 12, generator=generator, requires_grad=True),
        torch.randn(1, 40, generator=generator),
        torch.randint(0, 40, (rows,), generator=generator),
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_loss_and_gradients_equal_the_plain_cross_entropy(problem: Problem, smoothing: float) -> None:
    states, weight, bias, labels = problem
    ours = output_cross_entropy(states, weight, bias, labels, smoothing)
    plain = functional.cross_entropy(states @ weight.T + bias, labels, label_smoothing=smoothing)
    torch.testing.assert_close(ours, plain)
    for ours_grad, plain_grad in zip(
        torch.autograd.grad(3 * ours, [states, weight]), torch.autograd.grad(3 * plain, [states, weight]), strict=True
    ):
        torch.testing.assert_close(ours_grad, plain_grad, rtol=1e-4, atol=1e-7)


def test_under_autocast_it_stays_close_to_float32(problem: Problem) -> None:
    states, weight, bias, labels = problem
    exact = output_cross_entropy(states, weight, bias, labels, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = output_cross_entropy(states, weight, bias, labels, 0.1)
    assert rounded.dtype == torch.float32
    assert rounded.item() == pytest.approx(exact.item(), rel=5e-3)
    assert rounded.item() != exact.item()
