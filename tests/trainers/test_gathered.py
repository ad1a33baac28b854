"""Every objective in two processes: the loss and the gradients of one process with the same batch."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from objective_cases import batch_of, build, teachers
from torch import distributed, multiprocessing

from trainers.data.examples import Examples
from trainers.encoders.modules import set_dropout
from trainers.objective import Objective

PROCESSES = 2
OWN = {
    "bsl": {"width": 2}, "isbert": {"filters": 4}, "sct": {"width": 2, "queue": 20}, "distil": {"queue": 20},
    "diffcse": {"detection": 1.0},
}  # fmt: skip
CASES = [
    ("bsl", "paper"), ("bsl", "code"), ("contrastive", "bsl"), ("contrastive", "simcse"), ("contrastive", "adapt"),
    ("contrastive", "supervised-simcse"), ("mirror", "sentence"), ("mirror", "ms"), ("regression", "sbert"),
    ("isbert", "paper"), ("isbert", "code"), ("mlm", "adapt"), ("sct", "paper"), ("sct", "code"),
    ("distil", "congen"), ("distil", "sct"), ("rank", "listmle"), ("rank", "listnet"), ("diffcse", "paper"),
]  # fmt: skip
PARTIAL = ("isbert", "mlm", "diffcse")
"""Of these each process computes a part of the loss; of the others, all of it."""
UNGUIDED = ("simcse", "adapt")
"""The one has each sentence twice, the other is its own guide."""

pytestmark = pytest.mark.skipif(not distributed.is_available(), reason="torch without torch.distributed")


def made(name: str, preset: str, encoder: Path) -> Objective:
    own = {**OWN.get(name, {}), **({} if preset in UNGUIDED else teachers(name, encoder))}
    objective = build(name, encoder, preset, **own).train()
    set_dropout(objective, 0.0)
    return objective


def gradients(
    objective: Objective, examples: Examples, rows: range, folder: Path
) -> tuple[float, dict[str, torch.Tensor]]:
    loss = objective(**batch_of(objective, examples, rows, folder))["loss"]
    loss.backward()
    return loss.item(), {name: value.grad for name, value in objective.named_parameters() if value.grad is not None}


def compare(rank: int, folder: Path, encoder: Path, sentences: list[str]) -> None:
    # Shorter ones in the first process: a mean over tokens is over all of them, not over each half's.
    texts = sorted(sentences[:11], key=len)
    # The last string of the first process is the first of the second one.
    texts.insert(5, texts[5])
    half = len(texts) // PROCESSES
    negatives = [text if row % 3 else "" for row, text in enumerate(sentences[32 : 32 + len(texts)])]
    grades = [row / 11 for row in range(len(texts))]
    examples = Examples(texts, texts, sentences[20 : 20 + len(texts)], 0, grades, negatives)
    alone = [
        gradients(made(*case, encoder), examples, range(len(texts)), folder / f"{rank}-{'-'.join(case)}")
        for case in CASES
    ]
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=PROCESSES)
    found = []
    for case, (loss, whole) in zip(CASES, alone, strict=True):
        rows = range(half * rank, half * (rank + 1))
        own, part = gradients(made(*case, encoder), examples, rows, folder / "-".join(case))
        mean = torch.tensor(own, dtype=torch.float64)
        # What data-parallel training does.
        for value in (mean, *part.values()):
            distributed.all_reduce(value)
            value /= PROCESSES
        scale = max(value.abs().max().item() for value in whole.values())
        worst = max((part[name] - value).abs().max().item() for name, value in whole.items())
        found.append(
            {"own": abs(own - loss), "mean": abs(mean.item() - loss), "worst": worst / scale,
             "same": set(part) == set(whole)}
        )  # fmt: skip
    distributed.destroy_process_group()
    (folder / f"{rank}.json").write_text(json.dumps(found))


@pytest.fixture(scope="module")
def compared(
    tiny_bert: Path, sentences: list[str], tmp_path_factory: pytest.TempPathFactory
) -> list[list[dict[str, Any]]]:
    """What each process found, case by case."""
    folder = tmp_path_factory.mktemp("gathered")
    multiprocessing.spawn(compare, args=(folder, tiny_bert, sentences), nprocs=PROCESSES)
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(PROCESSES)]


@pytest.mark.parametrize(("name", "preset"), CASES)
def test_two_processes_give_the_loss_and_the_gradients_of_one_with_the_same_batch(
    name: str, preset: str, compared: list[list[dict[str, Any]]]
) -> None:
    for found in compared:
        case = found[CASES.index((name, preset))]
        assert case["same"]
        assert max(case["mean"], case["worst"]) < 1e-5
        assert (case["own"] > 1e-4) if name in PARTIAL else (case["own"] < 1e-5)
