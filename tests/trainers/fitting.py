"""A small training of an objective, through the real `fit`, which a power cut may end."""

from pathlib import Path

import torch
from objective_cases import interrupt_at, prepared

from trainers.data.examples import Examples
from trainers.objective import Objective
from trainers.training.fit import Fitted, fit


def trained(
    name: str, encoder: Path, texts: list[str], out: Path, *, last: int | None = None, dev: Examples | None = None,
    **given: object,
) -> tuple[Objective, Fitted]:  # fmt: skip
    """Train what is prepared; with `last`, `Interrupted` is raised after that step."""
    objective, rows, training = prepared(name, encoder, texts, **given)
    if last is not None:
        interrupt_at(objective, last)
    torch.seed()  # whatever was drawn before does not matter
    return objective, fit(objective, rows, training, out, seed=1, dev=dev)
