"""Checks before a training, on a few real rows: gradients reach the encoder, and the views differ."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pipelines.console import TwinviewsError
from trainers.objective import Objective

ROWS = 32
SAME = 1e-6
"""Mean squared distance of unit vectors below which two views are one: rounding gives 1e-12, dropout 1e-2."""


def check(objective: Objective, rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Train on a few rows and take it back.

    Returns the names of parameters without a gradient, and lines that the user should read. Parameters, buffers,
    gradients and mode are as before afterwards. Raises TwinviewsError where no gradient reaches the encoder at all.
    """
    device = next(objective.parameters()).device
    mode = objective.training
    objective.train()
    with undisturbed(device), _untouched(objective):
        batch = {name: tensor.to(device) for name, tensor in objective.collate(rows).items()}
        outputs = objective(**batch)
        outputs["loss"].backward()
        unused = [name for name, value in objective.named_parameters() if value.requires_grad and value.grad is None]
        if all(value.grad is None for value in objective.encoder.parameters()):
            raise TwinviewsError(
                f"no gradient of {type(objective).__name__} reaches the encoder: it would stay as it is; "
                "its forward must compute the loss from self.encoder, without no_grad or detach"
            )
        warnings = _views(objective, outputs.get("vectors"))
        objective.zero_grad(set_to_none=True)
    objective.train(mode)
    return unused, warnings


def _views(objective: Objective, vectors: Tensor | None) -> list[str]:
    if not objective.paired or vectors is None:
        return []
    first, second = functional.normalize(vectors.float(), dim=-1).chunk(2)
    if (first - second).square().sum(dim=-1).mean() > SAME:
        return []
    return [
        "warning: both views of every sentence are the same, dropout included: all there is to learn is to push "
        "sentences apart; use views that differ, or --dropout, --drophead or --span where there are such"
    ]


@contextmanager
def _untouched(module: nn.Module) -> Iterator[None]:
    """Give parameters and buffers their values back."""
    tensors = [*module.parameters(), *module.buffers()]
    before = [tensor.detach().clone() for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, old in zip(tensors, before, strict=True):
                tensor.copy_(old)


@contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """Give Python's, NumPy's and torch's global generators (also that of `device`) their state back."""
    plain, array = random.getstate(), np.random.get_state()  # noqa: NPY002 - other libraries draw from it
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            yield
    finally:
        random.setstate(plain)
        np.random.set_state(array)  # noqa: NPY002
