"""Presets that are named after a paper have its settings."""

from typing import Any

import pytest

from trainers.catalogue import load_objective
from trainers.settings import resolve

SIZED = {
    "distil": ("lr", "queue", "teacher_temperature", "student_temperature"),
    "sct": ("lr", "queue", "reference_temperature", "online_temperature"),
}
"""The settings that depend on the student's size."""
LONG = {"batch_size": 128, "max_tokens": 128, "warmup": 0.1}
CONGEN = {**LONG, "epochs": 20, "method": "congen"}
DISTILLED = {**LONG, "epochs": 10, "method": "sct"}
SCT = {**LONG, "schedule": "linear", "pooling": "mean", "width": 10}
PAPER = {**SCT, "epochs": 10, "norm": "batch", "directions": "mean"}
RANK = {
    "lr": 3e-5, "batch_size": 128, "max_tokens": 32, "epochs": 1, "temperature": 0.05, "rank_temperature": 0.05,
    "first_share": 1 / 3, "consistency": 1, "ranking": 1, "pooling": "cls",
}  # fmt: skip
DIFFCSE = {"lr": 7e-6, "batch_size": 64, "max_tokens": 32, "epochs": 2, "masked": 0.3, "detection": 0.005}
PRINTED: list[tuple[str, str, dict[str, object], tuple[float, ...]]] = [
    ("distil", "congen", CONGEN, (5e-5, 65_536, 0.05, 0.07)),
    ("distil", "congen-tiny", CONGEN, (5e-4, 16_384, 0.05, 0.05)),
    ("distil", "congen-mini", CONGEN, (3e-4, 16_384, 0.05, 0.07)),
    ("distil", "congen-small", CONGEN, (3e-4, 65_536, 0.05, 0.07)),
    ("distil", "congen-minilm-l6", CONGEN, (3e-4, 65_536, 0.05, 0.07)),
    ("distil", "congen-minilm-l12", CONGEN, (5e-5, 16_384, 0.05, 0.07)),
    ("distil", "sct", DISTILLED, (1e-4, 65_536, 0.04, 0.05)),
    ("distil", "sct-tiny", DISTILLED, (5e-4, 131_072, 0.03, 0.04)),
    ("distil", "sct-mini", DISTILLED, (1e-4, 65_536, 0.04, 0.05)),
    ("distil", "sct-small", DISTILLED, (1e-4, 131_072, 0.04, 0.05)),
    ("sct", "paper-tiny", PAPER, (5e-4, 131_072, 0.03, 0.04)),
    ("sct", "paper-mini", PAPER, (3e-4, 131_072, 0.01, 0.03)),
    ("sct", "paper-small", PAPER, (3e-4, 65_536, 0.02, 0.03)),
    ("sct", "paper", PAPER, (5e-4, 65_536, 0.04, 0.05)),
    ("sct", "paper-large", PAPER, (5e-4, 16_384, 0.04, 0.05)),
    ("sct", "code", {**SCT, "epochs": 20, "norm": "none", "directions": "sum"}, (5e-4, 65_536, 0.04, 0.05)),
    ("rank", "listmle", {**RANK, "loss": "listmle"}, ()),
    ("rank", "listnet", {**RANK, "loss": "listnet"}, ()),
    ("diffcse", "paper", {**DIFFCSE, "temperature": 0.05, "pooling": "cls"}, ()),
    ("contrastive", "supervised-simcse", {"lr": 5e-5, "batch_size": 512, "max_tokens": 32, "epochs": 3}, ()),
]


@pytest.mark.parametrize(("name", "preset", "common", "sized"), PRINTED)
def test_presets_are_the_papers_settings(
    name: str, preset: str, common: dict[str, Any], sized: tuple[float, ...]
) -> None:
    module = load_objective(name)
    teacher = {"distil": {"teacher": "a"}, "rank": {"teacher": ("a",)}}.get(name, {})
    _, training, params = resolve(module.PRESETS, module.PARAMS, preset, teacher)
    found = {**training.model_dump(), **params.model_dump()}
    expected = {**common, **dict(zip(SIZED.get(name, ()), sized, strict=True))}
    assert {key: found[key] for key in expected} == expected
