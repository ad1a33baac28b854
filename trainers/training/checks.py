"""Checks before a training, on a few real rows: gradients reach the encoder, the views differ, the target moves."""

from __future__ import annotations

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


def check(objective: Objective, rows: Sequence[dict[str, Any]], total: int) -> tuple[list[str], list[str]]:
    """Train on a few rows and take it back.

    Args:
        objective: On the device that it trains on; parameters, buffers, gradients and mode are as before afterwards.
        rows: What `collate` takes, two or more.
        total: Optimiser steps of the run, for `after_step`.

    Returns:
        The names of parameters without a gradient, and lines that the user should read.

    Raises:
        TwinviewsError: No gradient reaches the encoder at all.
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
        warnings = [*_views(objective, outputs.get("vectors")), *_target(objective, total)]
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


@torch.no_grad()
def _target(objective: Objective, total: int) -> list[str]:
    """Move the encoder far, let `after_step` follow, and see whether anything that has no gradient moved."""
    own = {id(parameter) for parameter in objective.encoder.parameters()}
    targets = [value for value in objective.parameters() if not value.requires_grad and id(value) not in own]
    follow = type(objective).after_step
    if not targets or follow is Objective.after_step:
        return []
    before = [value.clone() for value in targets]
    for parameter in objective.encoder.parameters():
        parameter.mul_(1.5)
    follow(objective, 1, total)
    if any(not torch.equal(old, new) for old, new in zip(before, targets, strict=True)):
        return []
    return ["warning: the target network does not move: it stays what it is now (--momentum 1 does that)"]


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
