"""Every objective, small: settings under which it learns something in a few steps, and rows of the kind it reads."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, set_seed

from trainers.catalogue import load_objective
from trainers.data.examples import Examples
from trainers.data.rows import Rows
from trainers.encoders.dropout import set_dropout
from trainers.encoders.loading import load_for_training
from trainers.encoders.location import locate
from trainers.objective import Objective
from trainers.settings import Training, resolve

SMALL = {"batch_size": 8, "max_tokens": 24, "epochs": 2, "lr": 1e-3, "precision": "fp32"}
EXTRA: dict[str, dict[str, object]] = {
    "bsl": {"width": 2, "momentum": 0.9, "predictor_warmup": 3},
    "sct": {"width": 2, "queue": 20, "projector_lr": 1.0},
    "distil": {"queue": 60},
    "diffcse": {"detection": 1.0},
    "isbert": {"filters": 8, "discriminator": "learned", "relu": True},
}
# An epsilon that large makes Adam's step the gradient itself: where the true gradient is zero, rounding stays rounding.
LINEAR = {"eps": 1.0, "lr": 0.2, "weight_decay": 0.0, "warmup": 0.0}


def examples_for(name: str, texts: list[str]) -> Examples:
    """Two different views and some hard negatives where the objective reads views, and grades."""
    grades = [row % 5 / 4 for row in range(len(texts))]
    if load_objective(name).READS[0] not in ("views", "graded"):
        return Examples(texts, texts, texts, 0, grades)
    negatives = [text if row % 3 else "" for row, text in enumerate(texts[5:] + texts[:5])]
    return Examples(texts, texts, texts[1:] + texts[:1], 0, grades, negatives)


def teachers(name: str, encoder: Path) -> dict[str, str | tuple[str, ...]]:
    """The encoder as the teacher, as each of two, or as the guide."""
    known = {"distil": ("teacher", str(encoder)), "rank": ("teacher", (str(encoder), str(encoder)))}
    known["contrastive"] = ("guide", str(encoder))
    return dict([known[name]]) if name in known else {}


def prepared(
    name: str, encoder: Path, texts: list[str], *, dropout: float | None = None, **given: object
) -> tuple[Objective, Rows, Training]:
    module = load_objective(name)
    values = {**SMALL, **EXTRA.get(name, {}), **teachers(name, encoder), **given}
    _, training, params = resolve(module.PRESETS, module.PARAMS, None, values)
    set_seed(1)
    objective = module.build(params, training, locate(str(encoder)))
    if dropout is not None:
        set_dropout(objective, dropout)
    return objective, Rows(objective.columns(examples_for(name, texts)), seed=1), training


def build(name: str, encoder: Path, preset: str | None = None, **given: object) -> Any:  # noqa: ANN401 - an objective
    """Build an objective of texts of 24 tokens, unless another number is given; its draws are always the same."""
    module = load_objective(name)
    _, training, params = resolve(module.PRESETS, module.PARAMS, preset, {"max_tokens": 24, **given})
    torch.manual_seed(0)
    return module.build(params, training, locate(str(encoder)))


def encoder_of(path: Path | str, pooling: str = "mean", max_tokens: int = 24) -> Objective:
    """An encoder that is ready to be trained, without a loss."""
    return Objective(load_for_training(locate(str(path)), pooling, max_tokens), max_tokens)  # type: ignore[arg-type]


def pairs(left: list[str], right: list[str] | None = None) -> Examples:
    return Examples(left, left, left if right is None else right)


def rows_of(objective: Objective, examples: Examples, folder: Path | None = None) -> Rows:
    """The rows that are trained on; what teachers say of them is kept in `folder`."""
    rows = Rows(objective.columns(examples), seed=1)
    if folder is not None:
        objective.before_training(folder)
    return rows


def batch_of(
    objective: Objective, examples: Examples, order: Sequence[int] | None = None, folder: Path | None = None
) -> dict[str, Tensor]:
    """The batch of these rows, or of all."""
    rows = rows_of(objective, examples, folder=folder)
    return objective.collate([rows[row] for row in (range(len(rows)) if order is None else order)])


def pooled_by_hand(directory: Path, text: str, width: int) -> dict[str, np.ndarray]:
    """A text's vector under each pooling, alone in its batch: without padding but where that counts."""
    model, tokenizer = AutoModel.from_pretrained(directory).float().eval(), AutoTokenizer.from_pretrained(directory)
    padded = tokenizer(text, return_tensors="pt", padding="max_length", truncation=True, max_length=width)
    with torch.inference_mode():
        inputs = tokenizer(text, return_tensors="pt", truncation=True)
        layers = model(**inputs, output_hidden_states=True).hidden_states
        positions = model(**padded).last_hidden_state[0]
    return {
        "mean": layers[-1][0].mean(dim=0).numpy(),
        "cls": layers[-1][0][0].numpy(),
        "first-last": ((layers[1][0].mean(dim=0) + layers[-1][0].mean(dim=0)) / 2).numpy(),
        "padded-mean": (sum(positions[i] for i in range(width)) / width).numpy(),
    }


class Interrupted(Exception):
    """What a test's power cut raises."""


def interrupt_at(objective: Objective, last: int) -> None:
    """Let the objective raise right after the optimiser's step number `last`."""
    follow = objective.after_step

    def after_step(step: int, total: int) -> None:
        follow(step, total)
        if step == last:
            raise Interrupted

    objective.after_step = after_step  # type: ignore[method-assign]
