"""Every objective in two processes, compared with one process on the same batches: one batch, and whole trainings."""

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

from pipelines.base.console import InputError
from trainers.data.examples import Examples
from trainers.encoders.modules import set_dropout
from trainers.processes import divided_batch, join_processes
from trainers.settings import objective_names
from trainers.training.directory import newest_checkpoint

PROCESSES = 2
CASES = {
    "plain": {"epochs": 1},
    "accumulated and grouped": {"epochs": 1.5, "accumulate": 2, "group_by_length": True},
}
TRAINED = [*((name, "accumulated and grouped") for name in objective_names()), ("bsl", "plain")]
"""What accumulates does all that a plain training does; one objective shows that the plain one does it too."""
RESUMED = ("bsl", "sct", "distil", "isbert")
"""A target network, queues, a part of the loss for each process: of the others `test_fit` resumes one process."""

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


OWN = {
    "bsl": {"width": 2},
    "isbert": {"filters": 4},
    "sct": {"width": 2, "queue": 20},
    "distil": {"queue": 20},
}
PRESETS = [
    ("bsl", "paper"),
    ("bsl", "code"),
    ("contrastive", "bsl"),
    ("contrastive", "simcse"),
    ("contrastive", "adapt"),
    ("contrastive", "supervised-simcse"),
    ("mirror", "sentence"),
    ("mirror", "ms"),
    ("regression", "sbert"),
    ("isbert", "paper"),
    ("isbert", "code"),
    ("mlm", "adapt"),
    ("sct", "paper"),
    ("sct", "code"),
    ("distil", "congen"),
    ("distil", "sct"),
    ("contrastive", "labels"),
]
PARTIAL = ("isbert", "mlm")
"""Of these each process computes a part of the loss; of the others, all of it."""
UNGUIDED = ("simcse", "adapt")
"""The one has each sentence twice, the other is its own guide."""


def examples_of(sentences: list[str]) -> Examples:
    # Shorter ones in the first process: a mean over tokens is over all of them, not over each half's.
    texts = sorted(sentences[:11], key=len)
    # The last string of the first process is the first of the second one.
    texts.insert(5, texts[5])
    negatives = [text if row % 3 else "" for row, text in enumerate(sentences[32:44])]
    classes = ["", *"abcabcabcab"]
    return Examples(texts, texts, sentences[20:32], 0, [row / 11 for row in range(12)], [negatives], classes)


def gradients(
    case: tuple[str, str], encoder: Path, examples: Examples, rows: range, folder: Path
) -> tuple[float, dict[str, torch.Tensor]]:
    """Return the loss of these rows under an objective and a preset, and its gradients by name."""
    name, preset = case
    own = {**OWN.get(name, {}), **({} if preset in UNGUIDED else teachers(name, encoder))}
    if preset == "labels":
        preset = "bsl"
        own |= {"positives": "labels", "cached": 4}
    objective = build(name, encoder, preset, **own).train()
    set_dropout(objective, 0.0)
    loss = objective(**batch_of(objective, examples, rows, folder))["loss"]
    loss.backward()
    return loss.item(), {
        name: value.grad for name, value in objective.named_parameters() if value.grad is not None
    }


def compare(
    own: float, part: dict[str, torch.Tensor], loss: float, whole: dict[str, torch.Tensor]
) -> dict[str, Any]:
    """Return how far this process's loss, and the mean of all processes, are from the loss and gradients of one."""
    mean = torch.tensor(own, dtype=torch.float64)
    # What data-parallel training does.
    for value in (mean, *part.values()):
        distributed.all_reduce(value)
        value /= PROCESSES
    scale = max(value.abs().max().item() for value in whole.values())
    worst = max((part[name] - value).abs().max().item() for name, value in whole.items())
    found = {"own": abs(own - loss), "mean": abs(mean.item() - loss), "worst": worst / scale}
    return {**found, "same": set(part) == set(whole)}


def work(rank: int, port: int, encoder: Path, sentences: list[str], folder: Path) -> None:
    """One of the processes: single batches, alone and then together, and whole trainings; it writes what it found."""
    examples = examples_of(sentences)
    rows = range(6 * rank, 6 * (rank + 1))
    alone = [
        gradients(case, encoder, examples, range(12), folder / f"{rank}-{'-'.join(case)}") for case in PRESETS
    ]
    settings = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": PROCESSES, "LOCAL_WORLD_SIZE": PROCESSES}
    settings |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    os.environ.update({key: str(value) for key, value in settings.items()})
    join_processes()
    # See the fixture `frozen`.
    gc.freeze()
    found = [
        compare(*gradients(case, encoder, examples, rows, folder / "-".join(case)), *expected)
        for case, expected in zip(PRESETS, alone, strict=True)
    ]
    (folder / f"{rank}.json").write_text(json.dumps(found))
    for name, case in TRAINED:
        state = state_of(name, case, encoder, sentences[:24], folder / name / case)
        save_file({key: value.contiguous() for key, value in state.items()}, folder / f"{name}-{case}-{rank}")
    for name in RESUMED:
        save_file(resumed(name, encoder, sentences[:24], folder / name), folder / f"{name}-resumed-{rank}")


@pytest.fixture(scope="module")
def two_processes(tiny_bert: Path, sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one pair of processes wrote: how its batches differ from one process's, and the weights it trained."""
    folder = tmp_path_factory.mktemp("two")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    multiprocessing.spawn(work, args=(port, tiny_bert, sentences, folder), nprocs=PROCESSES)
    return folder


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "preset"), PRESETS)
def test_two_processes_have_the_gradients_of_one(name: str, preset: str, two_processes: Path) -> None:
    for rank in range(PROCESSES):
        case = json.loads((two_processes / f"{rank}.json").read_text())[PRESETS.index((name, preset))]
        assert case["same"]
        assert max(case["mean"], case["worst"]) < 1e-5
        assert (case["own"] > 1e-4) if name in PARTIAL else (case["own"] < 1e-5)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "case"), TRAINED)
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


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", RESUMED)
def test_two_processes_resume_as_if_uninterrupted(name: str, two_processes: Path) -> None:
    for rank in range(PROCESSES):
        differences = load_file(two_processes / f"{name}-resumed-{rank}")
        assert max(value.item() for value in differences.values()) <= 1e-6
    steps = (two_processes / name / "whole" / "log.jsonl").read_text().count("\n")
    assert steps == 5, "only the first process wrote"


LAUNCHERS = {
    "torchrun": ["torch.distributed.run", "--nproc-per-node", "2"],
    # Its way of starting one process a GPU; without one they train on the CPU.
    "accelerate": ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"],
}


def launched(launcher: str, *arguments: object, ok: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *LAUNCHERS[launcher], "-m", "trainers", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode == 0) is ok, done.stderr
    return done


@pytest.mark.exhaustive
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_launched_command_says_all_once(
    launcher: str, text_file: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    arguments = ["mirror", "--text", text_file, "--encoder", tiny_bert, "--max-tokens", 24, "--out", out]
    done = launched(launcher, *arguments, "--batch-size", 8)
    assert done.stdout.count("encoder of 16 dimensions after 6 steps") == 1
    assert {path.name for path in out.iterdir()} >= {"modules.json", "recipe.json", "log.jsonl", "README.md"}
    assert "FutureWarning" not in done.stderr, "of other packages, which a user cannot mend"


@pytest.mark.exhaustive
def test_a_launched_command_that_fails_says_so_once(small: list[str]) -> None:
    done = launched("torchrun", "mirror", *small, "--batch-size", 7, ok=False)
    assert done.stderr.count("error: --batch-size 7 of 48 rows cannot be divided among 2 processes") == 1


@pytest.mark.exhaustive
def test_two_processes_train_the_seeds_together(small: list[str]) -> None:
    done = launched("torchrun", "mirror", *small, "--seeds", 2)
    assert [Path(line.partition(":")[0]).name for line in done.stdout.splitlines()] == ["seed-1", "seed-2"]


def test_batch_is_as_large_as_rows_and_processes_allow_or_refused() -> None:
    assert [divided_batch(*case) for case in ((64, 100, 2), (64, 50, 4), (64, 50, 1))] == [64, 48, 50]
    for size, rows in ((6, 100), (2, 100), (8, 3)):
        said = f"--batch-size {size} of {rows} rows cannot be divided among 4 processes: take a multiple of 4"
        with pytest.raises(InputError, match=said):
            divided_batch(size, rows, 4)
