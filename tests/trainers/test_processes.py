"""Every objective in two processes: one batch, and whole trainings, beside one process with the same batch."""

import gc
import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_trainings import LINEAR, Interrupted, batch_of, build, prepared, teachers, trained
from torch import distributed, multiprocessing

from pipelines.console import InputError
from trainers.catalogue import objective_names
from trainers.data.examples import Examples
from trainers.encoders.modules import set_dropout
from trainers.objective import Objective
from trainers.processes import divided_batch, join_processes
from trainers.training.directory import newest_checkpoint

PROCESSES = 2
CASES = {
    "plain": {"epochs": 1},
    "accumulated and grouped": {"epochs": 1.5, "accumulate": 2, "group_by_length": True},
}

pytestmark = pytest.mark.skipif(not distributed.is_available(), reason="torch without torch.distributed")


def state_of(name: str, case: str, encoder: Path, texts: list[str], out: Path) -> dict[str, torch.Tensor]:
    return trained(name, encoder, texts, out, dropout=0.0, **LINEAR, **CASES[case])[0].state_dict()


def resumed(name: str, encoder: Path, texts: list[str], folder: Path) -> dict[str, torch.Tensor]:
    """Dropout on, accumulation: interrupted at step 4 of 5, resumed from the checkpoint at 3, in the second epoch."""
    given = {"save_every": 3, "accumulate": 2, "epochs": 2.5}
    expected = trained(name, encoder, texts, folder / "whole", **given)[0].state_dict()
    with suppress(Interrupted):
        trained(name, encoder, texts, folder / "broken", last=4, **given)
    found = newest_checkpoint(folder / "broken")
    assert found.name == "checkpoint-3"
    got = trained(name, encoder, texts, folder / "broken", **given)[0].state_dict()
    return {name: (expected[name].double() - got[name].double()).abs().max() for name in expected}


def work(rank: int, port: int, names: list[str], encoder: Path, texts: list[str], folder: Path) -> None:
    settings = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": PROCESSES, "LOCAL_WORLD_SIZE": PROCESSES}
    os.environ.update({key: str(value) for key, value in settings.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
    join_processes()
    # See the fixture `frozen`.
    gc.freeze()
    for name in names:
        for case in CASES:
            state = state_of(name, case, encoder, texts, folder / name / case)
            save_file({key: value.contiguous() for key, value in state.items()}, folder / f"{name}-{case}-{rank}")
        save_file(resumed(name, encoder, texts, folder / name), folder / f"{name}-resumed-{rank}")


@pytest.fixture(scope="module")
def two_processes(tiny_bert: Path, sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All objectives in all cases, trained by one pair of processes; a file of weights each."""
    folder = tmp_path_factory.mktemp("two")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = (port, objective_names(), tiny_bert, sentences[:24], folder)
    multiprocessing.spawn(work, args=arguments, nprocs=PROCESSES)
    return folder


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("name", objective_names())
def test_two_processes_train_as_one_with_the_same_global_batch(
    name: str, case: str, two_processes: Path, tiny_bert: Path, sentences: list[str], tmp_path: Path
) -> None:
    start = prepared(name, tiny_bert, sentences[:24], dropout=0.0, **LINEAR)[0].state_dict()
    alone = state_of(name, case, tiny_bert, sentences[:24], tmp_path)
    trained_ones = [key for key in start if key.startswith("encoder.")]
    moved = max((alone[key].double() - start[key].double()).abs().max().item() for key in trained_ones)
    assert moved > 1e-4
    first, second = (load_file(two_processes / f"{name}-{case}-{rank}") for rank in range(PROCESSES))
    for key, value in alone.items():
        assert torch.equal(first[key], second[key]), key
        torch.testing.assert_close(first[key], value, rtol=1e-5, atol=1e-5 * max(1.0, moved), msg=key)


@pytest.mark.parametrize("name", objective_names())
def test_two_processes_resume_as_if_uninterrupted(name: str, two_processes: Path) -> None:
    for rank in range(PROCESSES):
        differences = load_file(two_processes / f"{name}-resumed-{rank}")
        assert max(value.item() for value in differences.values()) <= 1e-6
    steps = (two_processes / name / "whole" / "log.jsonl").read_text().count("\n")
    assert steps == 5, "only the first process wrote"


def launched(launcher: list[str], *arguments: object, ok: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *launcher, "-m", "trainers", *map(str, arguments)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert (done.returncode == 0) is ok, done.stderr
    return done


LAUNCHERS = {
    "torchrun": ["torch.distributed.run", "--nproc-per-node", "2"],
    # Its way of starting one process a GPU; without one they train on the CPU.
    "accelerate": ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"],
}


@pytest.mark.slow
@pytest.mark.parametrize("launcher", list(LAUNCHERS))
def test_launched_command_says_all_once(launcher: str, text_file: Path, tiny_bert: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["mirror", "--text", text_file, "--encoder", tiny_bert, "--max-tokens", 24, "--out", out]
    done = launched(LAUNCHERS[launcher], *arguments, "--batch-size", 8)
    assert done.stdout.count("encoder of 16 dimensions after 6 steps") == 1
    assert {path.name for path in out.iterdir()} >= {"modules.json", "recipe.json", "log.jsonl", "README.md"}
    done = launched(LAUNCHERS[launcher], *arguments, "--batch-size", 7, ok=False)
    assert done.stderr.count("error: --batch-size 7 of 48 rows cannot be divided among 2 processes") == 1


def test_batch_is_as_large_as_rows_and_processes_allow_or_refused() -> None:
    assert [divided_batch(*case) for case in ((64, 100, 2), (64, 50, 4), (64, 50, 1))] == [64, 48, 50]
    for size, rows in ((6, 100), (2, 100), (8, 3)):
        said = f"--batch-size {size} of {rows} rows cannot be divided among 4 processes: take a multiple of 4"
        with pytest.raises(InputError, match=said):
            divided_batch(size, rows, 4)


OWN = {
    "bsl": {"width": 2}, "isbert": {"filters": 4}, "sct": {"width": 2, "queue": 20}, "distil": {"queue": 20},
    "diffcse": {"detection": 1.0},
}  # fmt: skip
PRESETS = [
    ("bsl", "paper"), ("bsl", "code"), ("contrastive", "bsl"), ("contrastive", "simcse"), ("contrastive", "adapt"),
    ("contrastive", "supervised-simcse"), ("mirror", "sentence"), ("mirror", "ms"), ("regression", "sbert"),
    ("isbert", "paper"), ("isbert", "code"), ("mlm", "adapt"), ("sct", "paper"), ("sct", "code"),
    ("distil", "congen"), ("distil", "sct"), ("rank", "listmle"), ("rank", "listnet"), ("diffcse", "paper"),
]  # fmt: skip
PARTIAL = ("isbert", "mlm", "diffcse")
"""Of these each process computes a part of the loss; of the others, all of it."""
UNGUIDED = ("simcse", "adapt")
"""The one has each sentence twice, the other is its own guide."""


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
        for case in PRESETS
    ]
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=PROCESSES)
    found = []
    for case, (loss, whole) in zip(PRESETS, alone, strict=True):
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


@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_two_processes_have_the_gradients_of_one(name: str, preset: str, compared: list[list[dict[str, Any]]]) -> None:
    for found in compared:
        case = found[PRESETS.index((name, preset))]
        assert case["same"]
        assert max(case["mean"], case["worst"]) < 1e-5
        assert (case["own"] > 1e-4) if name in PARTIAL else (case["own"] < 1e-5)
